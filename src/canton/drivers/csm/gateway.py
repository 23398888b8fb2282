"""Calls through CSM's gateway: one client, its token, one bounded request at a time."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from canton.contracts.guard import Guard
from canton.domain.errors import InvalidSetting, PermanentFailure, TemporaryFailure

TOKEN = "/keycloak/realms/shasta/protocol/openid-connect/token"  # noqa: S105 (a path)
TIMEOUT = 20.0
# A power status has about 250 bytes a node: room for 60,000 of them.
LARGEST = 16 << 20
EARLY = 30.0
"""A token is renewed so many seconds before its end."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the gateway is and who calls. The secret is read anew for every token: it may be rotated."""

    url: str
    client_id: str
    secret_file: Path
    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any


class Gateway:
    """Blocking: call it from a thread. Safe to share between threads, at worst two fetch a token at once."""

    def __init__(self, access: Access, clock: Callable[[], float] = time.monotonic) -> None:
        place = urlsplit(access.url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise InvalidSetting(f'"{access.url}" is not the address of a gateway; write https://api.example.org')
        self._access = access
        self._clock = clock
        self._trust = _trust(access.ca) if place.scheme == "https" else None
        self._token: tuple[str, float] | None = None

    def call(self, method: str, path: str, body: object = None, guard: Guard = lambda: None) -> Answer:
        """One request. Raises ``TemporaryFailure`` when no answer came, ``PermanentFailure`` when we may not ask.

        A token that was refused is thrown away, and the request is sent once more with a new one: a gateway that says
        403 has passed nothing on.
        """
        answer = self._ask(method, path, body, guard)
        if answer.status in (401, 403):
            self._token = None
            answer = self._ask(method, path, body, guard)
        if answer.status in (401, 403):
            raise PermanentFailure(
                f"the site's management refuses Canton's account ({answer.status}); the provider has to look",
                cause=f"{self._access.url}{path} refuses the client {self._access.client_id}; does it have the role "
                "admin in the realm shasta?",
            )
        return answer

    def _ask(self, method: str, path: str, body: object, guard: Guard) -> Answer:
        headers = {"Authorization": f"Bearer {self._current_token()}", "Content-Type": "application/json"}
        return self._send(method, path, None if body is None else json.dumps(body), headers, guard)

    def _current_token(self) -> str:
        if self._token is None or self._clock() > self._token[1]:
            self._token = self._new_token()
        return self._token[0]

    def _new_token(self) -> tuple[str, float]:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._access.client_id,
            "client_secret": self._secret(),
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self._send("POST", TOKEN, urlencode(form), headers, lambda: None)
        token = answer.body.get("access_token") if isinstance(answer.body, dict) else None
        if answer.status != 200 or not isinstance(token, str):
            kind = TemporaryFailure if answer.status >= 500 else PermanentFailure
            raise kind(
                f"the site's management gives Canton's account no token ({answer.status}); the provider has to look",
                cause=f"{self._access.url} gives the client {self._access.client_id} no token; is the secret in "
                f"{self._access.secret_file} the one of Keycloak?",
            )
        lasts = answer.body.get("expires_in")
        return token, self._clock() + max(0.0, (lasts if isinstance(lasts, int | float) else 0.0) - EARLY)

    def _secret(self) -> str:
        try:
            return self._access.secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TemporaryFailure(
                "the secret of Canton's account at the site cannot be read; the provider has to look", cause=str(error)
            ) from error

    def _send(self, method: str, path: str, body: str | None, headers: Mapping[str, str], guard: Guard) -> Answer:
        connection = self._connection()
        try:
            connection.connect()
            guard()
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return Answer(answer.status, _read(answer, path))
        except (OSError, http.client.HTTPException) as error:
            raise TemporaryFailure(
                "the site's management gave no answer",
                cause=f"{self._access.url}{path}: {str(error) or type(error).__name__}",
            ) from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        place = urlsplit(self._access.url)
        if self._trust is None:
            return http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT)
        return http.client.HTTPSConnection(place.hostname or "", place.port, timeout=TIMEOUT, context=self._trust)


def _read(answer: http.client.HTTPResponse, path: str) -> Any:
    text = answer.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise TemporaryFailure(f"an answer of the site's management has more than {LARGEST >> 20} MB", cause=path)
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(f"the certificates in {ca} cannot be used: {error}") from error
