"""Service accounts and their tokens: for pipelines.

They are recorded in the audit, but not sent as events: a reader of a tenant's events may lack the permission to see
its accounts.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.attribution import AttributedText, AttributionFilter
from canton.api.auth.caller import Caller, CallerDep
from canton.api.auth.delegation import require_own
from canton.api.middleware.body_routes import Route
from canton.api.mutations.changes import Change, ChangeResult, ChangeTarget, change
from canton.api.rendering.documents import NAME_PATTERN, Body, Description, Instant, Items, Name, answers
from canton.api.rendering.paging import Paging, paging
from canton.api.rendering.responses import Answer, object_response
from canton.domain.errors import InvalidRequest
from canton.domain.json_types import Json
from canton.domain.timestamps import to_text
from canton.operations.engine.completion import Attribution
from canton.policy.decide import Rights
from canton.policy.permissions import PERMISSIONS, Reach, find
from canton.store.access import service_accounts, tenants

router = APIRouter(tags=["service accounts"], route_class=Route)
AccountId = Annotated[
    str, Path(pattern=r"^sa_[0-9a-f]{28}$", description="The account.", examples=["sa_019a8a4f3c21d0c4f1a2b3c4d5e6"])
]
TokenId = Annotated[
    str, Path(pattern=r"^tk_[0-9a-f]{28}$", description="The token.", examples=["tk_019a8a4f3c21d0c4f1a2b3c4d5e6"])
]
PermissionName = Annotated[str, Field(max_length=64, json_schema_extra={"enum": list(PERMISSIONS)})]
Permissions = Annotated[list[PermissionName], Field(min_length=1, max_length=2 * len(PERMISSIONS))]
YEAR = 365 * 24 * 3600
Seconds = Annotated[int, Field(ge=1, le=YEAR)]


class ServiceAccount(Body):
    """An account of a program, in one tenant or at the provider."""

    id: str
    name: str
    tenant: Annotated[str | None, Field(description="Null for the provider.")]
    permissions: list[str]
    description: str
    created_by: AttributedText
    created_at: Instant
    version: int


class NewAccount(Body):
    name: Name
    tenant: Annotated[Name | None, Field(description="Null for an account of the provider.")]
    permissions: Permissions
    description: Description = ""


class Token(Body):
    """A token, without its secret text."""

    id: str
    permissions: list[str]
    created_by: AttributedText
    created_at: Instant
    expires_at: Instant


class NewToken(Body):
    ttl: Annotated[Seconds | None, Field(description="The lifetime in seconds; default: `policy.token_ttl`.")] = None
    permissions: Annotated[
        Permissions | None, Field(description="A subset of the account's permissions; default: all of them.")
    ] = None


class Rotation(Body):
    ttl: Annotated[Seconds | None, Field(description="The lifetime of the new token in seconds.")] = None
    overlap: Annotated[int, Field(ge=0, le=YEAR, description="Seconds until the replaced tokens end.")] = 0


class IssuedToken(Body):
    """The only answer that contains the token's text; null if the request is repeated with its idempotency key."""

    id: str
    token: str | None
    permissions: list[str]
    expires_at: Instant


def render(row: RowMapping, attribution_filter: AttributionFilter) -> dict[str, Json]:
    names = ("id", "name", "tenant", "permissions", "description", "created_by", "version")
    document = {**{name: row[name] for name in names}, "created_at": to_text(row["created_at"])}
    return attribution_filter(document, row["tenant"])


def _render_token(row: RowMapping) -> dict[str, Json]:
    plain = {name: row[name] for name in ("id", "permissions", "created_by")}
    return {**plain, "created_at": to_text(row["created_at"]), "expires_at": to_text(row["expires_at"])}


@router.get("/service-accounts", responses=answers(Items[ServiceAccount]))
def list_service_accounts(
    caller: CallerDep,
    page: Annotated[Paging, paging(tuple(service_accounts.SORTS), tuple(ServiceAccount.model_fields))],
    tenant: Annotated[str | None, Query(pattern=NAME_PATTERN)] = None,
) -> Response:
    """The service accounts that the caller may see."""
    with caller.database.read() as connection:
        list_page = service_accounts.page(connection, caller.visible("service-account.read"), page.window, tenant)
    attribution_filter = caller.attribution_filter()
    return page.answer(list_page, lambda row: render(row, attribution_filter))


