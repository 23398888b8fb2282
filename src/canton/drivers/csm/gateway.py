"""Calls through CSM's gateway, with one client's token; every request is limited in time and size."""

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
MAX_BYTES = 16 << 20
RENEW_BEFORE = 30.0
"""Seconds before its end at which a token is renewed."""


@dataclass(frozen=True, slots=True)
class Access:
    """The gateway's address and the client that calls. The secret is read again for every token: it may be rotated."""

    url: str
    client_id: str
    secret_file: Path
    ca: Path | None = None


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: Any


class Gateway:
    """Blocks: call it from a thread. Threads can share it; at worst two of them fetch a token at once."""

    def __init__(self, access: Access, clock: Callable[[], float] = time.monotonic) -> None:
        address = urlsplit(access.url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise InvalidSetting(f'"{access.url}" is not the address of a gateway; write https://api.example.org')
        self._access = access
        self._clock = clock
        self._trust = _trust(access.ca) if address.scheme == "https" else None
        self._token: tuple[str, float] | None = None

    def call(self, method: str, path: str, body: object = None, guard: Guard = lambda: None) -> Response:
        """One request. Raises ``TemporaryFailure`` if no response came, ``PermanentFailure`` if the account is refused.

        After a refusal the request is sent once more with a new token. That is safe: a gateway that responds with 403
        has passed nothing on.
        """
        response = self._request(method, path, body, guard)
        if response.status in (401, 403):
            self._token = None
            response = self._request(method, path, body, guard)
        if response.status in (401, 403):
            raise PermanentFailure(
                f"the site's management refuses Canton's account ({response.status}); the provider has to look",
                cause=f"{self._access.url}{path} refuses the client {self._access.client_id}; does it have the role "
                "admin in the realm shasta?",
            )
        return response

    def _request(self, method: str, path: str, body: object, guard: Guard) -> Response:
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
        response = self._send("POST", TOKEN, urlencode(form), headers, lambda: None)
        token = response.body.get("access_token") if isinstance(response.body, dict) else None
        if response.status != 200 or not isinstance(token, str):
            kind = TemporaryFailure if response.status >= 500 else PermanentFailure
            raise kind(
                f"the site's management gives Canton's account no token ({response.status}); the provider has to look",
                cause=f"{self._access.url} gives the client {self._access.client_id} no token; is the secret in "
                f"{self._access.secret_file} the one of Keycloak?",
            )
        lifetime = response.body.get("expires_in")
        return token, self._clock() + max(0.0, (lifetime if isinstance(lifetime, int | float) else 0.0) - RENEW_BEFORE)

    def _secret(self) -> str:
        try:
            return self._access.secret_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TemporaryFailure(
                "the secret of Canton's account at the site cannot be read; the provider has to look", cause=str(error)
            ) from error

    def _send(self, method: str, path: str, body: str | None, headers: Mapping[str, str], guard: Guard) -> Response:
        connection = self._connection()
        try:
            connection.connect()
            guard()
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            return Response(response.status, _read(response, path))
        except (OSError, http.client.HTTPException) as error:
            raise TemporaryFailure(
                "the site's management gave no answer",
                cause=f"{self._access.url}{path}: {str(error) or type(error).__name__}",
            ) from error
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        address = urlsplit(self._access.url)
        if self._trust is None:
            return http.client.HTTPConnection(address.hostname or "", address.port, timeout=TIMEOUT)
        return http.client.HTTPSConnection(address.hostname or "", address.port, timeout=TIMEOUT, context=self._trust)


def _read(response: http.client.HTTPResponse, path: str) -> Any:
    text = response.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise TemporaryFailure(f"a response of the site's management has more than {MAX_BYTES >> 20} MB", cause=path)
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(f"the certificates in {ca} cannot be used: {error}") from error
