"""What the issuer signs: access tokens (RFC 9068) with the claims that Keycloak's have, and ID tokens."""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass

from joserfc import jwt
from joserfc.jwa import JWSAlgModel
from joserfc.jws import JWSRegistry

from canton.issuer.keys import signing_key
from canton.issuer.settings import SERVICE_ACCOUNT, Client, EmbeddedIssuer, User
from canton.issuer.subjects import subject_of


@dataclass(frozen=True, slots=True)
class Bearer:
    """The subject of a token; ``methods`` is how a person logged in (RFC 8176), and empty for a client."""

    username: str
    name: str
    groups: tuple[str, ...]
    roles: tuple[str, ...]
    methods: tuple[str, ...] = ()


def person(user: User) -> Bearer:
    return Bearer(user.username, user.name, user.groups, user.roles, ("pwd",))


def service_account(client: Client) -> Bearer:
    return Bearer(f"{SERVICE_ACCOUNT}{client.id}", client.id, client.groups, client.roles)


def access_token(
    connection: sqlite3.Connection, issuer: EmbeddedIssuer, bearer: Bearer, client: str, scope: str, now: int
) -> str:
    claims = _common_claims(connection, issuer, bearer, now) | {
        "aud": issuer.audience,
        "typ": "Bearer",
        "jti": secrets.token_urlsafe(16),
        "client_id": client,
        "azp": client,
        "scope": scope,
        "realm_access": {"roles": list(bearer.roles)},
    }
    return _signed(connection, "at+jwt", claims)


def id_token(
    connection: sqlite3.Connection, issuer: EmbeddedIssuer, bearer: Bearer, client: str, nonce: str | None, now: int
) -> str:
    claims = _common_claims(connection, issuer, bearer, now) | {"aud": client, "azp": client, "typ": "ID"}
    return _signed(connection, "JWT", claims if nonce is None else claims | {"nonce": nonce})


def _common_claims(
    connection: sqlite3.Connection, issuer: EmbeddedIssuer, bearer: Bearer, now: int
) -> dict[str, object]:
    return {
        "iss": issuer.url,
        "sub": subject_of(connection, bearer.username),
        "iat": now,
        "exp": now + issuer.access_lifetime,
        "preferred_username": bearer.username,
        "name": bearer.name,
        "groups": list(bearer.groups),
        **({"amr": list(bearer.methods)} if bearer.methods else {}),
    }


class _Algorithms(JWSRegistry):
    """The algorithms of ``keys``, by the names that its key set publishes."""

    def get_alg(self, name: str) -> JWSAlgModel:
        # RFC 9864 renamed EdDSA with curve Ed25519 to "Ed25519". Clients know the old name, of which joserfc warns.
        return super().get_alg("Ed25519" if name == "EdDSA" else name)


_ALGORITHMS = _Algorithms(algorithms=("RS256", "ES256", "Ed25519"))


def _signed(connection: sqlite3.Connection, kind: str, claims: dict[str, object]) -> str:
    kid, algorithm, key = signing_key(connection)
    return jwt.encode({"alg": algorithm, "typ": kind, "kid": kid}, claims, key, registry=_ALGORITHMS)