@router.post("/service-accounts", status_code=201, responses=answers(ServiceAccount, 201, change=True))
def create_service_account(
    new_account: NewAccount, change: Annotated[Change, change("service-account.create")]
) -> Response:
    """Create an account with these permissions and no others; it has no token yet.

    The caller must hold all of these permissions, and without an end. This is checked only now: if the creator loses a
    role later, the account keeps its permissions until it is deleted, and its tokens until they expire or are revoked.
    The same rule holds for an account that creates another one.
    """

    def apply(connection: Connection, attribution: Attribution) -> ChangeResult:
        permissions = frozenset(find(name).name for name in new_account.permissions)
        _check_place(permissions, new_account.tenant)
        require_own(change.caller.principal, change.permission, Rights(permissions, new_account.tenant))
        account = service_accounts.NewAccount(
            new_account.name, new_account.tenant, tuple(permissions), new_account.description
        )
        row = service_accounts.create(connection, account, attribution.actor)
        body = render(row, change.caller.attribution_filter())
        answer = Answer(body, 201, row["version"], f"/v1/service-accounts/{row['id']}")
        details = {"name": row["name"], "permissions": row["permissions"]}
        return ChangeResult(answer, f"service-account:{row['id']}", details=details)

    not_found = None if new_account.tenant is None else tenants.unknown(new_account.tenant)
    granted_rights = Rights(frozenset(new_account.permissions), new_account.tenant)
    return change.carry_out(
        ChangeTarget(new_account.tenant, not_found, "tenant.read", granted_rights=granted_rights), apply
    )


def _check_place(permissions: frozenset[str], tenant: str | None) -> None:
    beyond = sorted(name for name in permissions if PERMISSIONS[name].reach is Reach.PROVIDER)
    if tenant is not None and beyond:
        raise InvalidRequest(
            f"an account of a tenant cannot hold {', '.join(beyond)}, which is only for the provider; leave it out",
            permissions=list(beyond),
        )


def _find_visible(caller: Caller, account_id: str) -> RowMapping:
    with caller.database.read() as connection:
        row = service_accounts.find(connection, account_id)
    caller.require_visible("service-account.read", row["tenant"], service_accounts.unknown(account_id))
    return row


@router.get("/service-accounts/{account_id}", responses=answers(ServiceAccount, tagged=True))
def show_service_account(request: Request, caller: CallerDep, account_id: AccountId) -> Response:
    """One service account."""
    row = _find_visible(caller, account_id)
    return object_response(request, render(row, caller.attribution_filter()), row["version"])


def _target(caller: Caller, account_id: str, *, itself: bool = False, issues: bool = False) -> ChangeTarget:
    """The target of a change to an account.

    With ``itself``, the account may make the change to itself. With ``issues``, the change creates a token, with at
    most the account's permissions.
    """
    with caller.database.read() as connection:
        row = service_accounts.look(connection, account_id)
    not_found = service_accounts.unknown(account_id)
    if row is None:
        return ChangeTarget(None, not_found, "service-account.read")
    who = service_accounts.principal_of(row) if itself else None
    hidden_error = None if who == caller.principal.id else not_found
    granted_rights = Rights(frozenset(row["permissions"]), row["tenant"]) if issues else None
    return ChangeTarget(row["tenant"], hidden_error, "service-account.read", who, granted_rights=granted_rights)


@router.delete("/service-accounts/{account_id}", status_code=204, responses=answers(None, 204, change=True))
def delete_service_account(
    account_id: AccountId, change: Annotated[Change, change("service-account.delete")]
) -> Response:
    """Delete an account; its tokens end at once."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row = service_accounts.delete(connection, account_id, change.if_version)
        details = {"name": row["name"]}
        return ChangeResult(Answer(status=204), f"service-account:{account_id}", details=details)

    return change.carry_out(_target(change.caller, account_id), apply)


@router.get("/service-accounts/{account_id}/tokens", responses=answers(Items[Token]))
def list_tokens(
    caller: CallerDep,
    account_id: AccountId,
    page: Annotated[Paging, paging(tuple(service_accounts.TOKEN_SORTS), tuple(Token.model_fields))],
) -> Response:
    """The account's tokens, without their texts, which cannot be shown again."""
    account = _find_visible(caller, account_id)
    with caller.database.read() as connection:
        list_page = service_accounts.tokens(connection, account_id, page.window)
    attribution_filter = caller.attribution_filter()
    return page.answer(list_page, lambda row: attribution_filter(_render_token(row), account["tenant"]))


Issuing = Annotated[Change, change("service-account.token")]


