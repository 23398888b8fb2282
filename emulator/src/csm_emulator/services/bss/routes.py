"""The routes of BSS."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from csm_emulator.context import Context
from csm_emulator.services.bss.boot_parameters.api import Parameters, with_body
from csm_emulator.services.bss.boot_script.api import BootScript
from csm_emulator.services.bss.cloud_init.api import CloudInit
from csm_emulator.services.bss.health import Service
from csm_emulator.services.bss.inventory import Inventory
from csm_emulator.services.bss.last_access import LastAccess
from csm_emulator.services.bss.responses import problem
from csm_emulator.services.bss.seed_data import seed
from csm_emulator.services.bss.table import MAX_CHARACTERS, BootStore, TooManyCharacters
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import EmulatedService, Route, catching, go_not_found

_ROOT = "/boot/v1"
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_CLOUD_INIT_PATHS = ("/meta-data", "/user-data", "/phone-home")
"""Paths without a prefix, since cloud-init uses no longer ones."""
_ALLOWED = {
    f"{_ROOT}/bootparameters": "GET,PUT,POST,PATCH,DELETE",
    f"{_ROOT}/hosts": "GET,POST",
    f"{_ROOT}/scn": "POST",
    "/phone-home": "POST",
}
"""Path → the methods in a 405; other paths allow GET only."""


def create_service(context: Context) -> EmulatedService:
    inventory = Inventory(context)
    history = LastAccess(context)
    store = BootStore(context, inventory, seed(context.machine, context.random))
    parameters = Parameters(store, inventory)
    script = BootScript(context, store, inventory, history)
    cloud_init = CloudInit(context, store, inventory, history)
    service = Service(context, inventory, parameters)
    routes = [
        Route("GET", f"{_ROOT}/bootparameters", parameters.get),
        Route("POST", f"{_ROOT}/bootparameters", with_body(parameters.post)),
        Route("PUT", f"{_ROOT}/bootparameters", with_body(parameters.put)),
        Route("PATCH", f"{_ROOT}/bootparameters", with_body(parameters.patch)),
        Route("DELETE", f"{_ROOT}/bootparameters", with_body(parameters.delete)),
        Route("GET", f"{_ROOT}/bootscript", script.get),
        Route("GET", f"{_ROOT}/hosts", service.hosts),
        Route("POST", f"{_ROOT}/hosts", service.refresh),
        Route("GET", f"{_ROOT}/dumpstate", service.dump),
        Route("GET", f"{_ROOT}/endpoint-history", history.get),
        Route("POST", f"{_ROOT}/scn", service.state_changed),
        Route("GET", f"{_ROOT}/service/{{what...}}", service.status),
        Route("GET", "/meta-data", cloud_init.meta_data),
        Route("GET", "/user-data", cloud_init.user_data),
        Route("POST", "/phone-home", cloud_init.phone_home),
        *(Route(method, f"{_ROOT}/service", _add_slash) for method in _METHODS),
        *(Route(method, f"{_ROOT}/{{any...}}", _other_path) for method in _METHODS),
    ]
    mounts = [("/apis/bss", ""), *((path, path) for path in _CLOUD_INIT_PATHS)]
    routes = [
        route.through(lambda handler: catching(handler, TooManyCharacters, _too_many_characters)) for route in routes
    ]
    return EmulatedService("bss", mounts, routes, _not_found, _wrong_method, restarted=inventory.clear)


def _too_many_characters(call: Call, _: TooManyCharacters) -> Reply:  # noqa: ARG001 (the shape of every such function)
    return problem(413, f"these are more than {MAX_CHARACTERS} characters of boot parameters, counted for each host")


def _wrong_method(call: Call, _: Sequence[str]) -> Reply:
    allowed = _ALLOWED.get(call.path, "GET")
    return problem(405, f"allow {allowed}", (("Allow", allowed),))


def _other_path(call: Call) -> Reply:
    """BSS's greeting on every other path below its root."""
    clean = _clean(call.path)
    return _redirect(call, clean) if clean != call.path else text_reply("Hello World!")


def _add_slash(call: Call) -> Reply:
    return _redirect(call, f"{call.path}/")


def _not_found(call: Call) -> Reply:
    clean = _clean(call.path)
    if clean == _ROOT:
        clean += "/"
    return _redirect(call, clean) if clean != call.path else go_not_found(call)


def _clean(path: str) -> str:
    clean = posixpath.normpath("/" + path.lstrip("/"))
    return f"{clean}/" if path.endswith("/") and clean != "/" else clean


def _redirect(call: Call, path: str) -> Reply:
    """A 307, as from Go's own server since 1.26; earlier versions sent 301."""
    query = urlencode(call.query)
    location = quote(path, safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")
    page = f'<a href="{location}">Temporary Redirect</a>.\n\n' if call.method in ("GET", "HEAD") else ""
    return Reply(307, page.encode(), "text/html; charset=utf-8" if page else "", [("Location", location)])
