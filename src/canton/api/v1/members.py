"""Bindings: who has which role, where, and until when; and a tenant's members, which are its bindings by subject."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.attribution import Attributed, Attribution
from canton.api.auth.caller import Caller, CallerDep
from canton.api.auth.delegation import require_own
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, Done, On, change
from canton.api.rendering.documents import NAME_PATTERN, Body, Instant, Items, Name, TenantName, answers
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.patterns import MOMENT, SUBJECT
from canton.api.rendering.responses import Answer, json_response
from canton.domain.data import Json
from canton.domain.errors import InvalidRequest
from canton.domain.harmless import is_harmless
from canton.domain.instants import from_text, to_text
from canton.operations.engine.completion import Because
from canton.policy.bindings import fits
from canton.policy.decide import Question, Rights
from canton.policy.roles import Role, Roles
from canton.settings.model import Settings
from canton.store.access import approvals, bindings, tenants

router = APIRouter(tags=["members"], route_class=Route)
ROLE = r"^[a-z][a-z0-9-]{0,62}$"
# In the time zone that instants are shown in, there is no later year.
LATEST = from_text("9999-12-31T23:59:59Z")
# What it takes to let a binding end sooner.
SHORTENING = "member.revoke"
# Principals of this "issuer" are service accounts: they hold what they were made with, and are never bound.
ACCOUNTS = "service"

BindingId = Annotated[
    str, Path(pattern=r"^bd_[0-9a-f]{28}$", description="The binding.", examples=["bd_019a8a4f3c21d0c4f1a2b3c4d5e6"])
]
Subject = Annotated[str, Field(pattern=SUBJECT, examples=["cscs:alice", "cscs:group/psi-ops"])]
Until = Annotated[
    str,
    Field(
        pattern=MOMENT,
        description="It ends then; an instant to come.",
        examples=["2027-01-31T18:00:00Z"],
    ),
]


class Binding(Body):
    """Somebody, or a group of an issuer, has a role."""

    id: str
    subject: str
    identity: Annotated[
        str | None, Field(description="Whose it is: the issuer and its `sub`; null for a group, or until first seen.")
    ]
    other_identity: Annotated[
        str | None, Field(description="Another person who came with the name later, and got nothing.")
    ]
    role: str
    tenant: Annotated[str | None, Field(description="Null at the provider.")]
    until: Instant | None
    granted_by: Attributed
    reason: Attributed
    created_at: Instant


class NewBinding(Body):
    subject: Subject
    role: Annotated[str, Field(pattern=ROLE, examples=["tenant-operator"])]
    tenant: Annotated[Name | None, Field(description="Null at the provider, for a role of the provider.")]
    until: Until | None = None


class MemberRole(Body):
    role: str
    until: Instant | None
    binding: str
    identity: Annotated[str | None, Field(description="Whose it is, once they were seen.")]


class Member(Body):
    """A subject with all its roles in one tenant."""

    subject: str
    roles: list[MemberRole]


_PLAIN = ("id", "subject", "identity", "other_identity", "role", "tenant", "granted_by", "reason")


def render(row: RowMapping, attribution: Attribution) -> dict[str, Json]:
    plain = {name: row[name] for name in _PLAIN}
    document = {**plain, "until": _instant(row["until"]), "created_at": to_text(row["created_at"])}
    return attribution(document, row["tenant"])


def _instant(found: int | None) -> str | None:
    return None if found is None else to_text(found)


@router.get("/tenants/{name}/members", responses=answers(Items[Member]))
def list_members(
    caller: CallerDep,
    name: TenantName,
    page: Annotated[Paging, paging(("subject",), tuple(Member.model_fields))],
) -> Response:
    """Everybody whom Canton was told of, with all their roles in the tenant; an issuer may vouch for more."""
    caller.require_sight("member.read", name, tenants.unknown(name))
    with caller.database.read() as connection:
        tenants.find(connection, name)
        found, held = bindings.members(connection, name, page.window)
    return page.answer(
        found, lambda row: {"subject": row["subject"], "roles": [_role(each) for each in held[row["subject"]]]}
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
    provider: Annotated[Literal["true", "false"], Query(description="Only those at the provider.")] = "false",
) -> Response:
    """The bindings that the caller may see, with those that have run out and were not revoked."""
    sought = bindings.Sought(tenant, role, subject, provider == "true")
    with caller.database.read() as connection:
        found = bindings.page(connection, caller.visible("member.read"), sought, page.window)
    attribution = caller.attribution()
    return page.answer(found, lambda row: render(row, attribution))


@router.post("/bindings", status_code=201, responses=answers(Binding, 201, change=True) | answers(Binding, change=True))
def grant(wanted: NewBinding, change: Annotated[Change, change("member.grant")]) -> Response:
    """Give a role, perhaps for a time: 201. Given again it is the same binding, with the new end: 200.

    Nobody gives a role that holds more than they do themselves, or for longer. An end sooner than the binding has takes
    something away: it also needs member.revoke, a reason, and the second person where a revocation does.
    """
    unseen = None if wanted.tenant is None else tenants.unknown(wanted.tenant)
    on = On(wanted.tenant, unseen, "tenant.read", gives=_rights(change.caller.services.roles, wanted))
    if _shortens(change.caller, wanted):
        return _shorten(replace(change, permission=SHORTENING), replace(on, gives=None), wanted)

    def act(connection: Connection, because: Because) -> Done:
        asked = _checked(change, wanted)
        if on.gives is not None:
            require_own(change.caller.principal, change.permission, on.gives)
        made = bindings.grant(connection, asked, because.actor, because.reason)
        row = made.row
        where = f"/v1/bindings/{row['id']}" if made.created else None
        body, status = render(row, change.caller.attribution()), 201 if made.created else 200
        answer = Answer(body, status, location=where, changed=made.changed)
        return Done(answer, f"binding:{row['id']}", "member.granted", _told(row))

    return change.carry_out(on, act)


def _rights(roles: Roles, wanted: NewBinding) -> Rights | None:
    """What the role holds; None for a role that there is not, which is refused when its time comes."""
    role = roles.get(wanted.role)
    until = None if wanted.until is None else from_text(wanted.until)
    return None if role is None else Rights(role.permissions, wanted.tenant, until)


def _shortens(caller: Caller, wanted: NewBinding) -> bool:
    """Looked at only for a caller who may grant here: a refusal must not tell others that there is such a binding.

    Inside the transaction of the change, a binding that was changed meanwhile is a conflict.
    """
    if wanted.until is None or not caller.decide(Question("member.grant", wanted.tenant)).allowed:
        return False
    asked = bindings.Grant(wanted.subject, wanted.role, wanted.tenant, from_text(wanted.until))
    with caller.database.read() as connection:
        return bindings.is_shortened_by(connection, asked)


def _shorten(change: Change, on: On, wanted: NewBinding) -> Response:
    def act(connection: Connection, _because: Because) -> Done:
        row, was_until = bindings.shorten(connection, _checked(change, wanted))
        told = _told(row) | {"was_until": _instant(was_until)} | _withdrawn(connection, row)
        answer = Answer(render(row, change.caller.attribution()))
        return Done(answer, f"binding:{row['id']}", "member.shortened", told)

    return change.carry_out(on, act)


def _checked(change: Change, wanted: NewBinding) -> bindings.Grant:
    """What is wanted, if it makes sense."""
    role = _find_role(change.caller.services.roles, wanted.role)
    if not fits(role, wanted.tenant):
        place = "the provider: leave the tenant null" if wanted.tenant else "a tenant: name it"
        raise InvalidRequest(f'the role "{role.name}" is bound at {place}', role=role.name, scope=role.scope)
    check_subject(change.caller.services.settings, wanted.subject)
    until = None if wanted.until is None else from_text(wanted.until)
    if until is not None and until <= change.caller.now:
        raise InvalidRequest(f"until is {wanted.until}, which is over; name an instant to come")
    if until is not None and until >= LATEST:
        raise InvalidRequest(f"until is {wanted.until}, which is too far; leave it out for a role without an end")
    return bindings.Grant(wanted.subject, role.name, wanted.tenant, until)


def _find_role(roles: Roles, name: str) -> Role:
    if name in roles:
        return roles[name]
    near = get_close_matches(name, roles, 1)
    hint = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(roles)}"
    raise InvalidRequest(f'there is no role "{name}"; {hint}', role=name)


def check_subject(settings: Settings, subject: str) -> None:
    """Whether it is somebody whom an issuer of this server could vouch for."""
    issuer, _, name = subject.partition(":")
    known = settings.issuer_names
    if issuer == ACCOUNTS or (known and issuer not in known):
        named = ", ".join(known) or "those in the configuration"
        raise InvalidRequest(f'"{issuer}" is no issuer that this server trusts; it trusts {named}', subject=subject)
    if not name.isprintable() or not is_harmless(name):
        raise InvalidRequest("the subject holds invisible characters; write it without them")


def _told(row: RowMapping) -> dict[str, Json]:
    return {"subject": row["subject"], "role": row["role"], "until": _instant(row["until"])}


def _withdrawn(connection: Connection, row: RowMapping) -> dict[str, Json]:
    """Whoever loses a role loses the say that they had by it in what was not done yet."""
    count = approvals.withdraw_of_approver(connection, row["subject"], row["identity"], row["tenant"])
    return {"approvals_withdrawn": count} if count else {}


@router.get("/bindings/{binding_id}", responses=answers(Binding))
def show_binding(caller: CallerDep, binding_id: BindingId) -> Response:
    """One binding."""
    with caller.database.read() as connection:
        row = bindings.find(connection, binding_id)
    caller.require_sight("member.read", row["tenant"], bindings.unknown(binding_id))
    return json_response(render(row, caller.attribution()))


@router.delete("/bindings/{binding_id}", status_code=204, responses=answers(None, 204, change=True))
def revoke(binding_id: BindingId, change: Annotated[Change, change("member.revoke")]) -> Response:
    """Take a role away; it is gone with the next request. One's own, too, even the last administrator's."""

    def act(connection: Connection, _because: Because) -> Done:
        row = bindings.find(connection, binding_id)
        bindings.revoke(connection, binding_id)
        told = _told(row) | _withdrawn(connection, row)
        return Done(Answer(status=204), f"binding:{binding_id}", "member.revoked", told)

    with change.caller.database.read() as connection:
        # Of one that is not there this is None: whoever is not of the provider is then refused as for a foreign one.
        tenant = bindings.place(connection, binding_id)
    return change.carry_out(On(tenant, bindings.unknown(binding_id), "member.read"), act)
