"""Reviewed and executed plans, by digest."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from canton.domain.errors import UnknownPlan
from canton.store.database import SECOND, insert_new, now
from canton.store.listing import ListPage, Visible, Window, fetch, visible_to
from canton.store.schema import operation, plan

SORTS = {"created_at": plan.c.created_at}
# A plan without an operation comes from a dry run: it is carried out on the same day, or made again.
UNUSED_FOR = 24 * 3600 * SECOND
MOST_UNUSED = 100
_UNUSED = ~sa.exists().where(operation.c.plan == plan.c.digest)


class nodes_in(FunctionElement[str]):  # noqa: N801  # reads as the SQL function it is
    """The nodes of a plan's body, as JSON. A body may have megabytes of steps, so the database takes them out of it."""

    type = sa.Text()
    inherit_cache = True


@compiles(nodes_in, "postgresql")
def _nodes_on_postgresql(element: nodes_in, compiler: SQLCompiler, **options: object) -> str:
    return f"(({compiler.process(element.clauses, **options)})::json ->> 'nodes')"


@compiles(nodes_in, "sqlite")
def _nodes_on_sqlite(element: nodes_in, compiler: SQLCompiler, **options: object) -> str:
    return f"json_extract({compiler.process(element.clauses, **options)}, '$.nodes')"


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """The columns of a plan for lists and filters."""

    kind: str
    tenant: str | None
    summary: str


_LISTED = sa.select(
    plan.c.digest, plan.c.kind, plan.c.tenant, plan.c.summary, nodes_in(plan.c.body).label("nodes"), plan.c.created_at
)


def put(connection: Connection, digest: str, body: str, facts: PlanFacts) -> None:
    """Store a plan; an equal digest is the same plan, which is stored once."""
    row = {"digest": digest, "body": body, **asdict(facts)}
    if not insert_new(connection, plan, [row], created_at=now()) and not _hold(connection, digest):
        # It existed, unused, and was deleted at this moment.
        insert_new(connection, plan, [row], created_at=now())


def _hold(connection: Connection, digest: str) -> bool:
    """Whether the plan exists; it is then not deleted before this transaction ends."""
    query = sa.select(plan.c.digest).where(plan.c.digest == digest).with_for_update(read=True, key_share=True)
    return connection.execute(query).one_or_none() is not None


def forget_excess(connection: Connection, kind: str, tenant: str | None) -> None:
    """Delete the oldest unused plans of a kind and tenant (None: the provider) beyond ``MOST_UNUSED``.

    Per kind, because otherwise a tenant's dry runs would delete the provider's plans for its nodes.
    """
    own = sa.and_(plan.c.kind == kind, plan.c.tenant.is_(None) if tenant is None else plan.c.tenant == tenant)
    newest_first = (plan.c.created_at.desc(), plan.c.digest)
    excess = (
        sa.select(plan.c.digest).where(own, _UNUSED).order_by(*newest_first).limit(10 * MOST_UNUSED).offset(MOST_UNUSED)
    )
    _forget(connection, list(connection.execute(excess).scalars()))


def forget_old(connection: Connection) -> None:
    """Delete plans that were not used within ``UNUSED_FOR``."""
    old = sa.select(plan.c.digest).where(plan.c.created_at < now() - UNUSED_FOR, _UNUSED).limit(10 * MOST_UNUSED)
    _forget(connection, list(connection.execute(old).scalars()))


def _forget(connection: Connection, digests: list[str]) -> None:
    """Lock the plans, then delete those that are still unused: an operation may use one at the same moment."""
    query = sa.select(plan.c.digest).where(plan.c.digest.in_(digests)).with_for_update(skip_locked=True)
    locked = list(connection.execute(query).scalars()) if digests else []
    if locked:
        connection.execute(sa.delete(plan).where(plan.c.digest.in_(locked), _UNUSED))


def find(connection: Connection, digest: str) -> str:
    body = connection.execute(sa.select(plan.c.body).where(plan.c.digest == digest)).scalar_one_or_none()
    if body is None:
        raise unknown(digest)
    return str(body)


@dataclass(frozen=True, slots=True)
class PlanVisibility:
    """The plans that a caller may see."""

    visible: Visible
    providers: frozenset[str]
    """Kinds that only the provider orders: a tenant sees such a plan only once it is carried out."""

    def condition(self) -> sa.ColumnElement[bool]:
        own = visible_to(self.visible, plan.c.tenant)
        if self.visible is None:
            return own
        return sa.and_(own, sa.or_(plan.c.kind.not_in(sorted(self.providers)), ~_UNUSED))


def page(connection: Connection, visibility: PlanVisibility, values: dict[str, str | None], window: Window) -> ListPage:
    exact = (plan.c[name] == value for name, value in values.items() if value is not None)
    # Plans of an earlier version have no kind column and are not listed.
    query = _LISTED.where(visibility.condition(), plan.c.kind.is_not(None), *exact)
    return fetch(connection, query, window, SORTS, plan.c.digest)


def show(connection: Connection, digest: str, visibility: PlanVisibility) -> RowMapping:
    """The plan with its body."""
    query = _LISTED.add_columns(plan.c.body).where(plan.c.digest == digest, visibility.condition())
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise unknown(digest)
    return row


def unknown(digest: str) -> UnknownPlan:
    return UnknownPlan(f"there is no plan {digest}; make a dry run and use the digest that it prints", digest=digest)
