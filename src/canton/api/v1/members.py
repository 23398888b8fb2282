"""Bindings: who has which role, where, and until when; and a tenant's members, which are its bindings by subject."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.attribution import AttributedText, AttributionFilter
from canton.api.auth.caller import Caller, CallerDep
from canton.api.auth.delegation import require_own
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import NAME_PATTERN, Body, Instant, Items, Name, TenantName, answers
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.patterns import MOMENT, SUBJECT
from canton.api.rendering.responses import Answer, json_response
from canton.domain.errors import InvalidRequest
from canton.domain.json_types import Json
from canton.domain.terminal_text import is_harmless
from canton.domain.timestamps import from_text, to_text
from canton.operations.engine.completion import Attribution
from canton.policy.bindings import fits
from canton.policy.decide import Question, Rights
from canton.policy.roles import Role, Roles
from canton.settings.model import Settings
from canton.store.access import approvals, bindings, tenants

router = APIRouter(tags=["members"], route_class=Route)
ROLE = r"^[a-z][a-z0-9-]{0,62}$"
# The text format of instants has no later year.
LATEST = from_text("9999-12-31T23:59:59Z")
# The permission to set an earlier end of a binding.
SHORTENING = "member.revoke"
# Principals of this "issuer" are service accounts, whose permissions are set at their creation: they cannot be bound.
ACCOUNTS = "service"

BindingId = Annotated[
    str, Path(pattern=r"^bd_[0-9a-f]{28}$", description="The binding.", examples=["bd_019a8a4f3c21d0c4f1a2b3c4d5e6"])
]
Subject = Annotated[str, Field(pattern=SUBJECT, examples=["cscs:alice", "cscs:group/psi-ops"])]
Until = Annotated[
    str,
    Field(
        pattern=MOMENT,
        description="When the binding ends; in the future.",
        examples=["2027-01-31T18:00:00Z"],
    ),
]


class Binding(Body):
    """A role that a person or a group has, in a tenant or at the provider."""

    id: str
    subject: str
    identity: Annotated[
        str | None,
        Field(
            description="The person of the binding: issuer and `sub`; null for a group, or until their first request."
        ),
    ]
    other_identity: Annotated[
        str | None, Field(description="Another person with the same name, who does not get the role.")
    ]
    role: str
    tenant: Annotated[str | None, Field(description="Null for the provider.")]
    until: Instant | None
    granted_by: AttributedText
    reason: AttributedText
    created_at: Instant


class NewBinding(Body):
    subject: Subject
    role: Annotated[str, Field(pattern=ROLE, examples=["tenant-operator"])]
    tenant: Annotated[Name | None, Field(description="Null for a role at the provider.")]
    until: Until | None = None


class MemberRole(Body):
    role: str
    until: Instant | None
    binding: str
    identity: Annotated[
        str | None, Field(description="The person that the binding belongs to; null until their first request.")
    ]


class Member(Body):
    """A subject with all its roles in one tenant."""

    subject: str
    roles: list[MemberRole]


_PLAIN = ("id", "subject", "identity", "other_identity", "role", "tenant", "granted_by", "reason")


def render(row: RowMapping, attribution_filter: AttributionFilter) -> dict[str, Json]:
    plain = {name: row[name] for name in _PLAIN}
    document = {**plain, "until": _instant(row["until"]), "created_at": to_text(row["created_at"])}
    return attribution_filter(document, row["tenant"])


def _instant(instant: int | None) -> str | None:
    return None if instant is None else to_text(instant)


@router.get("/tenants/{name}/members", responses=answers(Items[Member]))
def list_members(
    caller: CallerDep,
    name: TenantName,
    page: Annotated[Paging, paging(("subject",), tuple(Member.model_fields))],
) -> Response:
    """The subjects bound in the tenant, with their roles. People whose roles come from their token are not listed."""
    caller.require_visible("member.read", name, tenants.unknown(name))
    with caller.database.read() as connection:
        tenants.find(connection, name)
        list_page, bindings_by_subject = bindings.members(connection, name, page.window)
    return page.answer(
        list_page,
        lambda row: {
            "subject": row["subject"],
            "roles": [_role(binding) for binding in bindings_by_subject[row["subject"]]],
        },
    )


def _role(row: RowMapping) -> dict[str, Json]:
    until, identity = _instant(row["until"]), row["identity"]
    return {"role": row["role"], "until": until, "binding": row["id"], "identity": identity}


@router.get("/bindings", responses=answers(Items[Binding]))
def list_bindings(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(bindings.SORTS), tuple(Binding.model_fields))],
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
    role: Annotated[str | None, Query(pattern=ROLE)] = None,
    subject: Annotated[str | None, Query(pattern=SUBJECT)] = None,
    provider: Annotated[Literal["true", "false"], Query(description="Only bindings at the provider.")] = "false",
) -> Response:
    """The bindings that the caller may see, including expired ones that were not revoked."""
    binding_filter = bindings.BindingFilter(tenant, role, subject, provider == "true")
    with caller.database.read() as connection:
        list_page = bindings.page(connection, caller.visible("member.read"), binding_filter, page.window)
    attribution_filter = caller.attribution_filter()
    return page.answer(list_page, lambda row: render(row, attribution_filter))


@router.post("/bindings", status_code=201, responses=answers(Binding, 201, change=True) | answers(Binding, change=True))
def grant(new_binding: NewBinding, change: Annotated[Change, change("member.grant")]) -> Response:
    """Give a role, perhaps with an end: 201. If the binding exists it gets the new end: 200.

    The role must not hold more permissions than the caller, or last longer. To set an earlier end is a revocation: it
    also needs member.revoke, a reason, and a second person where a revocation needs one.
    """
    not_found = None if new_binding.tenant is None else tenants.unknown(new_binding.tenant)
    target = ChangeTarget(
        new_binding.tenant, not_found, "tenant.read", granted_rights=_rights(change.caller.services.roles, new_binding)
    )
    if _shortens(change.caller, new_binding):
        return _shorten(replace(change, permission=SHORTENING), replace(target, granted_rights=None), new_binding)

    def apply(connection: Connection, attribution: Attribution) -> ChangeResult:
        checked_grant = _checked(change, new_binding)
        if target.granted_rights is not None:
            require_own(change.caller.principal, change.permission, target.granted_rights)
        result = bindings.grant(connection, checked_grant, attribution.actor, attribution.reason)
        row = result.row
        where = f"/v1/bindings/{row['id']}" if result.created else None
        body, status = render(row, change.caller.attribution_filter()), 201 if result.created else 200
        answer = Answer(body, status, location=where, changed=result.changed)
        return ChangeResult(answer, f"binding:{row['id']}", "member.granted", _event_details(row))

    return change.carry_out(target, apply)


def _rights(roles: Roles, new_binding: NewBinding) -> Rights | None:
    """The rights of the role; None for an unknown role, which is refused later."""
    role = roles.get(new_binding.role)
    until = None if new_binding.until is None else from_text(new_binding.until)
    return None if role is None else Rights(role.permissions, new_binding.tenant, until)


def _shortens(caller: Caller, new_binding: NewBinding) -> bool:
    """Whether the change sets an earlier end. False for a caller who may not grant here, as it must not learn of it.

    A binding that changes before the transaction of the change is a conflict there.
    """
    if new_binding.until is None or not caller.decide(Question("member.grant", new_binding.tenant)).allowed:
        return False
    requested_grant = bindings.Grant(
        new_binding.subject, new_binding.role, new_binding.tenant, from_text(new_binding.until)
    )
    with caller.database.read() as connection:
        return bindings.is_shortened_by(connection, requested_grant)


def _shorten(change: Change, target: ChangeTarget, new_binding: NewBinding) -> Response:
    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row, was_until = bindings.shorten(connection, _checked(change, new_binding))
        details = _event_details(row) | {"was_until": _instant(was_until)} | _withdraw_approvals(connection, row)
        answer = Answer(render(row, change.caller.attribution_filter()))
        return ChangeResult(answer, f"binding:{row['id']}", "member.shortened", details)

    return change.carry_out(target, apply)


def _checked(change: Change, new_binding: NewBinding) -> bindings.Grant:
    """The grant, after checks of role, subject and end."""
    role = _find_role(change.caller.services.roles, new_binding.role)
    if not fits(role, new_binding.tenant):
        place = "the provider: leave the tenant null" if new_binding.tenant else "a tenant: name it"
        raise InvalidRequest(f'the role "{role.name}" is bound at {place}', role=role.name, scope=role.scope)
    check_subject(change.caller.services.settings, new_binding.subject)
    until = None if new_binding.until is None else from_text(new_binding.until)
    if until is not None and until <= change.caller.now:
        raise InvalidRequest(f"until is {new_binding.until}, which is in the past; give a time in the future")
    if until is not None and until >= LATEST:
        raise InvalidRequest(
            f"until is {new_binding.until}, which is too far in the future; leave it out for a role without an end"
        )
    return bindings.Grant(new_binding.subject, role.name, new_binding.tenant, until)


def _find_role(roles: Roles, name: str) -> Role:
    if name in roles:
        return roles[name]
    near = get_close_matches(name, roles, 1)
    hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(roles)}"
    raise InvalidRequest(f'there is no role "{name}"; {hint}', role=name)


def check_subject(settings: Settings, subject: str) -> None:
    """Raise InvalidRequest unless the subject's issuer is trusted by this server and its name is readable."""
    issuer, _, name = subject.partition(":")
    trusted = settings.issuer_names
    if issuer == ACCOUNTS or (trusted and issuer not in trusted):
        trusted_text = ", ".join(trusted) or "those in the configuration"
        raise InvalidRequest(
            f'"{issuer}" is not an issuer that this server trusts; it trusts {trusted_text}', subject=subject
        )
    if not name.isprintable() or not is_harmless(name):
        raise InvalidRequest("the subject holds invisible characters; write it without them")


