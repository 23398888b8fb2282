"""Tokens: created by a login or with another token, renewed, revoked, expired."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.seed_data.secrets import vault_root
from csm_emulator.services.vault.auth.policies import DEFAULT, ROOT
from csm_emulator.services.vault.responses import PERMISSION_DENIED, Refusal
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call

MAX_TTL = 2_764_800
"""Seconds: Vault's default of 768 hours."""
INVALID = "2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"


@dataclass(frozen=True, slots=True)
class TokenSpecification:
    policies: tuple[str, ...]
    ttl: int
    path: str
    display_name: str
    role: str = ""
    renewable: bool = True
    orphan: bool = True


class TokenRecord(TypedDict):
    accessor: str
    policies: list[str]
    created: float
    ends: float
    ttl: int
    path: str
    display_name: str
    role: str
    renewable: bool
    orphan: bool


class Tokens:
    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._random = context.random
        self._scheduler = context.scheduler
        self._table: RecordTable[TokenRecord] = context.tables.open("vault.tokens")
        """By a hash of the token, so that the state file contains no token."""
        self._count = context.tables.open("vault.tokens.count", {"count": 0})
        context.scheduler.register("vault.token", self._expire)

    def create(self, specification: TokenSpecification) -> Json:
        """Creates a token. Returns the ``auth`` object of the reply, which has the token."""
        number = self._count["count"] + 1
        self._count["count"] = number
        token = f"hvs.{self._random.hex(64, 'vault.token', number)}"
        now = self._clock.now()
        ttl = min(specification.ttl, MAX_TTL) or MAX_TTL
        policies = sorted({DEFAULT, *specification.policies}) if ROOT not in specification.policies else [ROOT]
        self._table[_digest(token)] = {
            "accessor": self._random.hex(24, "vault.accessor", number),
            "policies": policies,
            "created": now,
            "ends": now + ttl,
            "ttl": ttl,
            "path": specification.path,
            "display_name": specification.display_name,
            "role": specification.role,
            "renewable": specification.renewable,
            "orphan": specification.orphan,
        }
        self._scheduler.at(now + ttl, "vault.token", _digest(token))
        return self._auth(token, self._table[_digest(token)], ttl)

    def of(self, call: Call) -> str:
        """The token of a request. Raises ``Refusal`` when it is missing or invalid."""
        token = call.headers.get("x-vault-token", "")
        scheme, _, credentials = call.headers.get("authorization", "").partition(" ")
        if not token and scheme.lower() == "bearer":
            token = credentials.strip()
        if not token:
            raise Refusal(403, PERMISSION_DENIED)
        if self.policies(token) is None:
            raise Refusal(403, INVALID)
        return token

    def policies(self, token: str) -> list[str] | None:
        """The names of its policies; None for an invalid token."""
        if self._is_root(token):
            return [ROOT]
        record = self._table.get(_digest(token))
        return list(record["policies"]) if record and record["ends"] > self._clock.now() else None

    def lookup(self, token: str) -> Json:
        """The data of ``lookup``. Raises ``Refusal`` for an invalid token."""
        if self._is_root(token):
            return _root_view(token, self._random.hex(24, "vault.accessor", 0))
        if self.policies(token) is None:
            raise Refusal(403, "bad token")
        record = self._table[_digest(token)]
        return {
            "accessor": record["accessor"],
            "creation_time": int(record["created"]),
            "creation_ttl": record["ttl"],
            "display_name": record["display_name"],
            "entity_id": "",
            "expire_time": rfc3339(record["ends"]),
            "explicit_max_ttl": 0,
            "id": token,
            "issue_time": rfc3339(record["created"]),
            "meta": {"role": record["role"]} if record["role"] else None,
            "num_uses": 0,
            "orphan": record["orphan"],
            "path": record["path"],
            "policies": record["policies"],
            "renewable": record["renewable"],
            "ttl": int(record["ends"] - self._clock.now()),
            "type": "service",
        }

    def renew(self, token: str, increment: int) -> Json:
        """Renews from now on, up to ``MAX_TTL`` after the creation."""
        if self._is_root(token):
            raise Refusal(400, "lease is not renewable")
        if self.policies(token) is None:
            raise Refusal(403, "bad token")
        record = self._table[_digest(token)]
        if not record["renewable"]:
            raise Refusal(400, "lease is not renewable")
        now = self._clock.now()
        ends = min(now + (increment or record["ttl"]), record["created"] + MAX_TTL)
        self._table[_digest(token)] = {**record, "ends": ends}
        self._scheduler.at(ends, "vault.token", _digest(token))
        return self._auth(token, record, int(ends - now))

    def revoke(self, token: str) -> None:
        """An unknown token counts as revoked. The root token cannot be revoked, since the machine needs it."""
        self._table.pop(_digest(token), None)

    def _expire(self, digest: str) -> None:
        record = self._table.get(digest)
        if record is not None and record["ends"] <= self._clock.now():
            del self._table[digest]

    def _is_root(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), vault_root(self._random).encode())

    def _auth(self, token: str, record: TokenRecord, ttl: int) -> Json:
        return {
            "client_token": token,
            "accessor": record["accessor"],
            "policies": record["policies"],
            "token_policies": record["policies"],
            "metadata": {"role": record["role"]} if record["role"] else None,
            "lease_duration": ttl,
            "renewable": record["renewable"],
            "entity_id": "",
            "token_type": "service",
            "orphan": record["orphan"],
            "mfa_requirement": None,
            "num_uses": 0,
        }


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _root_view(token: str, accessor: str) -> Json:
    return {
        "accessor": accessor,
        "creation_time": 0,
        "creation_ttl": 0,
        "display_name": "root",
        "entity_id": "",
        "expire_time": None,
        "explicit_max_ttl": 0,
        "id": token,
        "meta": None,
        "num_uses": 0,
        "orphan": True,
        "path": "auth/token/root",
        "policies": [ROOT],
        "ttl": 0,
        "type": "service",
    }
