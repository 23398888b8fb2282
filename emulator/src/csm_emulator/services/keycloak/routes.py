"""The routes of Keycloak."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.context import Context
from csm_emulator.services.keycloak.admin.groups import ADMIN, AdminGroups
from csm_emulator.services.keycloak.admin.master_realm import MASTER, AdministratorCheck, master_realm
from csm_emulator.services.keycloak.admin.users import AdminUsers
from csm_emulator.services.keycloak.control_api import ControlSwitches
from csm_emulator.services.keycloak.endpoints import Endpoints
from csm_emulator.services.keycloak.login.devices import Devices
from csm_emulator.services.keycloak.login.grants import Grants
from csm_emulator.services.keycloak.login.pages import AUTHENTICATE, CONSENT, DEVICE, Pages
from csm_emulator.services.keycloak.realm.groups import Groups
from csm_emulator.services.keycloak.realm.realm import PATH, Realm
from csm_emulator.services.keycloak.realm.roles import realm_roles
from csm_emulator.services.keycloak.realm.users import clients
from csm_emulator.services.keycloak.responses import json_reply
from csm_emulator.transport.call import JSON, Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route, unsupported

NO_CODE_FLOW = "the emulator has no authorization code flow; take the device flow, or the password grant"
OIDC = f"{PATH}/protocol/openid-connect"
_MASTER_TOKEN = f"{MASTER}/protocol/openid-connect/token"
_FORM_LIMIT = 1 << 20

_Row = tuple[str, str, Handler]
"""Methods, path, and handler."""


def create_service(context: Context) -> EmulatedService:
    groups = Groups(context)
    realm = Realm(context, groups.account, clients(context))
    devices = Devices(realm)
    rows = [*_realm_rows(realm, devices), *_administration(context, realm, groups)]
    return EmulatedService(
        "keycloak",
        (("/keycloak", "/keycloak"),),
        [*_routes(rows), *ControlSwitches(realm, not_found).routes()],
        not_found,
        wrong_method,
        body_limit=_FORM_LIMIT,
        # OPA allows these on auth.cmn only, another name of the same gateway; the emulator has only one name.
        open_paths=(DEVICE, f"{PATH}/login-actions/", _MASTER_TOKEN, f"{ADMIN}/"),
        restarted=devices.forget,
    )


def _realm_rows(realm: Realm, devices: Devices) -> list[_Row]:
    grants, pages = Grants(realm, devices), Pages(realm, devices)
    endpoints = Endpoints(realm, grants)
    return [
        ("GET HEAD", PATH, endpoints.describe),
        ("GET HEAD", f"{PATH}/.well-known/openid-configuration", endpoints.discover),
        ("GET HEAD", f"{OIDC}/certs", endpoints.certs),
        ("POST", f"{OIDC}/token", grants.answer),
        ("POST", f"{OIDC}/token/introspect", endpoints.introspect),
        ("GET POST", f"{OIDC}/userinfo", endpoints.userinfo),
        ("GET POST", f"{OIDC}/logout", endpoints.logout),
        ("POST", f"{OIDC}/revoke", endpoints.revoke),
        ("GET POST", f"{OIDC}/auth", unsupported(NO_CODE_FLOW, _not_implemented)),
        ("POST", f"{OIDC}/auth/device", pages.begin),
        ("GET HEAD", f"{OIDC}/auth/device", pages.verify),
        ("GET HEAD POST", DEVICE, pages.verify),
        ("POST", AUTHENTICATE, pages.authenticate),
        ("POST", CONSENT, pages.consent),
    ]


def _administration(context: Context, realm: Realm, groups: Groups) -> list[_Row]:
    master = master_realm(context)
    administrator_check = AdministratorCheck(master, realm)
    rows = [*AdminGroups(groups, realm_roles(context)).table(), *AdminUsers(realm, groups).table()]
    return [
        ("POST", _MASTER_TOKEN, Grants(master, Devices(master)).answer),
        *((methods, path, administrator_check.guarded(handler)) for methods, path, handler in rows),
    ]


def _routes(rows: Iterable[_Row]) -> Iterable[Route]:
    for methods, path, handler in rows:
        for method in methods.split():
            yield Route(method, path, handler)
            yield Route(method, f"{path}/", handler)


def _not_implemented(reason: str) -> Reply:
    return json_reply({"error": "not_implemented", "error_description": reason}, 501)


def not_found(call: Call) -> Reply:
    if not call.path.startswith("/keycloak/realms/"):
        return Reply(404, b'{"error":"Unable to find matching target resource method"}', JSON)
    in_realm = f"{call.path}/".startswith((f"{PATH}/", f"{MASTER}/"))
    return json_reply({"error": "HTTP 404 Not Found" if in_realm else "Realm does not exist"}, 404)


def wrong_method(_: Call, allowed: Sequence[str]) -> Reply:  # noqa: ARG001 (the shape of every such function)
    return json_reply({"error": "HTTP 405 Method Not Allowed"}, 405)
