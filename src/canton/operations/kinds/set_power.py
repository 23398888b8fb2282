"""``set_power/1``: a node is on, or off. Goal: ``{"power": "on"}``; the device is ``power@<site>``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from canton.contracts.power import Power, PowerState
from canton.domain.errors import PermanentFailure, StepFailure
from canton.domain.json_types import JsonObject
from canton.operations.engine.step_kind import Call, DeviceLimits

NAME = "set_power/1"
# A node that was told to power on shows it within two minutes or was not heard; 5 s is how often PCS itself looks.
LIMITS = DeviceLimits(batch=1000, timeout=60.0, settle=120.0, poll=5.0, tries=4, backoff=2.0)


class SetPower:
    name = NAME

    def __init__(self, powers: Mapping[str, Power], limits: DeviceLimits = LIMITS) -> None:
        """``powers`` are the services by the name that plans give them."""
        self.powers = powers
        self.limits = limits

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        power = self._service(calls)
        if isinstance(power, StepFailure):
            return {call.step.n: power for call in calls}
        states = await power.states([call.step.target for call in calls])
        return {call.step.n: _observation(states.get(call.step.target, PowerState.UNKNOWN)) for call in calls}

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        power = self._service(calls)
        if isinstance(power, StepFailure):
            return {call.step.n: power for call in calls}
        nodes_by_state: dict[PowerState, list[str]] = defaultdict(list)
        for call in calls:
            nodes_by_state[PowerState(str(call.step.goal["power"]))].append(call.step.target)
        refused: dict[str, StepFailure] = {}
        for state, nodes in nodes_by_state.items():
            refused |= await power.switch(nodes, state, calls[0].guard)
        return {call.step.n: refused[call.step.target] for call in calls if call.step.target in refused}

    def _service(self, calls: Sequence[Call]) -> Power | StepFailure:
        """All calls of a batch are for one device."""
        device = calls[0].step.device
        if device in self.powers:
            return self.powers[device]
        site = device.rpartition("@")[2]
        return PermanentFailure(
            f"no power service is set up for site {site}; the provider sets one up, then the operation can be retried",
            cause=f"this worker knows {', '.join(sorted(self.powers)) or 'none'}: set power in [sites.{site}] of its "
            "configuration and restart it",
            device=device,
        )


def _observation(state: PowerState | StepFailure) -> JsonObject | StepFailure:
    return state if isinstance(state, StepFailure) else {"power": str(state)}
