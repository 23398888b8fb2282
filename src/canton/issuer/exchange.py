"""The token endpoint: a code, a refresh token, a device code or a client's own secret, for tokens."""

from __future__ import annotations

import hmac
import sqlite3
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote_plus

from canton.issuer import codes, devices, families, throttle
from canton.issuer.codes import Redemption
from canton.issuer.families import Login
from canton.issuer.forms import need
from canton.issuer.oauth import OAuthError, no_grant
from canton.issuer.settings import Client, EmbeddedIssuer
from canton.issuer.state import State, digest, tidy
from canton.issuer.tokens import Bearer, access_token, id_token, person, service_account

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
Answer = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class _Granted:
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

    def tokens(self, client: Client, form: dict[str, str]) -> Answer:
        kind = need(form, "grant_type")
        grants: dict[str, Callable[[Client, dict[str, str]], _Granted]] = {
            "authorization_code": self._by_code,
            "refresh_token": self._by_refresh_token,
            "client_credentials": self._for_itself,
            DEVICE_CODE: self._by_device_code,
        }
        if kind not in grants:
            raise OAuthError("unsupported_grant_type", f"this issuer takes {', '.join(grants)}")
        self.refuse_unless_allowed(client, "device_code" if kind == DEVICE_CODE else kind)
        return self._answer(client, grants[kind](client, form))

    def client(self, form: dict[str, str], authorization: str | None) -> Client:
        """Who calls: a public client by its name, any other with its secret, in the header or in the form."""
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

    def _check_secret(self, name: str, wanted: str, found: str) -> None:
        with self._state.transaction() as connection:
            wait = throttle.try_once(connection, f"client {name}", self._clock())
        if wait:
            raise OAuthError("invalid_client", f"too many tries; wait {wait} seconds", 429)
        if not hmac.compare_digest(digest(wanted), digest(found)):
            raise _wrong_client()
        with self._state.transaction() as connection:
            throttle.succeeded(connection, f"client {name}")

    def _by_code(self, client: Client, form: dict[str, str]) -> _Granted:
        until = self._clock() + self._issuer.login_for
        wanted = Redemption(
            need(form, "code"),
            client.id,
            form.get("redirect_uri", ""),
            form.get("code_verifier", ""),
            until if "refresh_token" in client.grants else None,
        )
        with self._state.transaction() as connection:
            redeemed = codes.redeem(connection, wanted, self._clock())
        if redeemed is None:
            raise no_grant(
                "the code is unknown, used, too old, for another client or address, or the verifier is wrong"
            )
        return _Granted(
            self._person(redeemed.login), redeemed.login.scope, redeemed.refresh_token, until, redeemed.nonce
        )

    def _by_refresh_token(self, client: Client, form: dict[str, str]) -> _Granted:
        with self._state.transaction() as connection:
            refreshed = families.rotate(connection, need(form, "refresh_token"), client.id, self._clock())
        if refreshed is None:
            raise no_grant("the refresh token is unknown, too old, or was used before")
        return _Granted(self._person(refreshed.login), refreshed.login.scope, refreshed.token, refreshed.expires_at)

    def _for_itself(self, client: Client, _: dict[str, str]) -> _Granted:
        return _Granted(service_account(client), "")

    def _by_device_code(self, client: Client, form: dict[str, str]) -> _Granted:
        until = self._clock() + self._issuer.login_for
        token = None
        with self._state.transaction() as connection:
            login = devices.poll(connection, need(form, "device_code"), client.id, self._clock())
            if isinstance(login, Login) and "refresh_token" in client.grants:
                _, token = families.start(connection, login, until)
        if isinstance(login, OAuthError):
            raise login
        return _Granted(self._person(login), login.scope, token, until)

    def _person(self, login: Login) -> Bearer:
        user = self._users.get(login.username)
        if user is None:
            raise no_grant("this person is no longer known here")
        return person(user)

    def _answer(self, client: Client, granted: _Granted) -> Answer:
        with self._state.transaction() as connection:
            tidy(connection, self._clock())
            return self._signed(connection, client, granted)

    def _signed(self, connection: sqlite3.Connection, client: Client, granted: _Granted) -> Answer:
        issuer, bearer, scope, now = self._issuer, granted.bearer, granted.scope, int(self._clock())
        answer: Answer = {
            "access_token": access_token(connection, issuer, bearer, client.id, scope, now),
            "token_type": "Bearer",
            "expires_in": issuer.access_for,
            "scope": scope,
        }
        if granted.refresh_token is not None:
            answer["refresh_token"] = granted.refresh_token
            answer["refresh_expires_in"] = int(granted.refresh_until - now)
        if "openid" in scope.split():
            answer["id_token"] = id_token(connection, issuer, bearer, client.id, granted.nonce, now)
        return answer


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
