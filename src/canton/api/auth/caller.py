"""The caller of a request: from a bearer token to a principal, and what it may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth import identity_pinning
from canton.api.auth.attribution import PERMISSION as ATTRIBUTION
from canton.api.auth.attribution import AttributionFilter, attribution_filter
from canton.api.middleware.limits import SLOT, ConcurrencySlot
from canton.api.services import Services, services
from canton.contracts.identity import Identity
from canton.domain.errors import DatabaseUnavailable, NotAuthenticated, NotFound
from canton.policy.bindings import Binding, Kind, Principal, Source, bind
from canton.policy.decide import Decision, Question, decide
from canton.policy.roles import Roles
from canton.policy.scope import scope
from canton.store.access import bindings, service_accounts, tenants
from canton.store.database import Database
from canton.store.listing import Visible

# Documents the scheme in OpenAPI; the token itself is taken below, where an error becomes a problem.
_BEARER = HTTPBearer(auto_error=False, description="A token of a configured issuer, or of a service account.")


@dataclass(frozen=True, slots=True)
class Caller:
    principal: Principal
    services: Services
    request: str
    """The server's own id of the request; clients cannot choose it."""
    now: int
    principal_in: Callable[..., Principal]
    """Reads the principal again in a transaction; with ``lock=True`` its roles cannot be revoked before that ends."""
    client_request: str | None = None
    """The client's X-Request-Id, if it has the form of an id."""

    @property
    def accounting_key(self) -> str:
        """The name that limits count a request for. All service accounts of a tenant share one."""
        if self.principal.kind is not Kind.SERVICE_ACCOUNT:
            return self.principal.id
        return f"{self.principal.id.partition('/')[0]}/*"

    @property
    def active_bindings(self) -> frozenset[Binding]:
        """The bindings that have not ended."""
        return frozenset(binding for binding in self.principal.bindings if binding.holds(self.now))

    @property
    def database(self) -> Database:
        return self.services.database

    def visible(self, permission: str) -> Visible:
        """The tenants whose objects this caller may see in a list; None: all."""
        visible = self._visible(permission)
        if visible is not None:
            self._require_pinned()
        return visible

    def _visible(self, permission: str) -> Visible:
        visible_scope = scope(self.principal, permission, self.now)
        return None if visible_scope.everything else visible_scope.tenants

    def charge(self, *, entries: int = 0, size: int = 0) -> None:
        """Count the entries or bytes of this request against the caller's rate limit."""
        self.services.rate_limits.charge_work(self.accounting_key, entries, size)

    def attribution_filter(self) -> AttributionFilter:
        """The function that hides from this caller who did something and why, where it may not see that."""
        return attribution_filter(self._visible(ATTRIBUTION))

    def is_bound_in(self, tenant: str | None) -> bool:
        """Whether the caller has a role in the tenant or at the provider."""
        return any(binding.tenant in (None, tenant) for binding in self.active_bindings)

    def decide(self, question: Question) -> Decision:
        decision = decide(self.principal, question, self.services.roles, self.now)
        if not decision.allowed:
            self._require_pinned()
        return decision

    def _require_pinned(self) -> None:
        """Raise DatabaseUnavailable instead of a refusal while a binding of the caller's name is not pinned yet."""
        if self.principal.unpinned:
            raise DatabaseUnavailable(
                f"a role of {self.principal.id} could not be pinned to its owner yet, for the database is busy; "
                "try again shortly"
            )

    def require_visible(self, permission: str, tenant: str | None, unseen: NotFound) -> None:
        """Raise ``unseen``, a NotFound, if the caller may not see objects of this tenant."""
        if not self.decide(Question(permission, tenant)).allowed:
            raise unseen


def authenticate(request: Request) -> Caller:
    server = services(request)
    now = server.clock()
    token = _token(request)
    if service_accounts.looks_like_token(token):
        principal_in = partial(_account, token, server.clock)
    else:
        principal_in = partial(_person, server.roles, server.verifier.verify(token))
    with server.database.read() as connection:
        principal = principal_in(connection)
    own: str = getattr(request.state, "own_request_id", "-")
    if principal.pinning_pending:
        identity_pinning.try_to_pin(server.pinning_lock, server.database, principal, own)
        with server.database.read() as connection:
            principal = principal_in(connection)
    request.state.principal = principal.id
    return Caller(principal, server, own, now, principal_in, getattr(request.state, "client_request_id", None))


def identify(request: Request, _documented: Annotated[object, Depends(_BEARER)] = None) -> Caller:
    """The caller of this request, authenticated once: a route with a body needs it before its dependencies."""
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        caller = request.state.caller = _authenticate_within_rates(request)
    return caller


def _authenticate_within_rates(request: Request) -> Caller:
    rates = services(request).rate_limits
    try:
        caller = authenticate(request)
    except NotAuthenticated:
        rates.charge_address(request.client.host if request.client else "")
        raise
    rates.charge_principal(caller.accounting_key, has_roles=bool(caller.active_bindings))
    slot: ConcurrencySlot | None = getattr(request.state, SLOT, None)
    if slot is not None:
        slot.assign_to_caller(caller.accounting_key, at_provider=caller.is_bound_in(None))
    return caller


CallerDep = Annotated[Caller, Depends(identify)]


def _token(request: Request) -> str:
    values = request.headers.getlist("authorization")
    if not values:
        raise NotAuthenticated("this request carries no token; log in with: canton login")
    scheme, _, token = values[0].partition(" ")
    if len(values) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise NotAuthenticated("the Authorization header must be one bearer token: Authorization: Bearer …")
    return token.strip()


def _person(roles: Roles, identity: Identity, connection: Connection, *, lock: bool = False) -> Principal:
    subject = f"{identity.issuer}:{identity.username}"
    groups = [f"{identity.issuer}:group/{group}" for group in sorted(identity.groups)]
    me = f"{identity.issuer}:{identity.subject}"
    rows = bindings.of_subjects(connection, [subject, *groups], me, lock=lock)
    granted = [row for row in rows if row["identity"] == me or row["subject"] in groups]
    by_name = [row for row in rows if row["subject"] == subject]
    # Tokens may name a tenant for years after it was deleted.
    deleted_tenants = tenants.deleted(
        connection, {claim.tenant for claim in identity.claims_bindings if claim.tenant is not None}
    )
    live_claims = (claim for claim in identity.claims_bindings if claim.tenant not in deleted_tenants)
    claimed = (bind(roles, claim.role, claim.tenant, Source.CLAIM) for claim in live_claims)
    stored = (bind(roles, row["role"], row["tenant"], Source.GRANT, row["until"]) for row in granted)
    kind = Kind.PERSON if identity.is_person else Kind.MACHINE
    return Principal(
        subject,
        identity.name,
        kind,
        identity.issuer,
        (*claimed, *stored),
        identity.expires_at,
        identity=me,
        pinning_pending=any(_pinning_pending(row, me) for row in by_name),
        unpinned=any(row["identity"] is None for row in by_name),
    )


def _pinning_pending(row: RowMapping, me: str) -> bool:
    return row["identity"] is None or (row["identity"] != me and row["other_identity"] is None)


def _account(token: str, clock: Callable[[], int], connection: Connection, *, lock: bool = False) -> Principal:
    account = service_accounts.authenticate(connection, token, clock(), lock=lock)
    binding = Binding("service-account", account.tenant, account.permissions, Source.ACCOUNT)
    kind, ends = Kind.SERVICE_ACCOUNT, account.expires_at
    identity = f"service:{account.id}"
    return Principal(account.principal, account.name, kind, "canton", (binding,), ends, account.lifetime, identity)
