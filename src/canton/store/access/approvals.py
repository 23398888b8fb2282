"""Changes that wait for a second person: requested by one, approved or refused by another, used once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.engine import Connection, RowMapping

from canton.domain.errors import ApprovalNotUsable, Conflict, UnknownApproval, WrongState
from canton.domain.json_types import Json
from canton.store import identifiers
from canton.store.database import SECOND, now
from canton.store.listing import ListPage, Visible, Window, fetch, visible_to
from canton.store.schema import approval


class ApprovalState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REFUSED = "refused"
    USED = "used"
    EXPIRED = "expired"


# The most of one person. A request can have a megabyte, and one person can send many.
MOST_PENDING = 50
# How long an approval that expired unused can still be read. Each may hold a request of a megabyte.
EXPIRED_FOR = 3600 * SECOND
_LIVE = (ApprovalState.PENDING, ApprovalState.APPROVED)
# An approval past its end is expired, without a write.
STATE = sa.case(
    (sa.and_(approval.c.state.in_(_LIVE), approval.c.expires_at <= now()), ApprovalState.EXPIRED.value),
    else_=approval.c.state,
)
_APPROVAL = sa.select(*(column for column in approval.c if column is not approval.c.state), STATE.label("state"))
SORTS = {"id": approval.c.id, "created_at": approval.c.created_at}


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """The change that needs approval.

    ``request`` is the digest of permission, method, path, body, reason, and objects of the change. ``gives`` are the
    rights that the change gives to others, if any.
    """

    permission: str
    tenant: str | None
    method: str
    path: str
    body: Json
    request: str
    reason: str
    gives: Json = None


def unknown(approval_id: str) -> UnknownApproval:
    return UnknownApproval(
        f"there is no approval {approval_id} that you may see; list those with: canton approval list",
        approval=approval_id,
    )


def ask(connection: Connection, by: str, identity: str, request: ApprovalRequest, seconds: float) -> str:
    """The id of the approval; the same request again gets the same id while that is pending or approved."""
    same = sa.and_(approval.c.requested_identity == identity, approval.c.request == request.request, STATE.in_(_LIVE))
    waiting = connection.scalar(sa.select(approval.c.id).where(same))
    if waiting is not None:
        return str(waiting)
    _require_room(connection, by, identity)
    values = {name: getattr(request, name) for name in ApprovalRequest.__slots__}
    values |= {"id": identifiers.fresh("ap"), "requested_by": by, "requested_identity": identity}
    values |= {"state": ApprovalState.PENDING}
    until = now() + int(seconds * SECOND)
    connection.execute(sa.insert(approval).values(values | {"created_at": now(), "expires_at": until}))
    return str(values["id"])


def _require_room(connection: Connection, by: str, identity: str) -> None:
    pending = sa.and_(approval.c.requested_identity == identity, STATE.in_([ApprovalState.PENDING]))
    count = connection.scalar(sa.select(sa.func.count()).where(pending)) or 0
    if count >= MOST_PENDING:
        raise Conflict(
            f"{count} changes of {by} wait for a second person, and at most {MOST_PENDING} can; ask a second person to "
            "approve or refuse some, or wait until they expire; see: canton approval list --state pending",
            pending=count,
            limit=MOST_PENDING,
        )


def forget_expired(connection: Connection) -> int:
    """Delete approvals that expired unused some time ago; returns how many."""
    old = sa.and_(approval.c.state.in_(_LIVE), approval.c.expires_at < now() - EXPIRED_FOR)
    return connection.execute(sa.delete(approval).where(old)).rowcount


@dataclass(frozen=True, slots=True)
class ApprovalFilter:
    """The approvals of a list. Callers always see their own requests."""

    visible: Visible
    providers: frozenset[str]
    """Permissions that only the provider holds: a tenant does not see approvals for them."""
    own: str
    """The identity of the caller."""
    state: str | None = None
    tenant: str | None = None


def page(connection: Connection, approval_filter: ApprovalFilter, window: Window) -> ListPage:
    visible_rows = visible_to(approval_filter.visible, approval.c.tenant)
    if approval_filter.visible is not None:
        visible_rows = sa.and_(visible_rows, approval.c.permission.not_in(sorted(approval_filter.providers)))
    query = _APPROVAL.where(sa.or_(visible_rows, approval.c.requested_identity == approval_filter.own))
    if approval_filter.state is not None:
        query = query.where(STATE.in_([approval_filter.state]))
    if approval_filter.tenant is not None:
        query = query.where(approval.c.tenant == approval_filter.tenant)
    return fetch(connection, query, window, SORTS, approval.c.id)


def look(connection: Connection, approval_id: str, *, lock: bool = False) -> RowMapping | None:
    query = _APPROVAL.where(approval.c.id == approval_id)
    return connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()


def find(connection: Connection, approval_id: str, *, lock: bool = False) -> RowMapping:
    row = look(connection, approval_id, lock=lock)
    if row is None:
        raise unknown(approval_id)
    return row


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision of the second person."""

    state: ApprovalState
    by: str
    identity: str
    reason: str
    until: int
    """When the roles end that allow that person to decide."""


