"""Verification of the token in a request, as OPA does it, with the keys that Keycloak publishes."""

from __future__ import annotations

import base64
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import Mapping

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from csm_emulator.gateway.policy import SPIRE_ISSUERS, Claims, Headers
from csm_emulator.machine.faults.faults import Faults
from csm_emulator.records import Json, Record
from csm_emulator.services.keycloak.wall_clock import issued_at
from csm_emulator.transport.mesh import Mesh

CERTS = "/keycloak/realms/shasta/protocol/openid-connect/certs"
REALM = "/keycloak/realms/shasta"
MOST = 2048
"""Verified tokens in memory, about 4 kB each: more than a site has users and services."""

# The chart's default issuers, and the names of the local computer; any port, since clients use tunnels.
_HOSTS = r"keycloak|api-gw-service-nmn\.local|auth\.cmn\.[a-z0-9.-]+|localhost|127\.0\.0\.1|\[::1\]"
_KNOWN_ISSUER = re.compile(rf"https?://(?:{_HOSTS})(?::[0-9]{{1,5}})?{REALM}")
# Exceptions of base64, JSON and joserfc for an invalid token.
_BROKEN = (JoseError, ValueError, TypeError, KeyError, RecursionError)


class AmbiguousToken(Exception):
    """Two headers have different tokens: OPA's rule then has two results, and the request fails."""


def bearer(headers: Headers) -> str | None:
    """The token; exactly ``Bearer`` and one blank must precede it. Raises ``AmbiguousToken``."""
    tokens = set()
    parts = headers.get("authorization", "").split(" ")
    if len(parts) == 2:
        tokens.add((parts[0], parts[1]))
    forwarded = headers.get("x-forwarded-access-token")
    kind = _kind(forwarded) if forwarded else None
    if forwarded and kind is not None:
        tokens.add((kind, forwarded))
    if len(tokens) > 1:
        raise AmbiguousToken
    return next((token for kind, token in tokens if kind == "Bearer"), None)


def _kind(token: str) -> str | None:
    """The ``typ`` of the payload, which replaces the word ``Bearer`` for a forwarded token."""
    payload = _part(token, 1)
    kind = payload.get("typ") if payload else None
    return kind if isinstance(kind, str) else None


def _part(token: str, index: int) -> Record | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        payload = json.loads(base64.urlsafe_b64decode(parts[index] + "=" * (-len(parts[index]) % 4)))
    except _BROKEN:
        return None
    return payload if isinstance(payload, dict) else None


class Tokens:
    """Verifies tokens and remembers them, so that only the first use checks the signature."""

    def __init__(self, mesh: Mesh, faults: Faults) -> None:
        self._mesh = mesh
        self._faults = faults
        self._published = b""
        self._keys: dict[str, RSAKey] = {}
        self._verified: OrderedDict[str, Claims] = OrderedDict()

    def forget(self) -> None:
        """Discards keys and verified tokens; call it when Keycloak dropped a key."""
        self._published = b""
        self._keys.clear()
        self._verified.clear()

    def claims(self, token: str, base: str) -> Claims | None:
        """The claims of a valid token at the gateway with the URL ``base``; None for an invalid one."""
        claims = self._verified.get(token)
        if claims is None:
            claims = self._verify(token)
            if claims is None:
                return None
            self._remember(token, claims)
        else:
            self._verified.move_to_end(token)
        # Real time, not the machine's: clients check the expiry of tokens by their own clocks.
        return claims if self._counts(claims, time.time(), base) else None

    def _remember(self, token: str, claims: Claims) -> None:
        self._verified[token] = claims
        if len(self._verified) > MOST:
            self._verified.popitem(last=False)

    def _verify(self, token: str) -> Claims | None:
        header = _part(token, 0)
        kid = header.get("kid") if header else None
        key = self._key(kid) if isinstance(kid, str) else None
        if key is None:
            return None
        try:
            return jwt.decode(token, key, algorithms=["RS256"]).claims
        except _BROKEN:
            return None

    def _key(self, kid: str) -> RSAKey | None:
        if kid not in self._keys:
            self._fetch()
        return self._keys.get(kid)

    def _fetch(self) -> None:
        reply = self._mesh.ask("keycloak", "GET", CERTS)
        if not reply.ok or reply.body == self._published:
            return
        self._published = reply.body
        self._verified.clear()
        self._keys = {key["kid"]: RSAKey.import_key(key) for key in reply.json()["keys"] if key["use"] == "sig"}

    def _counts(self, claims: Claims, now: float, base: str) -> bool:
        if not _in_time(claims, now):
            return False
        issuer, audience = claims.get("iss"), claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        if isinstance(issuer, str) and issuer in SPIRE_ISSUERS:
            return "system-compute" in audiences
        return "shasta" in audiences and _trusted(issuer, base) and not self._called_expired(claims)

    def _called_expired(self, claims: Claims) -> bool:
        fault = self._faults.present("token-expiry", "keycloak")
        return fault is not None and issued_at(claims) < _moment(fault.facts)


def _trusted(issuer: Json, base: str) -> bool:
    return isinstance(issuer, str) and (issuer == base + REALM or _KNOWN_ISSUER.fullmatch(issuer) is not None)


def _moment(facts: Mapping[str, Json]) -> float:
    """The moment of the fault; without one it concerns all tokens."""
    moment = facts.get("before")
    return float(moment) if isinstance(moment, int | float) else math.inf


def _in_time(claims: Claims, now: float) -> bool:
    """Checks ``exp`` and ``nbf``; as in OPA, a missing claim is not checked."""
    ends, starts = claims.get("exp", math.inf), claims.get("nbf", -math.inf)
    return isinstance(ends, int | float) and isinstance(starts, int | float) and starts <= now < ends
