"""The claims of the realm's tokens, and the reply of the token endpoint."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass

from csm_emulator.records import Record
from csm_emulator.services.keycloak import wall_clock
from csm_emulator.services.keycloak.realm.keys import Claims
from csm_emulator.services.keycloak.realm.realm import Realm, Session
from csm_emulator.services.keycloak.realm.users import SHASTA, Account
from csm_emulator.services.keycloak.responses import OAuthError

_DEFAULT_ROLES = ("offline_access", "uma_authorization")
_ACCOUNT_ROLES = ["manage-account", "manage-account-links", "view-profile"]
_HIDDEN_SCOPES = "basic acr roles web-origins"
_OPTIONAL_SCOPES = ("address", "phone", "microprofile-jwt", "offline_access", "organization")
_SCOPES = frozenset({"openid", "profile", "email", *_HIDDEN_SCOPES.split(), *_OPTIONAL_SCOPES})
OFFLINE = "offline_access"
_ACCESS_CLAIMS = ("realm_access", "resource_access", "scope")
"""Claims of an access token that an ID token does not have."""
_LIGHT_CLAIMS = ("exp", "iat", "jti", "iss", "typ", "azp", "sid", "scope")
"""The only claims of a light access token."""


@dataclass(frozen=True, slots=True)
class Grant:
    """The account and client that tokens are issued to, and by which grant."""

    account: Account
    client: str
    scope: str
    issuer: str
    grant_code: str
    """The grant, as Keycloak puts it into the token's id: ro, rt, dg or cc."""
    session: Session | None = None
    """None for a service account."""
    address: str = ""
    """The address that a service account called from."""


def checked_scope(requested: str) -> str:
    if not _SCOPES.issuperset(requested.split()):
        raise OAuthError(400, "invalid_scope", f"Invalid scopes: {requested}")
    return scope_of(requested)


def scope_of(requested: str) -> str:
    """The granted scope for a requested one: ``profile email`` is always part of it."""
    names = requested.split()
    first = ["openid"] if "openid" in names else []
    return " ".join([*first, "profile", "email", *(name for name in _OPTIONAL_SCOPES if name in names)])


def tokens_for(realm: Realm, grant: Grant) -> Record:
    """The body of the token endpoint's reply."""
    moment, session = wall_clock.now(), grant.session
    access = _access(realm, grant, moment)
    refresh = None if session is None else _refresh(realm, grant, session, moment)
    token = realm.keys.sign(access)
    wants_identity = "openid" in grant.scope.split()
    return {
        "access_token": token,
        "expires_in": access["exp"] - access["iat"],
        "refresh_expires_in": refresh["exp"] - refresh["iat"] if refresh and "exp" in refresh else 0,
        **({"refresh_token": realm.keys.seal(refresh)} if refresh else {}),
        "token_type": "Bearer",
        **({"id_token": realm.keys.sign(_identity(realm, access, token))} if wants_identity else {}),
        "not-before-policy": 0,
        **({} if session is None else {"session_state": session.id}),
        "scope": grant.scope,
    }


def _access(realm: Realm, grant: Grant, moment: float) -> Claims:
    account, session = grant.account, grant.session
    ends = moment + realm.settings["access_token_lifespan"]
    if session is not None:
        ends = min(ends, realm.ends(session))
    light = realm.clients[grant.client].light
    auth_time = {"auth_time": int(session.started)} if session is not None and session.by_form else {}
    claims = {
        "exp": int(ends),
        "iat": int(moment),
        **auth_time,
        "jti": f"{_kind(grant)}{'lt' if light else 'rt'}{grant.grant_code}:{realm.new_id(moment)}",
        "iss": grant.issuer,
        "aud": _audience(account),
        "sub": realm.subject(account),
        "typ": "Bearer",
        "azp": grant.client,
        **({} if session is None else {"sid": session.id}),
        "acr": "1",
        "realm_access": {"roles": ["default-roles-shasta", *account.realm_roles, *_DEFAULT_ROLES]},
        "resource_access": _client_roles(account),
        "scope": grant.scope,
        **_caller(grant),
        **profile(account),
    }
    return {claim: claims[claim] for claim in _LIGHT_CLAIMS if claim in claims} if light else claims


def _kind(grant: Grant) -> str:
    """The kind of the session: transient, offline or online."""
    if grant.session is None:
        return "tr"
    return "of" if OFFLINE in grant.scope.split() else "on"


def _caller(grant: Grant) -> dict[str, str]:
    if grant.session is not None:
        return {}
    return {"clientHost": grant.address, "clientAddress": grant.address, "client_id": grant.client}


def _audience(account: Account) -> list[str]:
    return [SHASTA, *(client for client in account.client_roles if client != SHASTA), "account"]


def _client_roles(account: Account) -> dict[str, dict[str, list[str]]]:
    roles = {client: {"roles": list(names)} for client, names in account.client_roles.items()}
    return roles | {"account": {"roles": _ACCOUNT_ROLES}}


def profile(account: Account) -> Record:
    """The claims of the scopes ``profile`` and ``email`` and of the mapper of groups."""
    if not account.name:
        return {"email_verified": False, "preferred_username": account.username}
    given_name, _, family_name = account.name.partition(" ")
    return {
        "email_verified": True,
        "name": account.name,
        **({"groups": list(account.groups)} if account.groups else {}),
        "preferred_username": account.username,
        "given_name": given_name,
        "family_name": family_name,
        "email": f"{account.username}@example.org",
    }


def _refresh(realm: Realm, grant: Grant, session: Session, moment: float) -> Claims:
    offline = OFFLINE in grant.scope.split()
    light = realm.clients[grant.client].light
    return {
        **({} if offline else {"exp": int(realm.ends(session))}),
        "iat": int(moment),
        "jti": realm.new_id(moment),
        "iss": grant.issuer,
        "aud": grant.issuer,
        **({} if light else {"sub": realm.subject(grant.account)}),
        "typ": "Offline" if offline else "Refresh",
        "azp": grant.client,
        "sid": session.id,
        "scope": f"{grant.scope} {_HIDDEN_SCOPES}",
        **({} if light else {"aud_x": _audience(grant.account)}),
        "prov": "default",
    }


def _identity(realm: Realm, access: Claims, token: str) -> Claims:
    half = hashlib.sha256(token.encode()).digest()[:16]
    return {
        **{claim: value for claim, value in access.items() if claim not in _ACCESS_CLAIMS},
        "jti": realm.new_id(access["iat"]),
        "aud": access["azp"],
        "typ": "ID",
        "at_hash": base64.urlsafe_b64encode(half).rstrip(b"=").decode(),
    }


def valid_claims(realm: Realm, token: str, issuer: str) -> Claims | None:
    """The claims of a valid access token; None for others. Session and revocation are not checked."""
    claims = realm.keys.read(token)
    if claims is None or claims.get("typ") != "Bearer" or claims.get("iss") != issuer:
        return None
    ends = claims.get("exp")
    if not isinstance(ends, int | float) or ends <= wall_clock.now():
        return None
    fault = realm.context.faults.present("token-expiry", "keycloak")
    called_expired = fault is not None and wall_clock.issued_at(claims) < fault.facts.get("before", float("inf"))
    return None if called_expired else claims