def settle(connection: Connection, approval_id: str, verdict: Verdict) -> tuple[RowMapping, bool]:
    """Approve or refuse a pending approval; returns the row, and whether it changed."""
    row = find(connection, approval_id, lock=True)
    state, by = verdict.state, verdict.by
    if (row["state"], row["decided_by"]) == (state, by):
        return row, False
    if row["state"] != ApprovalState.PENDING:
        raise WrongState(f"approval {approval_id} is {row['state']}; only one that is pending can be {state}")
    values = {"state": state, "decided_by": by, "decided_identity": verdict.identity, "decided_reason": verdict.reason}
    if state is ApprovalState.APPROVED:
        values["expires_at"] = min(row["expires_at"], verdict.until)
    connection.execute(sa.update(approval).where(approval.c.id == approval_id).values(values))
    return find(connection, approval_id), True


def withdraw_of_approver(connection: Connection, subject: str, identity: str | None, tenant: str | None) -> int:
    """Make the unused approvals of a person pending again, after their role was revoked; returns how many.

    ``subject`` and ``identity`` are those of the binding; a person who was renamed approved under another name. The
    members of a group are not known here, so the approvals of every person of its issuer become pending. Without a
    tenant the role was at the provider, and valid in every tenant.
    """
    issuer, _, name = subject.partition(":")
    decided_by_subject = approval.c.decided_by == subject
    if identity is not None:
        decided_by_subject = sa.or_(decided_by_subject, approval.c.decided_identity == identity)
    if name.startswith("group/"):
        decided_by_subject = approval.c.decided_by.startswith(f"{issuer}:", autoescape=True)
    return _withdraw(connection, decided_by_subject, sa.true() if tenant is None else approval.c.tenant == tenant)


def withdraw_of_tenant(connection: Connection, tenant: str, providers: frozenset[str]) -> int:
    """Make unused approvals by members of a suspended tenant pending again, except those that the provider decides."""
    return _withdraw(connection, approval.c.tenant == tenant, approval.c.permission.not_in(sorted(providers)))


def _withdraw(connection: Connection, *which: sa.ColumnElement[bool]) -> int:
    pending = {"state": ApprovalState.PENDING, "decided_by": None, "decided_identity": None, "decided_reason": None}
    approved = approval.c.state == ApprovalState.APPROVED
    return connection.execute(sa.update(approval).where(approved, *which).values(pending)).rowcount


def use(connection: Connection, approval_id: str, identity: str, request: str) -> None:
    """Mark the approval as used, in the transaction of the change: if that fails, the approval stays valid."""
    row = look(connection, approval_id, lock=True)
    if row is None or row["requested_identity"] != identity or row["request"] != request:
        raise ApprovalNotUsable(
            f"approval {approval_id} is not for this request by you: the same person repeats the same request with the "
            "same reason, to the letter, and what it names must still be what it was, nodes and tenant included; else "
            "ask for an approval anew, without --approval",
            approval=approval_id,
        )
    if row["state"] != ApprovalState.APPROVED:
        raise ApprovalNotUsable(
            f"approval {approval_id} is {row['state']}, not approved; see: canton approval show {approval_id}",
            approval=approval_id,
            state=row["state"],
        )
    connection.execute(sa.update(approval).where(approval.c.id == approval_id).values(state=ApprovalState.USED))
