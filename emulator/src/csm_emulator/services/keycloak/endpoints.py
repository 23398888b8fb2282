"""The realm's endpoints that issue no tokens: description, discovery, keys, userinfo, introspection, logout."""

from __future__ import annotations

from csm_emulator.services.keycloak.login.grants import DEVICE_CODE, Grants
from csm_emulator.services.keycloak.realm.keys import Claims
from csm_emulator.services.keycloak.realm.realm import Realm
from csm_emulator.services.keycloak.responses import (
    FRAME_POLICY,
    NO_CACHE,
    SECURITY_HEADERS,
    OAuthError,
    challenge,
    error_reply,
    form_of,
    json_reply,
    page,
)
from csm_emulator.services.keycloak.tokens import profile, valid_claims
from csm_emulator.transport.call import JSON, Call, Reply

_NO_CACHE_AT_ALL = (("Cache-Control", "no-cache, must-revalidate, no-transform, no-store"),)
_VERIFICATION = "Token verification failed"


class Endpoints:
    def __init__(self, realm: Realm, grants: Grants) -> None:
        self._realm = realm
        self._grants = grants

    def describe(self, call: Call) -> Reply:
        issuer = self._realm.issuer(call)
        description = {
            "realm": "shasta",
            "public_key": self._realm.keys.public_key(),
            "token-service": f"{issuer}/protocol/openid-connect",
            "account-service": f"{issuer}/account",
            "tokens-not-before": 0,
        }
        return json_reply(description, headers=NO_CACHE, media="application/json;charset=UTF-8")

    def discover(self, call: Call) -> Reply:
        """Only what the emulator has; the real document lists more grants and algorithms."""
        issuer = self._realm.issuer(call)
        oidc = f"{issuer}/protocol/openid-connect"
        document = {
            "issuer": issuer,
            "authorization_endpoint": f"{oidc}/auth",
            "token_endpoint": f"{oidc}/token",
            "introspection_endpoint": f"{oidc}/token/introspect",
            "userinfo_endpoint": f"{oidc}/userinfo",
            "end_session_endpoint": f"{oidc}/logout",
            "jwks_uri": f"{oidc}/certs",
            "grant_types_supported": ["client_credentials", "password", "refresh_token", DEVICE_CODE],
            "response_types_supported": ["none"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "claims_supported": ["iss", "sub", "aud", "exp", "iat", "auth_time", "name", "preferred_username"],
            "scopes_supported": ["openid", "email", "profile", "offline_access"],
            "revocation_endpoint": f"{oidc}/revoke",
            "device_authorization_endpoint": f"{oidc}/auth/device",
        }
        return json_reply(document, headers=_NO_CACHE_AT_ALL)

    def certs(self, _: Call) -> Reply:
        return Reply(200, self._realm.keys.jwks(), JSON, (*NO_CACHE, *SECURITY_HEADERS))

    def userinfo(self, call: Call) -> Reply:
        kind, _, in_header = call.headers.get("authorization", "").partition(" ")
        in_form = form_of(call).get("access_token", "")
        in_header = in_header if kind.lower() == "bearer" else ""
        if in_header and in_form:
            return challenge(400, "invalid_request", "More than one method used for including an access token")
        if not in_header and not in_form:
            return challenge(401)
        claims = valid_claims(self._realm, in_header or in_form, self._realm.issuer(call))
        if claims is None:
            return challenge(401, "invalid_token", _VERIFICATION)
        if "openid" not in str(claims.get("scope")).split():
            return challenge(403, "insufficient_scope", "Missing openid scope")
        return self._userinfo_of(claims)

    def _userinfo_of(self, claims: Claims) -> Reply:
        if self._realm.revoked(claims):
            return challenge(401, "invalid_token", _VERIFICATION)
        if "sid" in claims and self._realm.session(claims["sid"]) is None:
            return challenge(401, "invalid_token", "user_session_not_found")
        services = (client.account for client in self._realm.clients.values() if client.account)
        username = str(claims.get("preferred_username"))
        of_service = next((account for account in services if account.username == username), None)
        account = self._realm.account(username) or of_service
        if account is None:
            return challenge(401, "invalid_token", _VERIFICATION)
        userinfo = {"sub": claims.get("sub"), **profile(account)}
        return json_reply(userinfo, headers=(*NO_CACHE, ("Pragma", "no-cache")))

    def introspect(self, call: Call) -> Reply:
        form = form_of(call)
        try:
            client = self._realm.client_of(call, form)
        except OAuthError as refused:
            return error_reply(refused)
        if not client.secret:
            return error_reply(OAuthError(403, "invalid_request", "Client not allowed."))
        if "token" not in form:
            return error_reply(OAuthError(400, "invalid_request", "Token not provided."))
        claims = valid_claims(self._realm, form["token"], self._realm.issuer(call))
        # Keycloak shows a client only tokens with the client in their audience.
        if claims is None or client.id not in _audience(claims) or not self._realm.is_live(claims):
            return json_reply({"active": False}, headers=NO_CACHE)
        more = {"client_id": claims.get("azp"), "username": claims.get("preferred_username")}
        return json_reply({**claims, **more, "token_type": "Bearer", "active": True}, headers=NO_CACHE)

    def logout(self, call: Call) -> Reply:
        form = form_of(call)
        if "refresh_token" not in form:
            return page("You are logged out", "<p>No user is logged in with this browser.</p>")
        try:
            client = self._realm.client_of(call, form)
            claims = self._grants.refresh_claims(form["refresh_token"], self._realm.issuer(call), client)
        except OAuthError as refused:
            return error_reply(refused)
        self._realm.end(claims["sid"])
        return Reply(204, headers=(*NO_CACHE, *FRAME_POLICY, *SECURITY_HEADERS))

    def revoke(self, call: Call) -> Reply:
        form = form_of(call)
        try:
            client = self._realm.client_of(call, form)
        except OAuthError as refused:
            return error_reply(refused)
        if "token" not in form:
            return error_reply(OAuthError(400, "invalid_request", "Token not provided"))
        claims = self._realm.keys.unseal(form["token"]) or self._realm.keys.read(form["token"])
        if claims is None:
            return error_reply(OAuthError(200, "invalid_token", "Invalid token"))
        if claims.get("azp") != client.id:
            return error_reply(OAuthError(400, "invalid_request", "Unmatching clients"))
        if claims.get("typ") not in ("Bearer", "Refresh", "Offline"):
            return error_reply(OAuthError(400, "unsupported_token_type", "Unsupported token type"))
        if claims["typ"] == "Bearer":
            self._realm.revoke(claims)
        else:
            self._realm.end(str(claims.get("sid")))
        return Reply(200, headers=(*FRAME_POLICY, *SECURITY_HEADERS))


def _audience(claims: Claims) -> list[object]:
    audience = claims.get("aud")
    return audience if isinstance(audience, list) else [audience]
