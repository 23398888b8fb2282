"""Approvals: changes that wait for a second person; list, show, approve, refuse.

They are recorded in the audit, but not sent as events: a reader of a tenant's events may lack the permission to see
its approvals.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.caller import Caller, CallerDep
from canton.api.auth.delegation import require_own
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import NAME_PATTERN, Body, Instant, Items, answers
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.responses import Answer, json_response
from canton.domain.errors import Forbidden
from canton.domain.json_types import Json
from canton.domain.tenant import TenantState
from canton.domain.timestamps import to_text
from canton.operations.engine.completion import Attribution
from canton.policy.bindings import Kind, Principal
from canton.policy.decide import Question, Rights, holds_until
from canton.policy.permissions import PROVIDERS
from canton.store.access import approvals, tenants
from canton.store.access.approvals import ApprovalState

router = APIRouter(tags=["approvals"])
State = Literal["pending", "approved", "refused", "used", "expired"]
ApprovalId = Annotated[
    str, Path(pattern=r"^ap_[0-9a-f]{28}$", description="The approval.", examples=["ap_019a8a4f3c21d0c4f1a2b3c4d5e6"])
]
_PLAIN = (
    "id",
    "permission",
    "tenant",
    "method",
    "path",
    "body",
    "requested_by",
    "requested_identity",
    "reason",
    "state",
)


class Approval(Body):
    """A change that waits for a second person to approve or refuse it, or did."""

    id: str
    permission: str
    tenant: str | None
    method: str
    path: str
    body: Annotated[Any, Field(description="The body of the request, as it was sent.")]
    requested_by: str
    requested_identity: Annotated[str | None, Field(description="The issuer's lasting identifier of that person.")]
    reason: str
    state: State
    decided_by: str | None
    decided_reason: str | None
    created_at: Instant
    expires_at: Instant


def render(row: RowMapping) -> dict[str, Json]:
    plain = {name: row[name] for name in (*_PLAIN, "decided_by", "decided_reason")}
    return {**plain, "created_at": to_text(row["created_at"]), "expires_at": to_text(row["expires_at"])}


@router.get("/approvals", responses=answers(Items[Approval]))
def list_approvals(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(approvals.SORTS), tuple(Approval.model_fields))],
    state: State | None = None,
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
) -> Response:
    """The approvals that the caller may see, always including its own requests."""
    approval_filter = approvals.ApprovalFilter(
        caller.visible("approval.read"), PROVIDERS, caller.principal.identity, state, tenant
    )
    with caller.database.read() as connection:
        list_page = approvals.page(connection, approval_filter, page.window)
    return page.answer(list_page, render)


@router.get("/approvals/{approval_id}", responses=answers(Approval))
def show_approval(caller: CallerDep, approval_id: ApprovalId) -> Response:
    """One approval."""
    with caller.database.read() as connection:
        row = approvals.find(connection, approval_id)
    if row["requested_identity"] != caller.principal.identity:
        caller.require_visible("approval.read", _reader_tenant(row), approvals.unknown(approval_id))
    answer = json_response(render(row))
    caller.charge(size=len(answer.body))
    return answer


DECIDING = "approval.decide"
Deciding = Annotated[Change, change(DECIDING)]


@router.post("/approvals/{approval_id}/approve", responses=answers(Approval, change=True))
def approve(approval_id: ApprovalId, change: Deciding) -> Response:
    """Approve another person's change, for one use. Only a person who may make the change, and did not request it."""
    return _settle(approval_id, ApprovalState.APPROVED, change)


@router.post("/approvals/{approval_id}/refuse", responses=answers(Approval, change=True))
def refuse(approval_id: ApprovalId, change: Deciding) -> Response:
    """Refuse another person's change; under the same conditions as to approve it."""
    return _settle(approval_id, ApprovalState.REFUSED, change)


def _settle(approval_id: str, state: ApprovalState, change: Change) -> Response:
    def apply(connection: Connection, attribution: Attribution) -> ChangeResult:
        waiting = approvals.find(connection, approval_id)
        _require_second_person(connection, change.caller, waiting)
        until = _valid_until(change.caller, waiting)
        verdict = approvals.Verdict(
            state, attribution.actor, change.caller.principal.identity, attribution.reason, until
        )
        row, changed = approvals.settle(connection, approval_id, verdict)
        details = {"decided": state, "asked_for": row["permission"], "requested_by": row["requested_by"]}
        return ChangeResult(Answer(render(row), changed=changed), f"approval:{approval_id}", details=details)

    return change.carry_out(_target(change.caller, approval_id), apply)


def _target(caller: Caller, approval_id: str) -> ChangeTarget:
    with caller.database.read() as connection:
        row = approvals.look(connection, approval_id)
    if row is None:
        return ChangeTarget(None, approvals.unknown(approval_id), "approval.read")
    own = row["requested_identity"] == caller.principal.identity
    return ChangeTarget(_reader_tenant(row), None if own else approvals.unknown(approval_id), "approval.read")


def _reader_tenant(row: RowMapping) -> str | None:
    """The tenant that may read it; None for a change that only the provider decides on."""
    return None if row["permission"] in PROVIDERS else row["tenant"]


def _valid_until(caller: Caller, row: RowMapping) -> int:
    """An approval is valid only as long as its approver holds both permissions: for the change, and to decide."""
    needed = (row["permission"], DECIDING)
    return min(holds_until(caller.principal, permission, row["tenant"], caller.now) for permission in needed)


def _require_granted_rights(who: Principal, row: RowMapping) -> None:
    """Raise Forbidden if the change gives rights that the approver does not hold."""
    gives = row["gives"]
    if gives is not None:
        rights = Rights(frozenset(gives["permissions"]), gives["tenant"], gives["until"])
        require_own(who, row["permission"], rights)


def _require_second_person(connection: Connection, caller: Caller, row: RowMapping) -> None:
    who = caller.principal
    details = {"permission": row["permission"], "tenant": row["tenant"]}
    # Also by name: some issuers accept a username in any case, so that alice and Alice are one person.
    if who.identity == row["requested_identity"] or who.id.casefold() == row["requested_by"].casefold():
        message = f"{who.id} asked for this change and cannot decide on it; another person has to"
        raise Forbidden(message, rule="two-persons", **details)
    if who.kind is not Kind.PERSON:
        raise Forbidden(f"{who.id} is a {who.kind}, and only a person can decide", rule="two-persons", **details)
    suspended = row["tenant"] is not None and tenants.state(connection, row["tenant"]) == TenantState.SUSPENDED
    decision = caller.decide(Question(row["permission"], row["tenant"], suspended))
    if not decision.allowed:
        message = f"only a person who may make the change can decide on it, and {decision.reason}"
        raise Forbidden(message, rule=decision.rule, **details)
    _require_granted_rights(who, row)
