"""The token endpoint: exchanges a code, a refresh token, a device code or a client's own secret for tokens."""

from __future__ import annotations

import hmac
import sqlite3
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote_plus

from canton.issuer import codes, devices, refresh_tokens, throttle
from canton.issuer.codes import CodeRedemption
from canton.issuer.forms import require
from canton.issuer.oauth import OAuthError, invalid_grant
from canton.issuer.refresh_tokens import Login
from canton.issuer.settings import Client, EmbeddedIssuer
from canton.issuer.state import State, delete_expired, digest
from canton.issuer.tokens import Bearer, access_token, id_token, person, service_account

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
TokenResponse = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class _Grant:
    bearer: Bearer
    scope: str
    refresh_token: str | None = None
    refresh_until: float = 0
    nonce: str | None = None


class Exchange:
    def __init__(self, issuer: EmbeddedIssuer, state: State, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._state = state
        self._clock = clock
        self._users = {user.username: user for user in issuer.users}
        self._clients = {client.id: client for client in issuer.clients}

    def tokens(self, client: Client, form: dict[str, str]) -> TokenResponse:
        kind = require(form, "grant_type")
        grants: dict[str, Callable[[Client, dict[str, str]], _Grant]] = {
            "authorization_code": self._by_code,
            "refresh_token": self._by_refresh_token,
            "client_credentials": self._for_itself,
            DEVICE_CODE: self._by_device_code,
        }
        if kind not in grants:
            raise OAuthError("unsupported_grant_type", f"this issuer takes {', '.join(grants)}")
        self.refuse_unless_allowed(client, "device_code" if kind == DEVICE_CODE else kind)
        return self._respond(client, grants[kind](client, form))

    def client(self, form: dict[str, str], authorization: str | None) -> Client:
        """The calling client: a public one by its name, any other also by its secret, in the header or in the form."""
        name, secret = (
            _basic(authorization) if authorization else (form.get("client_id", ""), form.get("client_secret"))
        )
        client = self._clients.get(name)
        if client is None or (authorization and "client_secret" in form) or form.get("client_id", name) != name:
            raise _wrong_client()
        if client.secret is not None:
            self._check_secret(client.id, client.secret, secret or "")
        return client

    def refuse_unless_allowed(self, client: Client, grant: str) -> None:
        if grant not in client.grants:
            raise OAuthError("unauthorized_client", f'client "{client.id}" may not use {grant}')

    def _check_secret(self, name: str, secret: str, candidate: str) -> None:
        with self._state.transaction() as connection:
            wait = throttle.count_attempt(connection, f"client {name}", self._clock())
        if wait:
            raise OAuthError("invalid_client", f"too many attempts; wait {wait} seconds", 429)
        if not hmac.compare_digest(digest(secret), digest(candidate)):
            raise _wrong_client()
        with self._state.transaction() as connection:
            throttle.reset(connection, f"client {name}")

    def _by_code(self, client: Client, form: dict[str, str]) -> _Grant:
        until = self._clock() + self._issuer.login_lifetime
        redemption = CodeRedemption(
            require(form, "code"),
            client.id,
            form.get("redirect_uri", ""),
            form.get("code_verifier", ""),
            until if "refresh_token" in client.grants else None,
        )
        with self._state.transaction() as connection:
            code = codes.redeem(connection, redemption, self._clock())
        if code is None:
            raise invalid_grant(
                "the code is unknown, used, too old, for another client or address, or the verifier is wrong"
            )
        return _Grant(self._person(code.login), code.login.scope, code.refresh_token, until, code.nonce)

    def _by_refresh_token(self, client: Client, form: dict[str, str]) -> _Grant:
        with self._state.transaction() as connection:
            refreshed = refresh_tokens.rotate(connection, require(form, "refresh_token"), client.id, self._clock())
        if refreshed is None:
            raise invalid_grant("the refresh token is unknown, too old, or was used before")
        return _Grant(self._person(refreshed.login), refreshed.login.scope, refreshed.token, refreshed.expires_at)

    def _for_itself(self, client: Client, _: dict[str, str]) -> _Grant:
        return _Grant(service_account(client), "")

    def _by_device_code(self, client: Client, form: dict[str, str]) -> _Grant:
        until = self._clock() + self._issuer.login_lifetime
        token = None
        with self._state.transaction() as connection:
            login = devices.poll(connection, require(form, "device_code"), client.id, self._clock())
            if isinstance(login, Login) and "refresh_token" in client.grants:
                _, token = refresh_tokens.start(connection, login, until)
        if isinstance(login, OAuthError):
            raise login
        return _Grant(self._person(login), login.scope, token, until)

    def _person(self, login: Login) -> Bearer:
        user = self._users.get(login.username)
        if user is None:
            raise invalid_grant("this user no longer exists here")
        return person(user)

    def _respond(self, client: Client, grant: _Grant) -> TokenResponse:
        with self._state.transaction() as connection:
            delete_expired(connection, self._clock())
            return self._signed(connection, client, grant)

    def _signed(self, connection: sqlite3.Connection, client: Client, grant: _Grant) -> TokenResponse:
        issuer, bearer, scope, now = self._issuer, grant.bearer, grant.scope, int(self._clock())
        response: TokenResponse = {
            "access_token": access_token(connection, issuer, bearer, client.id, scope, now),
            "token_type": "Bearer",
            "expires_in": issuer.access_lifetime,
            "scope": scope,
        }
        if grant.refresh_token is not None:
            response["refresh_token"] = grant.refresh_token
            response["refresh_expires_in"] = int(grant.refresh_until - now)
        if "openid" in scope.split():
            response["id_token"] = id_token(connection, issuer, bearer, client.id, grant.nonce, now)
        return response


def _basic(authorization: str) -> tuple[str, str]:
    """RFC 6749 §2.3.1: both halves are form-encoded before base64."""
    scheme, _, coded = authorization.partition(" ")
    try:
        name, _, secret = b64decode(coded, validate=True).decode().partition(":")
    except ValueError:
        raise _wrong_client() from None
    if scheme.lower() != "basic":
        raise _wrong_client()
    return unquote_plus(name), unquote_plus(secret)


def _wrong_client() -> OAuthError:
    return OAuthError("invalid_client", "the client is unknown or its secret is wrong", 401)
