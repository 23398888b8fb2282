"""The routes of CAPMC."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.context import Context
from csm_emulator.services.capmc.hsm_client import Hsm
from csm_emulator.services.capmc.power_cap import PowerCap
from csm_emulator.services.capmc.responses import CapmcError, error_reply
from csm_emulator.services.capmc.transitions import PowerOrders
from csm_emulator.services.capmc.xname_control import OFF, ON, RESTART, XnameControl
from csm_emulator.services.capmc.xname_status import XnameStatus
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import EmulatedService, Handler, Route, catching

BASE = "/capmc/v1"


def create_service(context: Context) -> EmulatedService:
    hsm = Hsm(context.mesh)
    orders = PowerOrders(context, hsm)
    control = XnameControl(context, hsm, orders)
    caps = PowerCap(context.machine, hsm)
    posts = {
        "xname_on": control.handler(ON),
        "xname_off": control.handler(OFF),
        "xname_reinit": control.handler(RESTART),
        "get_xname_status": XnameStatus(context.mesh, hsm).answer,
        "get_power_cap": caps.read_caps,
        "set_power_cap": caps.set_caps,
        "get_power_cap_capabilities": caps.capabilities,
    }
    credentials = sum(1 for part in context.machine.parts() if part.controller)
    gets: dict[str, Handler] = {
        "health": lambda _: _health(hsm.ready(), credentials),
        "liveness": lambda _: Reply(204),
        "readiness": lambda _: Reply(204),
    }
    routes = [Route("POST", f"{BASE}/{name}", _with_error_replies(handler)) for name, handler in posts.items()]
    routes += [Route("GET", f"{BASE}/{name}", handler) for name, handler in gets.items()]
    return EmulatedService(
        "capmc",
        [("/apis/capmc", "")],
        routes,
        wrong_method=_wrong_method,
        restarted=orders.release_all,
        stopped=orders.release_all,
    )


def _with_error_replies(handler: Handler) -> Handler:
    return catching(handler, CapmcError, lambda _, refusal: error_reply(refusal.status, str(refusal)))


def _health(connection: str, credentials: int) -> Reply:
    health = {
        "readiness": "Ready" if connection == "HSM Ready" else "Service Degraded",
        "vault": f"Vault connection established with {credentials} credentials loaded",
        "hsm": connection,
    }
    # CAPMC sends the status before it sets the Content-Type, so Go guesses it.
    return json_reply(health, media="text/plain; charset=utf-8")


def _wrong_method(call: Call, allowed: Sequence[str]) -> Reply:
    return error_reply(405, f"({call.method}) Not Allowed", (("Allow", ", ".join(allowed)),))
