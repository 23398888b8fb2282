"""Tokens: made by a login or by another token, renewed, revoked, and over when their time is."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import vault_root
from csm_emulator.services.vault.auth.policies import DEFAULT, ROOT
from csm_emulator.services.vault.responses import PERMISSION_DENIED, Refusal
from csm_emulator.state.clock import rfc3339
from csm_emulator.transport.call import Call

LONGEST = 2_764_800
"""768 hours, Vault's own."""
INVALID = "2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n"


@dataclass(frozen=True, slots=True)
class Wanted:
    policies: tuple[str, ...]
    ttl: int
    path: str
    display_name: str
    role: str = ""
    renewable: bool = True
    orphan: bool = True


class Tokens:
    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._random = context.random
        self._scheduler = context.scheduler
        self._table = context.tables.open("vault.tokens")
        """By a hash: who reads the state file has no token."""
        self._count = context.tables.open("vault.tokens.count", {"count": 0})
        context.scheduler.register("vault.token", self._expire)

    def create(self, wanted: Wanted) -> Json:
        """What the one who asked is told of it."""
        number = self._count["count"] + 1
        self._count["count"] = number
        token = f"hvs.{self._random.hex(64, 'vault.token', number)}"
        now = self._clock.now()
        ttl = min(wanted.ttl, LONGEST) or LONGEST
        policies = sorted({DEFAULT, *wanted.policies}) if ROOT not in wanted.policies else [ROOT]
        self._table[_mark(token)] = {
            "accessor": self._random.hex(24, "vault.accessor", number),
            "policies": policies,
            "created": now,
            "ends": now + ttl,
            "ttl": ttl,
            "path": wanted.path,
            "display_name": wanted.display_name,
            "role": wanted.role,
            "renewable": wanted.renewable,
            "orphan": wanted.orphan,
        }
        self._scheduler.at(now + ttl, "vault.token", _mark(token))
        return self._auth(token, self._table[_mark(token)], ttl)

    def of(self, call: Call) -> str:
        """The token of a request, if it counts."""
        token = call.headers.get("x-vault-token", "")
        word, _, rest = call.headers.get("authorization", "").partition(" ")
        if not token and word.lower() == "bearer":
            token = rest.strip()
        if not token:
            raise Refusal(403, PERMISSION_DENIED)
        if self.policies(token) is None:
            raise Refusal(403, INVALID)
        return token

    def policies(self, token: str) -> list[str] | None:
        """None for a token that does not count."""
        if self._is_root(token):
            return [ROOT]
        kept = self._table.get(_mark(token))
        return list(kept["policies"]) if kept and kept["ends"] > self._clock.now() else None

    def shown(self, token: str) -> Json:
        """As ``lookup`` tells it; raises for one that does not count."""
        if self._is_root(token):
            return _root(token, self._random.hex(24, "vault.accessor", 0))
        if self.policies(token) is None:
            raise Refusal(403, "bad token")
        kept = self._table[_mark(token)]
        return {
            "accessor": kept["accessor"],
            "creation_time": int(kept["created"]),
            "creation_ttl": kept["ttl"],
            "display_name": kept["display_name"],
            "entity_id": "",
            "expire_time": rfc3339(kept["ends"]),
            "explicit_max_ttl": 0,
            "id": token,
            "issue_time": rfc3339(kept["created"]),
            "meta": {"role": kept["role"]} if kept["role"] else None,
            "num_uses": 0,
            "orphan": kept["orphan"],
            "path": kept["path"],
            "policies": kept["policies"],
            "renewable": kept["renewable"],
            "ttl": int(kept["ends"] - self._clock.now()),
            "type": "service",
        }

    def renew(self, token: str, increment: int) -> Json:
        """From now on; never longer in all than the longest."""
        if self._is_root(token):
            raise Refusal(400, "lease is not renewable")
        if self.policies(token) is None:
            raise Refusal(403, "bad token")
        kept = self._table[_mark(token)]
        if not kept["renewable"]:
            raise Refusal(400, "lease is not renewable")
        now = self._clock.now()
        ends = min(now + (increment or kept["ttl"]), kept["created"] + LONGEST)
        self._table[_mark(token)] = {**kept, "ends": ends}
        self._scheduler.at(ends, "vault.token", _mark(token))
        return self._auth(token, kept, int(ends - now))

    def revoke(self, token: str) -> None:
        """One that is not there is revoked already. Nobody can lose the root token, or the machine would be shut."""
        self._table.pop(_mark(token), None)

    def _expire(self, mark: str) -> None:
        kept = self._table.get(mark)
        if kept is not None and kept["ends"] <= self._clock.now():
            del self._table[mark]

    def _is_root(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), vault_root(self._random).encode())

    def _auth(self, token: str, kept: Json, ttl: int) -> Json:
        return {
            "client_token": token,
            "accessor": kept["accessor"],
            "policies": kept["policies"],
            "token_policies": kept["policies"],
            "metadata": {"role": kept["role"]} if kept["role"] else None,
            "lease_duration": ttl,
            "renewable": kept["renewable"],
            "entity_id": "",
            "token_type": "service",
            "orphan": kept["orphan"],
            "mfa_requirement": None,
            "num_uses": 0,
        }


def _mark(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _root(token: str, accessor: str) -> Json:
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
