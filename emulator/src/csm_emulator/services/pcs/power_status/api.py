"""``/power-status``, with parameters in the query (GET) or in the body (POST)."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.machine.machine import Machine
from csm_emulator.services.pcs.component_types import INVALID, POWERED, type_of
from csm_emulator.services.pcs.power_status.polling import Polling, Status
from csm_emulator.services.pcs.problems import Refusal, marshalled
from csm_emulator.services.pcs.request_bodies import read
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_PARAMETER = struct(
    "model.PowerStatusParameter",
    {"xname": STRINGS, "powerStateFilter": STRING, "managementStateFilter": STRING},
)
_POWER_STATES = {"on": "on", "poweringoff": "on", "off": "off", "poweringon": "off", "undefined": "undefined"}
_MANAGEMENT_STATES = ("available", "unavailable")


class PowerStatus:
    def __init__(self, machine: Machine, polling: Polling) -> None:
        self._machine = machine
        self._polling = polling

    def routes(self) -> Sequence[Route]:
        return (Route("GET", "/power-status", self._by_query), Route("POST", "/power-status", self._by_body))

    def _by_query(self, call: Call) -> Reply:
        filters = (call.first("powerStateFilter"), call.first("managementStateFilter"))
        return self._answer(call.all("xname"), *filters)

    def _by_body(self, call: Call) -> Reply:
        body = read(call.body, _PARAMETER)
        return self._answer(body["xname"] or (), body["powerStateFilter"], body["managementStateFilter"])

    def _answer(self, xnames: Sequence[str], power: str, management: str) -> Reply:
        power_filter = _power_state(power)
        management_filter = _management_state(management)
        names = list(dict.fromkeys(xnames))
        invalid = [name for name in names if type_of(self._machine, name) == INVALID]
        if invalid:
            raise Refusal(400, f"invalid xnames detected: {' '.join(invalid)}")
        self._polling.refresh()
        statuses = self._statuses_of(names) if names else self._polling.statuses(self._polling.names())
        return marshalled(
            {"status": [status for status in statuses if _passes_filters(status, power_filter, management_filter)]}
        )

    def _statuses_of(self, names: Sequence[str]) -> list[Status]:
        known_statuses = self._polling.statuses(name for name in names if self._polling.knows(name))
        by_name = {status["xname"]: status for status in known_statuses}
        return [by_name.get(name) or self._unknown(name) for name in names]

    def _unknown(self, xname: str) -> Status:
        error = "Component not found in component map."
        if type_of(self._machine, xname) not in POWERED:
            error = "Component can not have power state and managment state data"
        return Status(
            xname=xname,
            powerState="",
            managementState="",
            error=error,
            supportedPowerTransitions=None,
            lastUpdated="",
        )


def _passes_filters(status: Status, power: str, management: str) -> bool:
    """A component without a power state passes every filter."""
    if not status["powerState"]:
        return True
    return (not power or status["powerState"] == power) and (not management or status["managementState"] == management)


def _power_state(text: str) -> str:
    if text and text.lower() not in _POWER_STATES:
        raise Refusal(400, f"invalid powerStateFilter type: {text}")
    return _POWER_STATES.get(text.lower(), "")


def _management_state(text: str) -> str:
    if text and text.lower() not in _MANAGEMENT_STATES:
        raise Refusal(400, f"invalid ManagementStateFilter type: {text}")
    return text.lower()
