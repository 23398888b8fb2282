"""``set_power/1``: a node is on, or off. Goal: ``{"power": "on"}``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from canton.contracts.power import Power, PowerState
from canton.domain.data import JsonObject
from canton.domain.errors import StepFailure
from canton.operations.kinds import Call, Pace

NAME = "set_power/1"
# A node that was told to power on shows it within two minutes or was not heard; 5 s is how often PCS itself looks.
PACE = Pace(batch=1000, timeout=60.0, settle=120.0, poll=5.0, tries=4, backoff=2.0)


class SetPower:
    name = NAME

    def __init__(self, power: Power, pace: Pace = PACE) -> None:
        self.power = power
        self.pace = pace

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        states = await self.power.states([call.step.target for call in calls])
        return {call.step.n: _sighting(states.get(call.step.target, PowerState.UNKNOWN)) for call in calls}

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        wanted: dict[PowerState, list[str]] = defaultdict(list)
        for call in calls:
            wanted[PowerState(str(call.step.goal["power"]))].append(call.step.target)
        refused: dict[str, StepFailure] = {}
        for state, nodes in wanted.items():
            refused |= await self.power.switch(nodes, state, calls[0].guard)
        return {call.step.n: refused[call.step.target] for call in calls if call.step.target in refused}


def _sighting(state: PowerState | StepFailure) -> JsonObject | StepFailure:
    return state if isinstance(state, StepFailure) else {"power": str(state)}
