"""Logins with a token of Keycloak, which manta sends to a mount of its own for each site, or of a service account."""

from __future__ import annotations

import base64
import json
from typing import NotRequired, TypedDict

from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import RSAKey

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.vault.auth.policies import ROOT
from csm_emulator.services.vault.auth.tokens import Tokens, TokenSpecification
from csm_emulator.services.vault.request_ids import RequestIds
from csm_emulator.services.vault.responses import PERMISSION_DENIED, Refusal, envelope, no_content, read, text
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

CERTS = "/keycloak/realms/shasta/protocol/openid-connect/certs"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
JWT, KUBERNETES, MANTA_PREFIX = "jwt", "kubernetes", "jwt-manta-"
AUDIENCE = "shasta"
HOUR = 3600
NAMES, NAMESPACES = "bound_service_account_names", "bound_service_account_namespaces"
CLOCK_SKEW = 60
"""Seconds: Vault's ``clock_skew_leeway``."""


class Role(TypedDict):
    policies: list[str]
    ttl: int
    more: NotRequired[dict[str, list[str]]]
    """The names and namespaces of service accounts to which the role is bound."""


_ROLES: dict[str, Role] = {
    "jwt/manta": {"policies": ["manta"], "ttl": HOUR},
    "kubernetes/tapms-operator": {
        "policies": ["tapms-operator"],
        "ttl": HOUR,
        "more": {NAMES: ["tapms-operator"], NAMESPACES: ["tapms-operator"]},
    },
}
# The exceptions of base64, JSON and joserfc for a text that is not a token.
_INVALID_TOKEN = (JoseError, ValueError, TypeError, KeyError, RecursionError)
_SIGNATURE = "error verifying token signature: no known key successfully validated the token signature"