@router.post("/service-accounts/{account_id}/tokens", status_code=201, responses=answers(IssuedToken, 201, change=True))
def issue_token(account_id: AccountId, change: Issuing, new_token: NewToken | None = None) -> Response:
    """Create a token; its text is only in this answer.

    It has the account's permissions or fewer. The caller must hold them without an end, because the owner of a token
    can renew it. The token stays valid if the caller loses such a role later.
    """
    token_request = new_token or NewToken()

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row = service_accounts.find(connection, account_id, lock=True)
        permissions = _token_permissions(row, token_request.permissions)
        issued = _issue(connection, change, row, permissions, token_request.ttl)
        return _token_result(account_id, issued)

    return change.carry_out(_target(change.caller, account_id, issues=True), apply)


@router.post("/service-accounts/{account_id}/rotate", status_code=201, responses=answers(IssuedToken, 201, change=True))
def rotate_tokens(account_id: AccountId, change: Issuing, rotation: Rotation | None = None) -> Response:
    """Create a token, and end the tokens that it replaces, at once or after an overlap.

    It replaces every token of the account with the same permissions or fewer, and has the permissions of all of them
    together. An account may always rotate its own token, unless its tenant is suspended; the new token then has the
    permissions of the token that it used, and at most its lifetime. Without an overlap, the used token ends before the
    answer is sent: if the answer is lost, so is the new token.
    """
    rotation_request = rotation or Rotation()

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        row = service_accounts.find(connection, account_id, lock=True)
        issued = _issue(
            connection, change, row, _rotated_permissions(connection, change.caller, row), rotation_request.ttl
        )
        ended = service_accounts.end_others(connection, account_id, issued, rotation_request.overlap)
        return _token_result(account_id, issued, ended=ended, overlap=rotation_request.overlap)

    return change.carry_out(_target(change.caller, account_id, itself=True, issues=True), apply)


def _token_permissions(row: RowMapping, requested: list[str] | None) -> frozenset[str]:
    account_permissions = frozenset(row["permissions"])
    if requested is None:
        return account_permissions
    resolved = frozenset(find(name).name for name in requested)
    beyond = sorted(resolved - account_permissions)
    if beyond:
        raise InvalidRequest(
            f"the service account {row['name']} does not hold {', '.join(beyond)}; "
            "a token has the permissions of its account, or fewer",
            permissions=list(beyond),
        )
    return resolved


def _rotated_permissions(connection: Connection, caller: Caller, row: RowMapping) -> frozenset[str]:
    """The permissions of the new token: those of the tokens that it replaces, never more."""
    account_permissions = frozenset(row["permissions"])
    if caller.principal.id != service_accounts.principal_of(row):
        replaced = service_accounts.held_by_tokens(connection, row["id"])
        return account_permissions if replaced is None else account_permissions & replaced
    return account_permissions & frozenset(
        name for binding in caller.principal.bindings for name in binding.permissions
    )


def _issue(
    connection: Connection, change: Change, row: RowMapping, permissions: frozenset[str], ttl: int | None
) -> service_accounts.NewTokenText:
    policy, lifetime = change.caller.services.settings.policy, change.caller.principal.lifetime
    # A token cannot create a token that lasts longer than its own lifetime, for this account or another.
    limit = int(policy.token_ttl_limit) if lifetime is None else min(int(policy.token_ttl_limit), lifetime)
    seconds = min(int(policy.token_ttl), limit) if ttl is None else ttl
    if seconds > limit:
        raise InvalidRequest(
            f"a token may last at most {limit} seconds, and {seconds} were requested; ask for fewer", ttl=limit
        )
    # A token can be renewed for ever, so rights that end would be kept for good by it.
    require_own(change.caller.principal, change.permission, Rights(permissions, row["tenant"]))
    by = change.caller.principal.id
    return service_accounts.issue(connection, row["id"], tuple(permissions), seconds, by)


def _token_result(account_id: str, issued: service_accounts.NewTokenText, **more: Json) -> ChangeResult:
    body: dict[str, Json] = {
        "id": issued.id,
        "token": issued.text,
        "permissions": issued.permissions,
        "expires_at": to_text(issued.expires_at),
    }
    details = {**{name: value for name, value in body.items() if name != "token"}, **more}
    return ChangeResult(Answer(body, 201), f"service-account:{account_id}", details=details)


@router.delete(
    "/service-accounts/{account_id}/tokens/{token_id}", status_code=204, responses=answers(None, 204, change=True)
)
def revoke_token(
    account_id: AccountId, token_id: TokenId, change: Annotated[Change, change("service-account.revoke")]
) -> Response:
    """End a token at once."""

    def apply(connection: Connection, _because: Attribution) -> ChangeResult:
        service_accounts.revoke(connection, account_id, token_id)
        details = {"token": token_id}
        return ChangeResult(Answer(status=204), f"service-account:{account_id}", details=details)

    return change.carry_out(_target(change.caller, account_id), apply)
