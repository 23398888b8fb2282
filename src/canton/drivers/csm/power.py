"""Power through PCS: one request reads or switches any number of nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from canton.contracts.guard import Guard
from canton.contracts.power import PowerState
from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.drivers.csm.gateway import Gateway, Response

STATUS = "/apis/power-control/v1/power-status"
TRANSITIONS = "/apis/power-control/v1/transitions"
# Off is graceful at first; PCS forces it after this many minutes, which is its default.
DEADLINE = 5
_OPERATIONS = {PowerState.ON: "on", PowerState.OFF: "off"}
_STATES = {"on": PowerState.ON, "off": PowerState.OFF}


class PcsPower:
    """The states lag by up to 30 s: PCS reads the controllers that often."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        response = await asyncio.to_thread(self._gateway.call, "POST", STATUS, {"xname": list(nodes)})
        _expect(response, 200, STATUS)
        rows = _rows(response.body, "status")
        states = {str(row.get("xname")): _state(row) for row in rows}
        return {node: states.get(node, _unknown(node)) for node in nodes}

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        transition = {
            "operation": _OPERATIONS[to],
            "taskDeadlineMinutes": DEADLINE,
            "location": [{"xname": node} for node in nodes],
        }
        response = await asyncio.to_thread(self._gateway.call, "POST", TRANSITIONS, transition, guard)
        if response.status == 400:
            failure = PermanentFailure("the site's power service refuses the request", cause=_detail(response))
            return dict.fromkeys(nodes, failure)
        _expect(response, 200, TRANSITIONS)
        return {}


def _state(row: Mapping[str, Any]) -> PowerState | StepFailure:
    state = _STATES.get(str(row.get("powerState")))
    if state is not None and row.get("managementState") != "unavailable":
        return state
    error = str(row.get("error") or "")
    if "not found" in error.lower():
        name = str(row.get("xname"))
        return PermanentFailure(f"{name} is not known to the site's power service", cause=error, node=name)
    return PowerState.UNKNOWN


def _unknown(node: str) -> StepFailure:
    cause = "PCS does not list it; is it in HSM?"
    return PermanentFailure(f"{node} is not known to the site's power service", cause=cause, node=node)


def _rows(body: Any, name: str) -> list[Mapping[str, Any]]:
    rows = body.get(name) if isinstance(body, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TemporaryFailure("the site's power service gave a wrong answer", cause=f'no "{name}" in it; is this PCS?')
    return rows


def _expect(response: Response, status: int, path: str) -> None:
    if response.status == status:
        return
    kind = TemporaryFailure if response.status >= 500 or response.status == 429 else PermanentFailure
    raise kind(f"the site's power service answered {response.status}", cause=f"{path}: {_detail(response)}")


def _detail(response: Response) -> str:
    detail = response.body.get("detail") if isinstance(response.body, dict) else None
    return str(detail or "no reason given")
