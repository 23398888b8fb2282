"""Who is asking: from a bearer token to a principal, and what it may see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth import pinning
from canton.api.auth.attribution import PERMISSION as ATTRIBUTION
from canton.api.auth.attribution import Attribution, attribution
from canton.api.middleware.limits import PLACE, Place
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
    """The server's own id of the request, which no client can choose."""
    now: int
    principal_in: Callable[..., Principal]
    """The principal as a transaction sees it now; with ``lock=True`` its roles cannot be taken before that ends."""
    client_request: str | None = None
    """What the client calls the request, if that has the form of an id."""

    @property
    def counted_for(self) -> str:
        """Whose share of the server a request uses up: a tenant could make service accounts without end."""
        if self.principal.kind is not Kind.SERVICE_ACCOUNT:
            return self.principal.id
        return f"{self.principal.id.partition('/')[0]}/*"

    @property
    def held(self) -> frozenset[Binding]:
        """The roles that have not ended."""
        return frozenset(binding for binding in self.principal.bindings if binding.holds(self.now))

    @property
    def database(self) -> Database:
        return self.services.database

    def visible(self, permission: str) -> Visible:
        """Whose objects this caller may see in a list."""
        visible = self._visible(permission)
        if visible is not None:
            self._require_pinned()
        return visible

    def _visible(self, permission: str) -> Visible:
        found = scope(self.principal, permission, self.now)
        return None if found.everything else found.tenants

    def charge(self, *, entries: int = 0, size: int = 0) -> None:
        """Count what this request works on towards the rate of the caller: so many entries, or bytes."""
        self.services.rates.charge_work(self.counted_for, entries, size)

    def attribution(self) -> Attribution:
        """How one answer to this caller renders who did something and why."""
        return attribution(self._visible(ATTRIBUTION))

    def is_bound_in(self, tenant: str | None) -> bool:
        """Some role of the caller's is in the tenant, or at the provider."""
        return any(each.tenant in (None, tenant) for each in self.held)

    def decide(self, question: Question) -> Decision:
        decision = decide(self.principal, question, self.services.roles, self.now)
        if not decision.allowed:
            self._require_pinned()
        return decision

    def _require_pinned(self) -> None:
        """What a binding might have allowed is not refused before it is known whose the binding is."""
        if self.principal.unpinned:
            raise DatabaseUnavailable(
                f"a role of {self.principal.id} could not be pinned to its owner yet, for the database is busy; "
                "try again shortly"
            )

    def require_sight(self, permission: str, tenant: str | None, unseen: NotFound) -> None:
        """Raise ``unseen``, as for something absent, if the caller may not see what belongs to this tenant."""
        if not self.decide(Question(permission, tenant)).allowed:
            raise unseen


def authenticate(request: Request) -> Caller:
    given = services(request)
    now = given.clock()
    token = _token(request)
    if service_accounts.looks_like_token(token):
        principal_in = partial(_account, token, given.clock)
    else:
        principal_in = partial(_person, given.roles, given.verifier.verify(token))
    with given.database.read() as connection:
        principal = principal_in(connection)
    own: str = getattr(request.state, "own_request_id", "-")
    if principal.unsettled:
        pinning.attempt(given.pinning, given.database, principal, own)
        with given.database.read() as connection:
            principal = principal_in(connection)
    request.state.principal = principal.id
    return Caller(principal, given, own, now, principal_in, getattr(request.state, "client_request_id", None))


def identify(request: Request, _documented: Annotated[object, Depends(_BEARER)] = None) -> Caller:
    """The caller of this request, authenticated once: a route with a body needs it before its dependencies."""
    known: Caller | None = getattr(request.state, "caller", None)
    if known is None:
        known = request.state.caller = _authenticate_within_rates(request)
    return known


def _authenticate_within_rates(request: Request) -> Caller:
    rates = services(request).rates
    try:
        caller = authenticate(request)
    except NotAuthenticated:
        rates.charge_address(request.client.host if request.client else "")
        raise
    rates.charge_principal(caller.counted_for, has_roles=bool(caller.held))
    place: Place | None = getattr(request.state, PLACE, None)
    if place is not None:
        place.belongs_to(caller.counted_for, at_provider=caller.is_bound_in(None))
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
    named = [row for row in rows if row["subject"] == subject]
    # Tokens may name a tenant for years after it was deleted.
    gone = tenants.deleted(connection, {each.tenant for each in identity.claims_bindings if each.tenant is not None})
    held = (each for each in identity.claims_bindings if each.tenant not in gone)
    claimed = (bind(roles, each.role, each.tenant, Source.CLAIM) for each in held)
    kept = (bind(roles, row["role"], row["tenant"], Source.GRANT, row["until"]) for row in granted)
    kind = Kind.PERSON if identity.is_person else Kind.MACHINE
    return Principal(
        subject,
        identity.name,
        kind,
        identity.issuer,
        (*claimed, *kept),
        identity.expires_at,
        identity=me,
        unsettled=any(_is_unsettled(row, me) for row in named),
        unpinned=any(row["identity"] is None for row in named),
    )


def _is_unsettled(row: RowMapping, me: str) -> bool:
    return row["identity"] is None or (row["identity"] != me and row["other_identity"] is None)


def _account(token: str, clock: Callable[[], int], connection: Connection, *, lock: bool = False) -> Principal:
    found = service_accounts.authenticate(connection, token, clock(), lock=lock)
    binding = Binding("service-account", found.tenant, found.permissions, Source.ACCOUNT)
    kind, ends = Kind.SERVICE_ACCOUNT, found.expires_at
    identity = f"service:{found.id}"
    return Principal(found.principal, found.name, kind, "canton", (binding,), ends, found.lifetime, identity)
