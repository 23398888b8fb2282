"""The routes of SLS."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.dialects.hms.responses import SNIFFED, marshalled
from csm_emulator.services.sls.hardware.api import Hardware
from csm_emulator.services.sls.hardware.table import HardwareTable
from csm_emulator.services.sls.networks import Networks, NetworkTable
from csm_emulator.services.sls.state import State
from csm_emulator.services.sls.versions import Versions
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Route

BODY = 8 << 20
"""Longest body in bytes: room for the indented state of a machine of 10,000 nodes."""


def create_service(context: Context) -> EmulatedService:
    versions = Versions(context)
    table, nets = HardwareTable(context, versions), NetworkTable(context, versions)
    hardware, networks, state = Hardware(table), Networks(nets), State(table, nets)
    # In SLS's own order: whether a wrong method is 404 or 405 depends on it.
    routes = [
        Route("GET", "/v1/readiness", _alive),
        Route("GET", "/v1/liveness", _alive),
        Route("GET", "/v1/health", _health),
        Route("GET", "/v1/version", lambda _: marshalled(versions.latest())),
        Route("POST", "/v1/hardware", hardware.post),
        Route("GET", "/v1/hardware", hardware.list_all),
        Route("GET", "/v1/hardware/{xname}", hardware.get),
        Route("PUT", "/v1/hardware/{xname}", hardware.put),
        Route("DELETE", "/v1/hardware/{xname}", hardware.delete),
        Route("GET", "/v1/networks", networks.list_all),
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
    mux = Mux(routes)
    return EmulatedService("sls", [("/apis/sls", "")], settle(routes), mux.not_found, mux.wrong_method, BODY)


def _alive(_: Call) -> Reply:
    return Reply(204)


def _health(_: Call) -> Reply:
    """SLS sets no Content-Type here, so Go guesses it."""
    return marshalled({"Vault": "Not checked", "DBConnection": "Ready"}, media=SNIFFED)
