"""The realm ``master`` with its administrator, and the check of tokens for the administration API of ``shasta``."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.seed_data.secrets import KEYCLOAK_ADMIN, keycloak_admin_password
from csm_emulator.services.keycloak.admin.responses import Denied
from csm_emulator.services.keycloak.realm.realm import REALMS, SETTINGS, Realm
from csm_emulator.services.keycloak.realm.users import Account, Client
from csm_emulator.services.keycloak.tokens import valid_claims
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler, catching

MASTER = f"{REALMS}/master"
_CLIENT = "admin-cli"
# Keycloak's defaults, which CSM leaves in this realm.
_SETTINGS = {**SETTINGS, "access_token_lifespan": 60, "session_lifespan": 1800}


def master_realm(context: Context) -> Realm:
    admin = Account(KEYCLOAK_ADMIN, password=keycloak_admin_password(context.random))
    return Realm(
        context,
        {admin.username: admin}.get,
        {_CLIENT: Client(_CLIENT, light=True)},
        MASTER,
        "keycloak.master",
        _SETTINGS,
    )


class AdministratorCheck:
    """Requires a token of ``master``: 403 with a token of ``shasta``, 401 without a valid token."""

    def __init__(self, master: Realm, shasta: Realm) -> None:
        self._master = master
        self._shasta = shasta

    def guarded(self, handler: Handler) -> Handler:
        def handle(call: Call) -> Reply:
            self._check(call)
            return handler(call)

        return catching(handle, Denied, lambda _, denied: denied.answer())

    def _check(self, call: Call) -> None:
        kind, _, token = call.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            raise Denied(401, "HTTP 401 Unauthorized")
        if not _accepts(self._master, token, call):
            is_user_of_shasta = _accepts(self._shasta, token, call)
            raise Denied(403, "HTTP 403 Forbidden") if is_user_of_shasta else Denied(401, "HTTP 401 Unauthorized")


def _accepts(realm: Realm, token: str, call: Call) -> bool:
    claims = valid_claims(realm, token, realm.issuer(call))
    return claims is not None and realm.is_live(claims)
