"""Authentication: the user by password or by access token."""

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
from csm_emulator.services.vcs.responses import ApiError, gitea_reply, not_found, page, read_body
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
        """The caller; None for an anonymous request and for a wrong password or token."""
        scheme, _, credentials = call.headers.get("authorization", "").partition(" ")
        if scheme.lower() in ("token", "bearer"):
            return self._by_token(credentials.strip())
        if scheme.lower() == "basic":
            return self._by_basic(credentials.strip())
        token = call.first("token") or call.first("access_token")
        return self._by_token(token) if token else None

    def require(self, call: Call) -> Caller:
        caller = self.caller(call)
        if caller is None:
            raise ApiError(401, "token is required")
        return caller

    def _by_basic(self, encoded: str) -> Caller | None:
        try:
            name, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            return None
        by_token = self._by_token(name if password in ("", "x-oauth-basic") else password)
        if by_token is not None:
            return by_token
        valid = _same(password, vcs_password(self._random)) and name.lower() == VCS_USER
        return Caller(VCS_USER, by_password=True) if valid else None

    def _by_token(self, token: str) -> Caller | None:
        token_hash = _hash(token)
        valid = any(_same(token_hash, record["mark"]) for record in self._tokens.values())
        return Caller(VCS_USER, by_password=False) if valid else None

    def list_tokens(self, call: Call) -> Reply:
        self._require_own(call)
        page_items, headers = page(call, [_token_document(record) for record in self._tokens.values()])
        return gitea_reply(page_items, headers=headers)

    def create_token(self, call: Call) -> Reply:
        self._require_own(call)
        name = read_body(call, _CREATE, "name")["name"]
        if any(record["name"] == name for record in self._tokens.values()):
            raise ApiError(400, "access token name has been used already")
        number = self._numbers["count"] + 1
        self._numbers["count"] = number
        token = self._random.hex(40, "vcs.token", number)
        self._tokens[str(number)] = _token(number, name, token)
        return gitea_reply({**_token_document(self._tokens[str(number)]), "sha1": token}, 201)

    def delete_token(self, call: Call) -> Reply:
        """Delete a token by its number or its name."""
        self._require_own(call)
        identifier = call.args["token"]
        key = next((key for key, record in self._tokens.items() if identifier in (key, record["name"])), None)
        if key is None:
            raise not_found()
        del self._tokens[key]
        return Reply(204)

    def _require_own(self, call: Call) -> None:
        """Tokens can be managed with the password only, not with a token."""
        caller = self.caller(call)
        if caller is None or not caller.by_password:
            raise ApiError(401, "auth required")
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


def _same(received: str, expected: str) -> bool:
    return hmac.compare_digest(received.encode("utf-8", "replace"), expected.encode())


def _hash(token: str) -> str:
    """The hash of a token; the token itself is not stored."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _token(number: int, name: str, token: str) -> Json:
    return {"id": number, "name": name, "mark": _hash(token), "last": token[-8:]}


def _token_document(record: Json) -> Json:
    return {"id": record["id"], "name": record["name"], "sha1": "", "token_last_eight": record["last"]}
