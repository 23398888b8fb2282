"""Power through PCS: one request for any number of nodes, to look and to switch."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from canton.contracts.guard import Guard
from canton.contracts.power import PowerState
from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.drivers.csm.gateway import Answer, Gateway

STATUS = "/apis/power-control/v1/power-status"
TRANSITIONS = "/apis/power-control/v1/transitions"
# Off is graceful at first; PCS forces it when this many minutes are over. Its own default.
DEADLINE = 5
_OPERATIONS = {PowerState.ON: "on", PowerState.OFF: "off"}
_STATES = {"on": PowerState.ON, "off": PowerState.OFF}


class PcsPower:
    """What PCS shows lags by up to 30 s: it looks at the controllers that often."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        answer = await asyncio.to_thread(self._gateway.call, "POST", STATUS, {"xname": list(nodes)})
        _expect(answer, 200, STATUS)
        rows = _rows(answer.body, "status")
        seen = {str(row.get("xname")): _state(row) for row in rows}
        return {node: seen.get(node, _unknown(node)) for node in nodes}

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        wanted = {
            "operation": _OPERATIONS[to],
            "taskDeadlineMinutes": DEADLINE,
            "location": [{"xname": node} for node in nodes],
        }
        answer = await asyncio.to_thread(self._gateway.call, "POST", TRANSITIONS, wanted, guard)
        if answer.status == 400:
            failure = PermanentFailure("the site's power service refuses the request", cause=_detail(answer))
            return dict.fromkeys(nodes, failure)
        _expect(answer, 200, TRANSITIONS)
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
    cause = "PCS says nothing of it; is it in HSM?"
    return PermanentFailure(f"{node} is not known to the site's power service", cause=cause, node=node)


def _rows(body: Any, name: str) -> list[Mapping[str, Any]]:
    rows = body.get(name) if isinstance(body, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TemporaryFailure(
            "the site's power service gave an answer that is none", cause=f'no "{name}" in it; is this PCS?'
        )
    return rows


def _expect(answer: Answer, status: int, path: str) -> None:
    if answer.status == status:
        return
    kind = TemporaryFailure if answer.status >= 500 or answer.status == 429 else PermanentFailure
    raise kind(f"the site's power service answered {answer.status}", cause=f"{path}: {_detail(answer)}")


def _detail(answer: Answer) -> str:
    told = answer.body.get("detail") if isinstance(answer.body, dict) else None
    return str(told or "no reason given")