class Logins:
    def __init__(self, context: Context, tokens: Tokens, requests: RequestIds) -> None:
        self._mesh = context.mesh
        self._faults = context.faults
        self._tokens = tokens
        self._requests = requests
        self._roles = context.tables.open("vault.roles", _ROLES)

    def routes(self) -> list[Route]:
        """Routes that need no token."""
        return [Route(method, "/v1/auth/{mount}/login", self.login) for method in ("POST", "PUT")]

    def role_routes(self) -> list[Route]:
        path = "/v1/auth/{mount}/role/{role}"
        return [
            Route("GET", path, self.role),
            Route("POST", path, self.set_role),
            Route("PUT", path, self.set_role),
            Route("DELETE", path, self.delete_role),
        ]

    def login(self, call: Call) -> Reply:
        mount = call.args["mount"]
        if not is_mount(mount):
            raise Refusal(403, PERMISSION_DENIED)
        body = read(call)
        token, role = text(body, "jwt"), text(body, "role")
        if not token:
            raise Refusal(400, "missing jwt" if mount == KUBERNETES else "missing token")
        if not role:
            raise Refusal(400, "missing role")
        role_record = self._roles.get(_key(mount, role))
        if role_record is None:
            message = f'invalid role name "{role}"' if mount == KUBERNETES else f'role "{role}" could not be found'
            raise Refusal(400, message)
        if ROOT in role_record["policies"]:
            raise Refusal(400, "auth methods cannot create root tokens")
        name = self._service_account(token, role_record) if mount == KUBERNETES else self._person(token)
        specification = TokenSpecification(
            tuple(role_record["policies"]), role_record["ttl"], f"auth/{mount}/login", f"{mount}-{name}", role
        )
        return envelope(self._requests.next(), auth=self._tokens.create(specification))

    def _service_account(self, token: str, role: Role) -> str:
        """Namespace and name of a service account, whose token Kubernetes reviews."""
        reply = self._mesh.ask("kubernetes", "POST", REVIEWS, {"spec": {"token": token}})
        status = reply.json()["status"] if reply.ok else {}
        if not status.get("authenticated"):
            raise Refusal(403, PERMISSION_DENIED)
        _, _, namespace, name = status["user"]["username"].split(":")
        bound = role.get("more", {})
        if not _is_among(namespace, bound.get(NAMESPACES, [])):
            raise Refusal(403, "namespace not authorized")
        if not _is_among(name, bound.get(NAMES, [])):
            raise Refusal(403, "service account name not authorized")
        return f"{namespace}-{name}"

    def _person(self, token: str) -> str:
        claims = self._verified(token)
        return str(claims.get("preferred_username") or claims.get("sub") or "")

    def _verified(self, token: str) -> Record:
        """The claims. Raises ``Refusal`` with the error texts of Vault's JWT library."""
        try:
            claims = jwt.decode(token, self._key_of(token), algorithms=["RS256"]).claims
        except _INVALID_TOKEN as error:
            raise _invalid(_SIGNATURE) from error
        try:
            # In real time, as the tokens themselves.
            times: Record = {name: claims[name] for name in ("exp", "nbf") if name in claims}
            jwt.JWTClaimsRegistry(leeway=CLOCK_SKEW).validate(times)
        except ExpiredTokenError as error:
            raise _invalid("invalid expiration time (exp) claim: token is expired") from error
        except JoseError as error:
            raise _invalid("invalid not before (nbf) claim: token not yet valid") from error
        audience = claims.get("aud")
        if AUDIENCE not in (audience if isinstance(audience, list) else [audience]):
            raise _invalid("invalid audience (aud) claim: audience claim does not match any expected audience")
        if self._expired_by_fault(claims):
            raise _invalid("invalid expiration time (exp) claim: token is expired")
        return claims

    def _key_of(self, token: str) -> RSAKey:
        head = token.partition(".")[0]
        kid = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"]
        reply = self._mesh.ask("keycloak", "GET", CERTS)
        if not reply.ok:
            raise Refusal(500, "error validating token: fetching keys oidc: get keys failed")
        keys = {key["kid"]: key for key in reply.json()["keys"] if key["use"] == "sig"}
        return RSAKey.import_key(keys[kid])

    def _expired_by_fault(self, claims: Record) -> bool:
        fault = self._faults.present("token-expiry", "keycloak")
        issued_at, valid_from = claims.get("iat"), fault.facts.get("before") if fault else None
        return fault is not None and not (
            isinstance(valid_from, int | float) and isinstance(issued_at, int | float) and issued_at >= valid_from
        )

    def role(self, call: Call) -> Reply:
        role_record = self._roles.get(_key(call.args["mount"], call.args["role"]))
        if role_record is None:
            raise Refusal(404)
        view = {
            "token_policies": role_record["policies"],
            "token_ttl": role_record["ttl"],
            **role_record.get("more", {}),
        }
        return envelope(self._requests.next(), view)

    def set_role(self, call: Call) -> Reply:
        mount = call.args["mount"]
        if not is_mount(mount):
            raise Refusal(404, f'no handler for route "auth/{mount}/role/{call.args["role"]}". route entry not found.')
        body = read(call)
        policies = _name_list(body.get("token_policies") or body.get("policies") or [])
        bound = {name: _name_list(value) for name, value in body.items() if name.startswith("bound_service_account")}
        self._roles[_key(mount, call.args["role"])] = {"policies": policies, "ttl": HOUR, "more": bound}
        return no_content()

    def delete_role(self, call: Call) -> Reply:
        self._roles.pop(_key(call.args["mount"], call.args["role"]), None)
        return no_content()


def is_mount(name: str) -> bool:
    """Whether there is such a mount: any name with manta's prefix is one, for a site of manta."""
    return name in (JWT, KUBERNETES) or (name.startswith(MANTA_PREFIX) and name != MANTA_PREFIX)


def _key(mount: str, role: str) -> str:
    return f"{JWT if mount.startswith(MANTA_PREFIX) else mount}/{role}"


def _is_among(name: str, bound: list[str]) -> bool:
    return "*" in bound or name in bound


def _invalid(reason: str) -> Refusal:
    return Refusal(400, f"error validating token: {reason}")


def _name_list(value: Json) -> list[str]:
    """The names in a JSON list, or in a text with commas."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return value
    raise Refusal(400, "error converting input for field 'policies'")
