"""The token endpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from csm_emulator.services.keycloak import wall_clock as moments
from csm_emulator.services.keycloak.login.devices import Devices
from csm_emulator.services.keycloak.realm.realm import Realm
from csm_emulator.services.keycloak.realm.users import Client
from csm_emulator.services.keycloak.responses import NO_STORE, Form, Refused, form_of, json_answer, refusal
from csm_emulator.services.keycloak.tokens import Grant, checked_scope, tokens_for
from csm_emulator.transport.call import Call, Reply

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True, slots=True)
class Asked:
    client: Client
    form: Form
    issuer: str
    address: str


class Grants:
    def __init__(self, realm: Realm, devices: Devices) -> None:
        self._realm = realm
        self._devices = devices
        self._ways: dict[str, Callable[[Asked], Grant]] = {
            "password": self._by_password,
            "client_credentials": self._by_secret,
            "refresh_token": self._by_refresh_token,
            DEVICE_CODE: self._by_device_code,
        }

    def answer(self, call: Call) -> Reply:
        try:
            return json_answer(self._tokens(call), headers=NO_STORE)
        except Refused as refused:
            return refusal(refused, NO_STORE)

    def _tokens(self, call: Call) -> dict[str, Any]:
        form = form_of(call)
        if "grant_type" not in form:
            raise Refused(400, "invalid_request", "Missing form parameter: grant_type")
        way = self._ways.get(form["grant_type"])
        if way is None:
            raise Refused(400, "unsupported_grant_type", "Unsupported grant_type")
        client = self._realm.client_of(call, form)
        if form.doubled:
            raise Refused(400, "invalid_request", "duplicated parameter")
        return tokens_for(self._realm, way(Asked(client, form, self._realm.issuer(call), call.peer)))

    def _by_password(self, asked: Asked) -> Grant:
        client, form = asked.client, asked.form
        if client.secret:
            raise Refused(400, "unauthorized_client", "Client not allowed for direct access grants")
        scope = checked_scope(form.get("scope", ""))
        if "username" not in form:
            raise Refused(401, "invalid_request", "Missing parameter: username")
        account = self._realm.log_in(form["username"], form.get("password", ""))
        if account is None:
            # 400 since Keycloak 26.7, as RFC 6749 §5.2 wants it; it was 401 before.
            raise Refused(400, "invalid_grant", "Invalid user credentials")
        session = self._realm.begin(account, client, scope)
        return Grant(account, client.id, scope, asked.issuer, "ro", session)

    def _by_secret(self, asked: Asked) -> Grant:
        account = asked.client.account
        if account is None:
            raise Refused(401, "unauthorized_client", "Public client not allowed to retrieve service account")
        scope = checked_scope(asked.form.get("scope", ""))
        return Grant(account, asked.client.id, scope, asked.issuer, "cc", address=asked.address)

    def _by_refresh_token(self, asked: Asked) -> Grant:
        """The token that was used stays good: Keycloak's default is not to revoke it."""
        form = asked.form
        if "refresh_token" not in form:
            raise Refused(400, "invalid_request", "No refresh token")
        claims = self.refresh_claims(form["refresh_token"], asked.issuer, asked.client)
        session = self._realm.session(claims["sid"])
        account = self._realm.account(session.username) if session else None
        if session is None or account is None:
            raise Refused(400, "invalid_grant", "Session not active")
        checked_scope(form.get("scope", ""))
        return Grant(account, session.client, session.scope, asked.issuer, "rt", session)

    def refresh_claims(self, token: str, issuer: str, client: Client) -> dict[str, Any]:
        """Of a refresh token that we gave to this client."""
        claims = self._realm.keys.unseal(token)
        if claims is None:
            raise Refused(400, "invalid_grant", "Invalid refresh token")
        if claims["iss"] != issuer:
            raise Refused(400, "invalid_grant", f"Invalid token issuer. Expected '{issuer}'")
        if claims.get("exp", moments.now() + 1) <= moments.now():
            raise Refused(400, "invalid_grant", "Token is not active")
        if claims["azp"] != client.id:
            description = "Invalid refresh token. Token client and authorized client don't match"
            raise Refused(400, "invalid_grant", description)
        return claims

    def _by_device_code(self, asked: Asked) -> Grant:
        if asked.client.secret:
            description = "Client not allowed OAuth 2.0 Device Authorization Grant"
            raise Refused(400, "invalid_grant", description)
        if "device_code" not in asked.form:
            raise Refused(400, "invalid_request", "Missing parameter: device_code")
        account, scope = self._devices.poll(asked.form["device_code"], asked.client.id)
        session = self._realm.begin(account, asked.client, scope, by_form=True)
        return Grant(account, asked.client.id, scope, asked.issuer, "dg", session)