def _event_details(row: RowMapping) -> dict[str, Json]:
    return {"subject": row["subject"], "role": row["role"], "until": _instant(row["until"])}


def _withdraw_approvals(connection: Connection, row: RowMapping) -> dict[str, Json]:
    """Withdraw the unused approvals of a person who loses a role; the number for the event, if any."""
    count = approvals.withdraw_of_approver(connection, row["subject"], row["identity"], row["tenant"])
    return {"approvals_withdrawn": count} if count else {}


@router.get("/bindings/{binding_id}", responses=answers(Binding))
def show_binding(caller: CallerDep, binding_id: BindingId) -> Response:
    """One binding."""
    with caller.database.read() as connection:
        row = bindings.find(connection, binding_id)
    caller.require_visible("member.read", row["tenant"], bindings.unknown(binding_id))
    return json_response(render(row, caller.attribution_filter()))


@router.delete("/bindings/{binding_id}", status_code=204, responses=answers(None, 204, change=True))
def revoke(binding_id: BindingId, change: Annotated[Change, change("member.revoke")]) -> Response:
    """Revoke a role, from the next request on. Callers can revoke their own, even that of the last administrator."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row = bindings.find(connection, binding_id)
        bindings.revoke(connection, binding_id)
        details = _event_details(row) | _withdraw_approvals(connection, row)
        return ChangeResult(Answer(status=204), f"binding:{binding_id}", "member.revoked", details)

    with change.caller.database.read() as connection:
        # None for an unknown binding: a caller without a role at the provider is then refused as for a foreign one.
        tenant = bindings.place(connection, binding_id)
    return change.carry_out(ChangeTarget(tenant, bindings.unknown(binding_id), "member.read"), apply)
