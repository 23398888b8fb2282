"""SLS's paths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, urlencode

from canton.emulator.faces.sls.hardware import Hardware
from canton.emulator.faces.sls.hardware_table import HardwareTable
from canton.emulator.faces.sls.networks import Networks, NetworkTable
from canton.emulator.faces.sls.state import State
from canton.emulator.faces.sls.versions import Versions
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.hms_base import SNIFFED, marshalled
from canton.emulator.wire.routes import Face, Route, go_not_found
from canton.emulator.world import World

BODY = 8 << 20
"""Room for the state of a machine of 10,000 nodes, with indents."""
_SLASHES = re.compile("/{2,}")


def open_face(world: World) -> Face:
    versions = Versions(world)
    table, nets = HardwareTable(world, versions), NetworkTable(world, versions)
    hardware, networks, state = Hardware(table), Networks(nets), State(table, nets)
    # In SLS's own order: whether a wrong method is 404 or 405 hangs on it.
    routes = [
        Route("GET", "/v1/readiness", _alive),
        Route("GET", "/v1/liveness", _alive),
        Route("GET", "/v1/health", _health),
        Route("GET", "/v1/version", lambda _: marshalled(versions.told())),
        Route("POST", "/v1/hardware", hardware.post),
        Route("GET", "/v1/hardware", hardware.everything),
        Route("GET", "/v1/hardware/{xname}", hardware.get),
        Route("PUT", "/v1/hardware/{xname}", hardware.put),
        Route("DELETE", "/v1/hardware/{xname}", hardware.delete),
        Route("GET", "/v1/networks", networks.everything),
        Route("POST", "/v1/networks", networks.post),
        Route("GET", "/v1/networks/{network}", networks.get),
        Route("PUT", "/v1/networks/{network}", networks.put),
        Route("PATCH", "/v1/networks/{network}", networks.patch),
        Route("DELETE", "/v1/networks/{network}", networks.delete),
        Route("GET", "/v1/search/hardware", hardware.search),
        Route("GET", "/v1/search/networks", networks.search),
        Route("GET", "/v1/dumpstate", state.dump),
        Route("POST", "/v1/dumpstate", state.no_dump),
        Route("POST", "/v1/loadstate", state.load),
    ]
    paths = Paths(routes)
    return Face("sls", [("/apis/sls", "")], routes, paths.not_found, paths.wrong_method, BODY)


class Paths:
    """What gorilla/mux does with paths that are not quite right."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = [(route.method, re.compile(re.sub(r"\{\w+\}", "[^/]+", route.path) + "/?")) for route in routes]

    def not_found(self, call: Call) -> Reply:
        clean = _SLASHES.sub("/", call.path)
        if clean != call.path:
            return Reply(301, headers=[("Location", _location(clean, call))])
        if not call.path.endswith("/") or not self._known(call.path):
            return go_not_found(call)
        if not any(method == call.method and path.fullmatch(call.path) for method, path in self._routes):
            return self.wrong_method(call, ())
        location = _location(call.path[:-1], call)
        page = f'<a href="{location}">Moved Permanently</a>.\n\n' if call.method == "GET" else ""
        return Reply(301, page.encode(), "text/html; charset=utf-8" if page else "", [("Location", location)])

    def wrong_method(self, call: Call, _: Sequence[str]) -> Reply:
        """mux forgets that the path was right when a later route has the method, whatever its path."""
        last = max(place for place, (_, path) in enumerate(self._routes) if path.fullmatch(call.path))
        if any(method == call.method for method, _ in self._routes[last + 1 :]):
            return go_not_found(call)
        return Reply(405)

    def _known(self, path: str) -> bool:
        return any(pattern.fullmatch(path) for _, pattern in self._routes)


def _location(path: str, call: Call) -> str:
    query = urlencode(call.query)
    return quote(path, safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")


def _alive(_: Call) -> Reply:
    return Reply(204)


def _health(_: Call) -> Reply:
    """The Content-Type is forgotten there, so Go guesses."""
    return marshalled({"Vault": "Not checked", "DBConnection": "Ready"}, media=SNIFFED)
