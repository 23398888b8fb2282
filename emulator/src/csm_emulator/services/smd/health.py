"""``/service``: readiness, liveness, and the values of SMD's enumerations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from csm_emulator.services.smd import enums
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.responses import json_reply, message
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/service"
VALUES: Mapping[str, Sequence[str]] = {
    "Arch": enums.ARCHS,
    "Class": enums.CLASSES,
    # SMD's table has warn and warning, and its list shows both.
    "Flag": tuple(enums.FLAG.values()),
    "NetType": enums.NET_TYPES,
    "Role": enums.ROLES,
    "SubRole": enums.SUB_ROLES,
    "State": enums.STATES,
    "Type": enums.TYPES,
}


def routes(hsm: Hsm) -> Sequence[Route]:  # noqa: ARG001 (the shape of every part)
    single_routes = [
        Route("GET", f"{BASE}/values/{name.lower()}", partial(_values, {name: words})) for name, words in VALUES.items()
    ]
    return (
        Route("GET", f"{BASE}/ready", lambda _: message("HSM is healthy")),
        Route("GET", f"{BASE}/liveness", lambda _: Reply(204)),
        Route("GET", f"{BASE}/values", partial(_values, VALUES)),
        *single_routes,
    )


def _values(values: Mapping[str, Sequence[str]], _: Call) -> Reply:
    return json_reply(values)
