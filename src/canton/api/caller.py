"""Who is asking: from a bearer token to a principal, and what it may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from canton.api.problems import request_id
from canton.api.services import Services, services
from canton.contracts.identity import Identity
from canton.domain.errors import NotAuthenticated, NotFound
from canton.policy.bindings import Binding, Kind, Principal, Source, bind
from canton.policy.decide import Decision, Question, decide
from canton.policy.scope import scope
from canton.store import bindings, service_accounts
from canton.store.database import Database
from canton.store.listing import Visible

# Documents the scheme in OpenAPI; the token itself is taken below, where an error becomes a problem.
_BEARER = HTTPBearer(auto_error=False, description="A token of a configured issuer, or of a service account.")


@dataclass(frozen=True, slots=True)
class Caller:
    principal: Principal
    services: Services
    request: str
    now: int

    @property
    def database(self) -> Database:
        return self.services.database

    def visible(self, permission: str) -> Visible:
        """Whose objects this caller may see in a list."""
        found = scope(self.principal, permission, self.now)
        return None if found.everything else found.tenants

    def decide(self, question: Question) -> Decision:
        return decide(self.principal, question, self.services.roles, self.now)

    def require_sight(self, permission: str, tenant: str | None, unseen: NotFound) -> None:
        """Raise ``unseen``, as for something absent, if the caller may not see what belongs to this tenant."""
        if not self.decide(Question(permission, tenant)).allowed:
            raise unseen


def authenticate(request: Request, _documented: Annotated[object, Depends(_BEARER)] = None) -> Caller:
    given = services(request)
    now = given.clock()
    token = _token(request)
    if service_accounts.looks_like_token(token):
        principal = _account(given, token, now)
    else:
        principal = _person(given, given.verifier.verify(token))
    request.state.principal = principal.id
    return Caller(principal, given, request_id(request), now)


CallerDep = Annotated[Caller, Depends(authenticate)]


def _token(request: Request) -> str:
    values = request.headers.getlist("authorization")
    if not values:
        raise NotAuthenticated("this request carries no token; log in with: canton login")
    scheme, _, token = values[0].partition(" ")
    if len(values) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise NotAuthenticated("the Authorization header must be one bearer token: Authorization: Bearer …")
    return token.strip()


def _person(given: Services, identity: Identity) -> Principal:
    subject = f"{identity.issuer}:{identity.username}"
    groups = [f"{identity.issuer}:group/{group}" for group in sorted(identity.groups)]
    with given.database.read() as connection:
        granted = bindings.of_subjects(connection, [subject, *groups])
    claimed = (bind(given.roles, each.role, each.tenant, Source.CLAIM) for each in identity.claims_bindings)
    kept = (bind(given.roles, row["role"], row["tenant"], Source.GRANT, row["until"]) for row in granted)
    return Principal(subject, identity.name, Kind.PERSON, identity.issuer, (*claimed, *kept), identity.expires_at)


def _account(given: Services, token: str, now: int) -> Principal:
    with given.database.read() as connection:
        found = service_accounts.authenticate(connection, token, now)
    binding = Binding("service-account", found.tenant, found.permissions, Source.ACCOUNT)
    return Principal(found.principal, found.name, Kind.SERVICE_ACCOUNT, "canton", (binding,), found.expires_at)
