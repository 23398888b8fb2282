"""Bindings stored in Canton: which subject has which role, in which tenant or at the provider, until when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import Conflict, UnknownBinding
from canton.domain.json_types import storable
from canton.domain.tenant import TenantState
from canton.store import identifiers
from canton.store.access import tenants
from canton.store.database import insert_new, now
from canton.store.listing import ListPage, Visible, Window, fetch, visible_to
from canton.store.schema import binding, tenant

SORTS = {"id": binding.c.id, "subject": binding.c.subject, "created_at": binding.c.created_at}
_SUBJECT_COLUMNS = ("id", "subject", "role", "tenant", "until", "identity", "other_identity")


@dataclass(frozen=True, slots=True)
class Grant:
    subject: str
    role: str
    tenant: str | None
    until: int | None


class GrantResult(NamedTuple):
    row: RowMapping
    created: bool
    changed: bool
    """Whether the binding or its end is new."""


@dataclass(frozen=True, slots=True)
class BindingFilter:
    """The bindings of a list; None matches any."""

    tenant: str | None = None
    role: str | None = None
    subject: str | None = None
    provider: bool = False
    """Only those at the provider."""

    def conditions(self) -> Iterator[sa.ColumnElement[bool]]:
        for name in ("tenant", "role", "subject"):
            value = getattr(self, name)
            if value is not None:
                yield binding.c[name] == value
        if self.provider:
            yield binding.c.tenant.is_(None)


def unknown(binding_id: str) -> UnknownBinding:
    return UnknownBinding(
        f"there is no binding {binding_id} that you may see; list those with: canton member list", binding=binding_id
    )


def of_subjects(
    connection: Connection, subjects: Sequence[str], identity: str | None = None, *, lock: bool = False
) -> list[RowMapping]:
    """The bindings of these subjects or pinned to this identity, also expired ones, but not in deleted tenants.

    With ``lock``, none of them can be revoked before the transaction ends.
    """
    query = (
        sa.select(*(binding.c[name] for name in _SUBJECT_COLUMNS))
        .outerjoin(tenant, binding.c.tenant == tenant.c.name)
        .where(
            # An issuer chooses the names of groups; one that the database cannot store has no binding.
            sa.or_(
                binding.c.subject.in_([subject for subject in subjects if storable(subject) == subject]),
                binding.c.identity == identity if identity is not None else sa.false(),
            ),
            sa.or_(binding.c.tenant.is_(None), tenant.c.state != TenantState.DELETED),
        )
        .order_by(binding.c.id)
    )
    locked = query.with_for_update(read=True, of=binding) if lock else query
    return list(connection.execute(locked).mappings())


def pin(connection: Connection, subject: str, identity: str) -> list[RowMapping]:
    """Pin the unpinned bindings of the name to this identity; returns them. Of two concurrent calls the first pins."""
    unpinned = sa.and_(binding.c.subject == subject, binding.c.identity.is_(None))
    return _updated(connection, unpinned, identity=identity)


def note_other(connection: Connection, subject: str, identity: str) -> list[RowMapping]:
    """Record another identity with the name of pinned bindings; only the first other one is recorded."""
    same_name = sa.and_(
        binding.c.subject == subject, binding.c.identity != identity, binding.c.other_identity.is_(None)
    )
    return _updated(connection, same_name, other_identity=identity)


def _updated(connection: Connection, which: sa.ColumnElement[bool], **values: str) -> list[RowMapping]:
    query = sa.update(binding).where(which).values(values).returning(*(binding.c[name] for name in _SUBJECT_COLUMNS))
    return list(connection.execute(query).mappings())


def page(connection: Connection, visible: Visible, binding_filter: BindingFilter, window: Window) -> ListPage:
    query = sa.select(binding).where(visible_to(visible, binding.c.tenant), *binding_filter.conditions())
    return fetch(connection, query, window, SORTS, binding.c.id)


def members(connection: Connection, of: str, window: Window) -> tuple[ListPage, Mapping[str, Sequence[RowMapping]]]:
    """One page of the subjects bound in a tenant, and the bindings of each."""
    query = sa.select(binding.c.subject).where(binding.c.tenant == of).distinct()
    list_page = fetch(connection, query, window, {"subject": binding.c.subject}, binding.c.subject)
    by_subject: dict[str, list[RowMapping]] = {row["subject"]: [] for row in list_page.rows}
    query_bindings = sa.select(binding).where(binding.c.tenant == of, binding.c.subject.in_(list(by_subject)))
    for row in connection.execute(query_bindings.order_by(binding.c.role)).mappings():
        by_subject[row["subject"]].append(row)
    return list_page, by_subject


def place(connection: Connection, binding_id: str) -> str | None:
    """The tenant of a binding; None if it is at the provider or does not exist."""
    return connection.scalar(sa.select(binding.c.tenant).where(binding.c.id == binding_id))


def find(connection: Connection, binding_id: str) -> RowMapping:
    row = connection.execute(sa.select(binding).where(binding.c.id == binding_id)).mappings().one_or_none()
    if row is None:
        raise unknown(binding_id)
    return row


def is_shortened_by(connection: Connection, new_grant: Grant) -> bool:
    """Whether the binding exists and would end sooner than it does."""
    ends = connection.execute(sa.select(binding.c.until).where(_same_binding(new_grant))).one_or_none()
    return ends is not None and _is_sooner(new_grant.until, ends.until)


def _is_sooner(until: int | None, than: int | None) -> bool:
    return until is not None and (than is None or until < than)


def grant(connection: Connection, new_grant: Grant, by: str, reason: str) -> GrantResult:
    """Create a binding, or set a later end of an existing one.

    An expired one is unpinned, because the name may now be another person's.
    """
    if new_grant.tenant is not None:
        tenants.lock(connection, new_grant.tenant)
    values = {"id": identifiers.fresh("bd"), "granted_by": by, "reason": reason}
    values |= {name: getattr(new_grant, name) for name in Grant.__slots__}
    if insert_new(connection, binding, [values], created_at=now()):
        return GrantResult(find(connection, values["id"]), created=True, changed=True)
    existing = _lock_existing(connection, new_grant)
    if existing["other_identity"] is not None:
        raise _bound_to_another(existing)
    if existing["until"] == new_grant.until:
        return GrantResult(existing, created=False, changed=False)
    if _is_sooner(new_grant.until, existing["until"]):
        raise _changed_concurrently(new_grant)
    renewed = {"until": new_grant.until, "granted_by": by, "reason": reason}
    if existing["is_over"]:
        renewed["identity"] = None
    connection.execute(sa.update(binding).where(binding.c.id == existing["id"]).values(renewed))
    return GrantResult(find(connection, existing["id"]), created=False, changed=True)


def shorten(connection: Connection, new_grant: Grant) -> tuple[RowMapping, int | None]:
    """Set an earlier end; returns the binding and its former end."""
    if new_grant.tenant is not None:
        tenants.lock(connection, new_grant.tenant)
    existing = _lock_existing(connection, new_grant)
    if not _is_sooner(new_grant.until, existing["until"]):
        raise _changed_concurrently(new_grant)
    connection.execute(sa.update(binding).where(binding.c.id == existing["id"]).values(until=new_grant.until))
    return find(connection, existing["id"]), existing["until"]


def _lock_existing(connection: Connection, new_grant: Grant) -> RowMapping:
    query = (
        sa.select(binding, (binding.c.until <= now()).label("is_over"))
        .where(_same_binding(new_grant))
        .with_for_update()
    )
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise _changed_concurrently(new_grant)
    return row


def _same_binding(new_grant: Grant) -> sa.ColumnElement[bool]:
    place = binding.c.tenant.is_(None) if new_grant.tenant is None else binding.c.tenant == new_grant.tenant
    return sa.and_(binding.c.subject == new_grant.subject, binding.c.role == new_grant.role, place)


def _changed_concurrently(new_grant: Grant) -> Conflict:
    return Conflict(f"the binding of {new_grant.subject} to {new_grant.role} was changed at the same moment; try again")


def _bound_to_another(row: RowMapping) -> Conflict:
    return Conflict(
        f"the role {row['role']} of {row['subject']} is bound to another identity, {row['identity']}, and not to "
        f"{row['other_identity']}, who has the name now; revoke it first: canton member remove {row['id']}",
        binding=row["id"],
    )


def revoke(connection: Connection, binding_id: str) -> None:
    if not connection.execute(sa.delete(binding).where(binding.c.id == binding_id)).rowcount:
        raise unknown(binding_id)
