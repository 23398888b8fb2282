"""Who is asking, and what they may do."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from canton import __version__
from canton.api.auth.caller import Caller, CallerDep
from canton.api.auth.delegation import EXCEEDS_OWN, describe_beyond
from canton.api.rendering.documents import NAME_PATTERN, Body, Instant, answers
from canton.api.rendering.patterns import MOMENT
from canton.api.rendering.responses import json_response
from canton.domain.errors import InvalidRequest
from canton.domain.json_types import Json
from canton.domain.tenant import TenantState
from canton.domain.timestamps import from_text, to_text
from canton.policy.bindings import Binding
from canton.policy.decide import Decision, Question, Rights
from canton.policy.permissions import PERMISSIONS, find
from canton.store.access import tenants

router = APIRouter(tags=["whoami"])
GRANT = "member.grant"


class HeldRole(Body):
    """A role that the caller has now."""

    role: str
    tenant: Annotated[str | None, Field(description="Null for the provider.")]
    source: Annotated[
        Literal["claim", "grant", "account"],
        Field(description="claim: from the token; grant: a binding in Canton; account: of the service account itself."),
    ]
    until: Instant | None


class Server(Body):
    version: str
    issuers: Annotated[
        list[str],
        Field(
            description="The names of the trusted issuers: the part of a subject before the colon.", examples=[["cscs"]]
        ),
    ]


class Whoami(Body):
    id: Annotated[str, Field(examples=["cscs:alice", "service:psi/ci"])]
    identity: Annotated[
        str,
        Field(
            description="The lasting identifier of the caller: the issuer and its `sub`. The name may change.",
            examples=["cscs:f7f5a7c0-9d0e-4c53-8a55-0c7f4e2f1b11"],
        ),
    ]
    name: str
    kind: Annotated[
        Literal["person", "machine", "service-account"],
        Field(
            description="machine: a client of an issuer that acts for itself. Only persons ask for and give approvals."
        ),
    ]
    issuer: str
    bindings: list[HeldRole]
    expires_at: Annotated[Instant | None, Field(description="When the token expires.")]
    server: Server


class CanI(Body):
    """Whether the caller may do it, and the rule that decided."""

    allowed: bool
    permission: str
    tenant: str | None
    rule: str
    reason: str
    needs_reason: Annotated[bool, Field(description="Whether the change is refused without a reason (Canton-Reason).")]
    two_persons: Annotated[bool, Field(description="Whether a second person has to approve the change.")]


@router.get("/whoami", responses=answers(Whoami))
def whoami(caller: CallerDep) -> Response:
    """The caller, and the roles that it has now."""
    who = caller.principal
    body: dict[str, Json] = {
        "id": who.id,
        "identity": who.identity,
        "name": who.name,
        "kind": who.kind,
        "issuer": who.issuer,
        "bindings": [_held(binding) for binding in who.bindings if binding.holds(caller.now)],
        "expires_at": None if who.expires_at is None else to_text(who.expires_at),
        "server": {"version": __version__, "issuers": caller.services.settings.issuer_names},
    }
    return json_response(body)


def _held(binding: Binding) -> dict[str, Json]:
    until = None if binding.until is None else to_text(binding.until)
    return {"role": binding.role, "tenant": binding.tenant, "source": binding.source, "until": until}


@router.get("/can-i", responses=answers(CanI))
def can_i(
    caller: CallerDep,
    permission: Annotated[
        str,
        Query(max_length=64, description="The permission to ask about.", json_schema_extra={"enum": list(PERMISSIONS)}),
    ],
    tenant: Annotated[
        str | None,
        Query(pattern=NAME_PATTERN, description="The tenant of the object; leave it out for objects of the provider."),
    ] = None,
    role: Annotated[
        str | None,
        Query(max_length=64, description="With member.grant: ask whether the caller may give this role."),
    ] = None,
    until: Annotated[
        str | None, Query(pattern=MOMENT, description="With a role: when the binding would end; default: no end.")
    ] = None,
) -> Response:
    """Whether the caller may do something, and the rule that decides.

    A tenant that does not exist gets the same answer as one that the caller may not see.
    """
    permission_info = find(permission)
    rights = _rights(caller, permission_info.name, tenant, role, until)
    decision = _decide(caller, permission_info.name, tenant)
    if decision.allowed and rights is not None:
        beyond = describe_beyond(caller.principal, rights)
        decision = decision if beyond is None else Decision(False, EXCEEDS_OWN, beyond)
    return json_response(
        {
            "allowed": decision.allowed,
            "permission": permission_info.name,
            "tenant": tenant,
            "rule": decision.rule,
            "reason": decision.reason,
            "needs_reason": permission_info.needs_reason,
            "two_persons": permission_info.name in caller.services.settings.policy.two_person,
        }
    )


def _rights(caller: Caller, permission: str, tenant: str | None, role: str | None, until: str | None) -> Rights | None:
    """The rights that the caller would give; None for a question without a role."""
    if role is None and until is None:
        return None
    if role is None or permission != GRANT:
        raise InvalidRequest(f"role and until are about {GRANT}; ask about {GRANT} with a role, or leave them out")
    role_permissions = caller.services.roles.get(role)
    if role_permissions is None:
        raise InvalidRequest(f'there is no role "{role}"; GET /v1/roles lists them all', role=role)
    return Rights(role_permissions.permissions, tenant, None if until is None else from_text(until))


def _decide(caller: Caller, permission: str, tenant: str | None) -> Decision:
    decision = caller.decide(Question(permission, tenant))
    if not decision.allowed or tenant is None:
        return decision
    # As for a change: only a caller who is allowed learns the tenant's state, also from the time of the answer.
    with caller.database.read() as connection:
        suspended = tenants.state(connection, tenant) == TenantState.SUSPENDED
    return caller.decide(Question(permission, tenant, suspended))
