"""``/power-status``, asked for with a query or with a body."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.machine.machine import Machine
from csm_emulator.services.pcs.kinds import INVALID, POWERED, type_of
from csm_emulator.services.pcs.power_status.polling import Polling, Status
from csm_emulator.services.pcs.problems import Refusal, written
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
        asked = read(call.body, _PARAMETER)
        return self._answer(asked["xname"] or (), asked["powerStateFilter"], asked["managementStateFilter"])

    def _answer(self, xnames: Sequence[str], power: str, management: str) -> Reply:
        power_filter = _power_state(power)
        management_filter = _management_state(management)
        names = list(dict.fromkeys(xnames))
        bad = [name for name in names if type_of(self._machine, name) == INVALID]
        if bad:
            raise Refusal(400, f"invalid xnames detected: {' '.join(bad)}")
        self._polling.refresh()
        told = self._told(names) if names else self._polling.statuses(self._polling.names())
        return written({"status": [each for each in told if _fits(each, power_filter, management_filter)]})

    def _told(self, names: Sequence[str]) -> list[Status]:
        known = self._polling.statuses(name for name in names if self._polling.knows(name))
        by_name = {each["xname"]: each for each in known}
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


def _fits(status: Status, power: str, management: str) -> bool:
    """What is not known passes every filter."""
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
