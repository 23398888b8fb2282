"""Reviewed and executed plans, by digest."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from canton.domain.errors import UnknownPlan
from canton.store.database import insert_new, now
from canton.store.listing import Slice, Visible, Window, fetch, visible_to
from canton.store.schema import plan

SORTS = {"created_at": plan.c.created_at}


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
class Facts:
    """What lists show of a plan and go by."""

    kind: str
    tenant: str | None
    summary: str


_LISTED = sa.select(
    plan.c.digest, plan.c.kind, plan.c.tenant, plan.c.summary, nodes_in(plan.c.body).label("nodes"), plan.c.created_at
)


def put(connection: Connection, digest: str, body: str, facts: Facts) -> None:
    """Keep a plan; the same digest is the same plan, so a second time changes nothing."""
    insert_new(connection, plan, [{"digest": digest, "body": body, **asdict(facts)}], created_at=now())


def find(connection: Connection, digest: str) -> str:
    body = connection.execute(sa.select(plan.c.body).where(plan.c.digest == digest)).scalar_one_or_none()
    if body is None:
        raise unknown(digest)
    return str(body)


def page(connection: Connection, visible: Visible, wanted: dict[str, str | None], window: Window) -> Slice:
    exact = (plan.c[name] == value for name, value in wanted.items() if value is not None)
    # What an earlier version kept has no facts beside its body; nobody can list what it is about.
    query = _LISTED.where(visible_to(visible, plan.c.tenant), plan.c.kind.is_not(None), *exact)
    return fetch(connection, query, window, SORTS, plan.c.digest)


def show(connection: Connection, digest: str, visible: Visible) -> RowMapping:
    """The plan with its body."""
    query = _LISTED.add_columns(plan.c.body).where(plan.c.digest == digest, visible_to(visible, plan.c.tenant))
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise unknown(digest)
    return row


def unknown(digest: str) -> UnknownPlan:
    return UnknownPlan(f"there is no plan {digest}; make a dry run and use the digest that it prints", digest=digest)
