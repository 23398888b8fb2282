"""Keycloak on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from csm_emulator.context import Context
from csm_emulator.services.keycloak.admin.groups import ADMIN, AdminGroups
from csm_emulator.services.keycloak.admin.master_realm import MASTER, Gate, master_realm
from csm_emulator.services.keycloak.admin.users import AdminUsers
from csm_emulator.services.keycloak.control_switches import Side
from csm_emulator.services.keycloak.endpoints import Endpoints
from csm_emulator.services.keycloak.login.devices import Devices
from csm_emulator.services.keycloak.login.grants import Grants
from csm_emulator.services.keycloak.login.pages import AUTHENTICATE, CONSENT, DEVICE, Pages
from csm_emulator.services.keycloak.realm.groups import Groups
from csm_emulator.services.keycloak.realm.realm import PATH, Realm
from csm_emulator.services.keycloak.realm.roles import realm_roles
from csm_emulator.services.keycloak.realm.users import clients
from csm_emulator.services.keycloak.responses import json_answer
from csm_emulator.transport.call import JSON, Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route, unsupported

NO_CODE_FLOW = "the emulator has no authorization code flow; take the device flow, or the password grant"
OIDC = f"{PATH}/protocol/openid-connect"
_MASTER_TOKEN = f"{MASTER}/protocol/openid-connect/token"
_FORM_LIMIT = 1 << 20

_Row = tuple[str, str, Handler]
"""Methods, path, and who answers."""


def create_service(context: Context) -> EmulatedService:
    groups = Groups(context)
    realm = Realm(context, groups.account, clients(context))
    devices = Devices(realm)
    rows = [*_rows(realm, devices), *_administration(context, realm, groups)]
    return EmulatedService(
        "keycloak",
        (("/keycloak", "/keycloak"),),
        [*_routes(rows), *Side(realm, not_found).routes()],
        not_found,
        wrong_method,
        body_limit=_FORM_LIMIT,
        # OPA knows them on auth.cmn alone, which is another name of the same gateway; a laptop has only one name.
        open_paths=(DEVICE, f"{PATH}/login-actions/", _MASTER_TOKEN, f"{ADMIN}/"),
        restarted=devices.forget,
    )


def _rows(realm: Realm, devices: Devices) -> list[_Row]:
    grants, pages = Grants(realm, devices), Pages(realm, devices)
    told = Endpoints(realm, grants)
    return [
        ("GET HEAD", PATH, told.describe),
        ("GET HEAD", f"{PATH}/.well-known/openid-configuration", told.discover),
        ("GET HEAD", f"{OIDC}/certs", told.certs),
        ("POST", f"{OIDC}/token", grants.answer),
        ("POST", f"{OIDC}/token/introspect", told.introspect),
        ("GET POST", f"{OIDC}/userinfo", told.userinfo),
        ("GET POST", f"{OIDC}/logout", told.logout),
        ("POST", f"{OIDC}/revoke", told.revoke),
        ("GET POST", f"{OIDC}/auth", unsupported(NO_CODE_FLOW, _not_implemented)),
        ("POST", f"{OIDC}/auth/device", pages.begin),
        ("GET HEAD", f"{OIDC}/auth/device", pages.verify),
        ("GET HEAD POST", DEVICE, pages.verify),
        ("POST", AUTHENTICATE, pages.authenticate),
        ("POST", CONSENT, pages.consent),
    ]


def _administration(context: Context, realm: Realm, groups: Groups) -> list[_Row]:
    master = master_realm(context)
    gate = Gate(master, realm)
    asked = [*AdminGroups(groups, realm_roles(context)).table(), *AdminUsers(realm, groups).table()]
    return [
        ("POST", _MASTER_TOKEN, Grants(master, Devices(master)).answer),
        *((methods, path, gate.guarded(handler)) for methods, path, handler in asked),
    ]


def _routes(rows: Iterable[_Row]) -> Iterable[Route]:
    for methods, path, handler in rows:
        for method in methods.split():
            yield Route(method, path, handler)
            yield Route(method, f"{path}/", handler)


def _not_implemented(reason: str) -> Reply:
    return json_answer({"error": "not_implemented", "error_description": reason}, 501)


def not_found(call: Call) -> Reply:
    if not call.path.startswith("/keycloak/realms/"):
        return Reply(404, b'{"error":"Unable to find matching target resource method"}', JSON)
    in_realm = f"{call.path}/".startswith((f"{PATH}/", f"{MASTER}/"))
    return json_answer({"error": "HTTP 404 Not Found" if in_realm else "Realm does not exist"}, 404)


def wrong_method(_: Call, allowed: Sequence[str]) -> Reply:  # noqa: ARG001 (the shape of every such function)
    return json_answer({"error": "HTTP 405 Method Not Allowed"}, 405)
