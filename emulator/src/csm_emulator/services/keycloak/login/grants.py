"""The token endpoint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from csm_emulator.records import Record
from csm_emulator.services.keycloak import wall_clock
from csm_emulator.services.keycloak.login.devices import Devices
from csm_emulator.services.keycloak.realm.realm import Realm
from csm_emulator.services.keycloak.realm.users import Client
from csm_emulator.services.keycloak.responses import NO_STORE, Form, OAuthError, error_reply, form_of, json_reply
from csm_emulator.services.keycloak.tokens import Grant, checked_scope, tokens_for
from csm_emulator.transport.call import Call, Reply

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"


@dataclass(frozen=True, slots=True)
class TokenRequest:
    client: Client
    form: Form
    issuer: str
    address: str


class Grants:
    def __init__(self, realm: Realm, devices: Devices) -> None:
        self._realm = realm
        self._devices = devices
        self._handlers: dict[str, Callable[[TokenRequest], Grant]] = {
            "password": self._by_password,
            "client_credentials": self._by_secret,
            "refresh_token": self._by_refresh_token,
            DEVICE_CODE: self._by_device_code,
        }

    def answer(self, call: Call) -> Reply:
        try:
            return json_reply(self._tokens(call), headers=NO_STORE)
        except OAuthError as refused:
            return error_reply(refused, NO_STORE)

    def _tokens(self, call: Call) -> Record:
        form = form_of(call)
        if "grant_type" not in form:
            raise OAuthError(400, "invalid_request", "Missing form parameter: grant_type")
        handler = self._handlers.get(form["grant_type"])
        if handler is None:
            raise OAuthError(400, "unsupported_grant_type", "Unsupported grant_type")
        client = self._realm.client_of(call, form)
        if form.doubled:
            raise OAuthError(400, "invalid_request", "duplicated parameter")
        return tokens_for(self._realm, handler(TokenRequest(client, form, self._realm.issuer(call), call.peer)))

    def _by_password(self, request: TokenRequest) -> Grant:
        client, form = request.client, request.form
        if client.secret:
            raise OAuthError(400, "unauthorized_client", "Client not allowed for direct access grants")
        scope = checked_scope(form.get("scope", ""))
        if "username" not in form:
            raise OAuthError(401, "invalid_request", "Missing parameter: username")
        account = self._realm.log_in(form["username"], form.get("password", ""))
        if account is None:
            # 400 since Keycloak 26.7, as RFC 6749 §5.2 requires; 401 before.
            raise OAuthError(400, "invalid_grant", "Invalid user credentials")
        session = self._realm.begin(account, client, scope)
        return Grant(account, client.id, scope, request.issuer, "ro", session)

    def _by_secret(self, request: TokenRequest) -> Grant:
        account = request.client.account
        if account is None:
            raise OAuthError(401, "unauthorized_client", "Public client not allowed to retrieve service account")
        scope = checked_scope(request.form.get("scope", ""))
        return Grant(account, request.client.id, scope, request.issuer, "cc", address=request.address)

    def _by_refresh_token(self, request: TokenRequest) -> Grant:
        """The used refresh token stays valid: Keycloak does not revoke it by default."""
        form = request.form
        if "refresh_token" not in form:
            raise OAuthError(400, "invalid_request", "No refresh token")
        claims = self.refresh_claims(form["refresh_token"], request.issuer, request.client)
        session = self._realm.session(claims["sid"])
        account = self._realm.account(session.username) if session else None
        if session is None or account is None:
            raise OAuthError(400, "invalid_grant", "Session not active")
        checked_scope(form.get("scope", ""))
        return Grant(account, session.client, session.scope, request.issuer, "rt", session)

    def refresh_claims(self, token: str, issuer: str, client: Client) -> Record:
        """The claims of a refresh token that was issued to this client. Raises ``OAuthError``."""
        claims = self._realm.keys.unseal(token)
        if claims is None:
            raise OAuthError(400, "invalid_grant", "Invalid refresh token")
        if claims["iss"] != issuer:
            raise OAuthError(400, "invalid_grant", f"Invalid token issuer. Expected '{issuer}'")
        if claims.get("exp", wall_clock.now() + 1) <= wall_clock.now():
            raise OAuthError(400, "invalid_grant", "Token is not active")
        if claims["azp"] != client.id:
            description = "Invalid refresh token. Token client and authorized client don't match"
            raise OAuthError(400, "invalid_grant", description)
        return claims

    def _by_device_code(self, request: TokenRequest) -> Grant:
        if request.client.secret:
            description = "Client not allowed OAuth 2.0 Device Authorization Grant"
            raise OAuthError(400, "invalid_grant", description)
        if "device_code" not in request.form:
            raise OAuthError(400, "invalid_request", "Missing parameter: device_code")
        account, scope = self._devices.poll(request.form["device_code"], request.client.id)
        session = self._realm.begin(account, request.client, scope, by_form=True)
        return Grant(account, request.client.id, scope, request.issuer, "dg", session)
