"""Keycloak on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from canton.emulator.faces.keycloak.answers import json_answer
from canton.emulator.faces.keycloak.devices import Devices
from canton.emulator.faces.keycloak.endpoints import Endpoints
from canton.emulator.faces.keycloak.grants import Grants
from canton.emulator.faces.keycloak.pages import AUTHENTICATE, CONSENT, DEVICE, Pages
from canton.emulator.faces.keycloak.realm import PATH, Realm
from canton.emulator.faces.keycloak.side import Side
from canton.emulator.wire.call import JSON, Call, Reply
from canton.emulator.wire.routes import Face, Handler, Route
from canton.emulator.world import World

OIDC = f"{PATH}/protocol/openid-connect"
_FORM_LIMIT = 1 << 20


def open_face(world: World) -> Face:
    realm = Realm(world)
    devices = Devices(realm)
    return Face(
        "keycloak",
        (("/keycloak", "/keycloak"),),
        [*_routes(realm, devices), *Side(realm, not_found).routes()],
        not_found,
        wrong_method,
        body_limit=_FORM_LIMIT,
        # OPA knows them on auth.cmn alone, which is another name of the same gateway; a laptop has only one name.
        open_paths=(DEVICE, f"{PATH}/login-actions/"),
        restarted=devices.forget,
    )


def _routes(realm: Realm, devices: Devices) -> Iterable[Route]:
    grants, pages = Grants(realm, devices), Pages(realm, devices)
    told = Endpoints(realm, grants)
    table: dict[str, tuple[str, Handler]] = {
        PATH: ("GET HEAD", told.describe),
        f"{PATH}/.well-known/openid-configuration": ("GET HEAD", told.discover),
        f"{OIDC}/certs": ("GET HEAD", told.certs),
        f"{OIDC}/token": ("POST", grants.answer),
        f"{OIDC}/token/introspect": ("POST", told.introspect),
        f"{OIDC}/userinfo": ("GET POST", told.userinfo),
        f"{OIDC}/logout": ("GET POST", told.logout),
        f"{OIDC}/revoke": ("POST", told.revoke),
        f"{OIDC}/auth": ("GET POST", _no_code_flow),
        f"{OIDC}/auth/device": ("POST", pages.begin),
        DEVICE: ("GET HEAD POST", pages.verify),
        AUTHENTICATE: ("POST", pages.authenticate),
        CONSENT: ("POST", pages.consent),
    }
    for path, (methods, handler) in table.items():
        for method in methods.split():
            yield Route(method, path, handler)
            yield Route(method, f"{path}/", handler)


def _no_code_flow(_: Call) -> Reply:
    reason = "the emulator has no authorization code flow; take the device flow, or the password grant"
    return json_answer({"error": "not_implemented", "error_description": reason}, 501)


def not_found(call: Call) -> Reply:
    if not call.path.startswith("/keycloak/realms/"):
        return Reply(404, b'{"error":"Unable to find matching target resource method"}', JSON)
    in_realm = f"{call.path}/".startswith(f"{PATH}/")
    return json_answer({"error": "HTTP 404 Not Found" if in_realm else "Realm does not exist"}, 404)


def wrong_method(_: Call, allowed: Sequence[str]) -> Reply:  # noqa: ARG001 (the shape of every such function)
    return json_answer({"error": "HTTP 405 Method Not Allowed"}, 405)
