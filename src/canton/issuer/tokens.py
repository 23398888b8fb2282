"""What the issuer signs: access tokens (RFC 9068) with the claims that Keycloak's have, and ID tokens."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from joserfc.jws import JWSRegistry
from joserfc.util import json_b64encode, urlsafe_b64encode

from canton.issuer.keys import signing_key
from canton.issuer.settings import SERVICE_ACCOUNT, Client, EmbeddedIssuer, User
from canton.issuer.subjects import subject_of


@dataclass(frozen=True, slots=True)
class Bearer:
    """Whom a token speaks for; ``methods`` is how a person logged in (RFC 8176), and empty for a client."""

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
    claims = _about(connection, issuer, bearer, now) | {
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
    claims = _about(connection, issuer, bearer, now) | {"aud": client, "azp": client, "typ": "ID"}
    return _signed(connection, "JWT", claims if nonce is None else claims | {"nonce": nonce})


def _about(connection: sqlite3.Connection, issuer: EmbeddedIssuer, bearer: Bearer, now: int) -> dict[str, object]:
    return {
        "iss": issuer.url,
        "sub": subject_of(connection, bearer.username),
        "iat": now,
        "exp": now + issuer.access_for,
        "preferred_username": bearer.username,
        "name": bearer.name,
        "groups": list(bearer.groups),
        **({"amr": list(bearer.methods)} if bearer.methods else {}),
    }


def _signed(connection: sqlite3.Connection, kind: str, claims: Mapping[str, object]) -> str:
    kid, algorithm, key = signing_key(connection)
    header = json_b64encode({"alg": algorithm, "typ": kind, "kid": kid})
    payload = urlsafe_b64encode(json.dumps(claims, separators=(",", ":")).encode())
    signed = header + b"." + payload
    # Not by joserfc's own door: it warns for every EdDSA token that RFC 9864 has a newer name for it.
    signature = JWSRegistry.algorithms[algorithm].sign(signed, key)
    return (signed + b"." + urlsafe_b64encode(signature)).decode()
