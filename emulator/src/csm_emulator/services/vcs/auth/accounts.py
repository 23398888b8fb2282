"""Who asks: the user by password, or by a token of his."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.dialects.go_json.types import STRING, struct
from csm_emulator.records import Json
from csm_emulator.seed_data.secrets import VCS_USER, vcs_password, vcs_token
from csm_emulator.services.vcs.responses import Refusal, form, not_found, page, told
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

USER_ID = 1
EMAIL = "crayvcs@cray.local"
_CREATE = struct("structs.CreateAccessTokenOption", {"name": STRING})


@dataclass(frozen=True, slots=True)
class Caller:
    name: str
    by_password: bool


class Accounts:
    def __init__(self, context: Context) -> None:
        self._random = context.random
        first = vcs_token(context.random)
        self._tokens = context.tables.open("vcs.tokens", {"1": _token(1, "canton", first)})
        self._numbers = context.tables.open("vcs.tokens.count", {"count": 1})

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/api/v1/users/{username}/tokens", self.list_tokens),
            Route("POST", "/api/v1/users/{username}/tokens", self.create_token),
            Route("DELETE", "/api/v1/users/{username}/tokens/{token}", self.delete_token),
        ]

    def caller(self, call: Call) -> Caller | None:
        """None for nobody, and for somebody whose password or token is wrong."""
        scheme, _, rest = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() in ("token", "bearer"):
            return self._by_token(rest.strip())
        if scheme.lower() == "basic":
            return self._by_basic(rest.strip())
        given = call.first("token") or call.first("access_token")
        return self._by_token(given) if given else None

    def require(self, call: Call) -> Caller:
        caller = self.caller(call)
        if caller is None:
            raise Refusal(401, "token is required")
        return caller

    def _by_basic(self, encoded: str) -> Caller | None:
        try:
            name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return None
        by_token = self._by_token(name if password in ("", "x-oauth-basic") else password)
        if by_token is not None:
            return by_token
        known = _same(password, vcs_password(self._random)) and name.lower() == VCS_USER
        return Caller(VCS_USER, by_password=True) if known else None

    def _by_token(self, token: str) -> Caller | None:
        mark = _mark(token)
        known = any(_same(mark, kept["mark"]) for kept in self._tokens.values())
        return Caller(VCS_USER, by_password=False) if known else None

    def list_tokens(self, call: Call) -> Reply:
        self._require_own(call)
        shown, headers = page(call, [_shown(kept) for kept in self._tokens.values()])
        return told(shown, headers=headers)

    def create_token(self, call: Call) -> Reply:
        self._require_own(call)
        name = form(call, _CREATE, "name")["name"]
        if any(kept["name"] == name for kept in self._tokens.values()):
            raise Refusal(400, "access token name has been used already")
        number = self._numbers["count"] + 1
        self._numbers["count"] = number
        token = self._random.hex(40, "vcs.token", number)
        self._tokens[str(number)] = _token(number, name, token)
        return told({**_shown(self._tokens[str(number)]), "sha1": token}, 201)

    def delete_token(self, call: Call) -> Reply:
        """By number, or by name."""
        self._require_own(call)
        wanted = call.args["token"]
        key = next((key for key, kept in self._tokens.items() if wanted in (key, kept["name"])), None)
        if key is None:
            raise not_found()
        del self._tokens[key]
        return Reply(204)

    def _require_own(self, call: Call) -> None:
        """A token cannot make another."""
        caller = self.caller(call)
        if caller is None or not caller.by_password:
            raise Refusal(401, "auth required")
        if call.args["username"].lower() != VCS_USER:
            raise not_found()


def user(base: str) -> Json:
    return {
        "id": USER_ID,
        "login": VCS_USER,
        "full_name": "",
        "email": EMAIL,
        "avatar_url": f"{base}/avatars/{hashlib.sha256(EMAIL.encode()).hexdigest()}",
        "language": "en-US",
        "is_admin": True,
        "last_login": "1970-01-01T00:00:00Z",
        "created": "2025-01-01T10:00:00Z",
        "restricted": False,
        "active": True,
        "prohibit_login": False,
        "location": "",
        "website": "",
        "description": "",
        "visibility": "public",
        "followers_count": 0,
        "following_count": 0,
        "starred_repos_count": 0,
        "username": VCS_USER,
    }


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _mark(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _token(number: int, name: str, token: str) -> Json:
    return {"id": number, "name": name, "mark": _mark(token), "last": token[-8:]}


def _shown(kept: Json) -> Json:
    return {"id": kept["id"], "name": kept["name"], "sha1": "", "token_last_eight": kept["last"]}
