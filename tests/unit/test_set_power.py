"""``set_power/1`` calls the power service once for many nodes, and returns the answer of each node."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from canton.contracts.guard import Guard
from canton.contracts.power import PowerState
from canton.domain.errors import LeaseLost, PermanentFailure, StepFailure, TemporaryFailure
from canton.operations.engine.step_kind import Call, StepKind, register
from canton.operations.kinds.set_power import LIMITS, SetPower
from canton.operations.plan.plan import Step
from canton.operations.planners.power_nodes import SET_POWER


class Service:
    """A power service in memory that remembers how it was called."""

    def __init__(self, **power: str) -> None:
        self.power: dict[str, PowerState | StepFailure] = {name: PowerState(state) for name, state in power.items()}
        self.refuses: dict[str, StepFailure] = {}
        self.asked: list[list[str]] = []
        self.switched: list[tuple[PowerState, list[str]]] = []
        self.away = False

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        self.asked.append(list(nodes))
        if self.away:
            raise TemporaryFailure("no answer")
        return {node: self.power[node] for node in nodes if node in self.power}

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        guard()
        self.switched.append((to, list(nodes)))
        if self.away:
            raise TemporaryFailure("no answer")
        refusals = {node: self.refuses[node] for node in nodes if node in self.refuses}
        self.power |= dict.fromkeys(set(nodes) - refusals.keys(), to)
        return refusals


def leased() -> None:
    """A guard that lets every act pass."""


def taken_over() -> None:
    raise LeaseLost("taken over")


def call(n: int, target: str, power: str = "on", guard: Guard = leased, device: str = "power@alps") -> Call:
    return Call("op_1", 1, Step(n, SET_POWER, target, device, {"power": power}), guard)


def test_it_is_the_kind_that_planners_name() -> None:
    kind: StepKind = SetPower({"power@alps": Service()})
    assert register(kind) == {SET_POWER: kind}
    assert kind.limits is LIMITS
    assert LIMITS.batch >= 1000


def test_one_question_for_a_batch() -> None:
    service = Service(a="on", b="off", c="unknown")
    service.power["d"] = failure = PermanentFailure("no such node")
    calls = [call(n, target) for n, target in enumerate("abcde", 1)]
    sightings = asyncio.run(SetPower({"power@alps": service}).observe(calls))
    assert sightings == {
        1: {"power": "on"},
        2: {"power": "off"},
        3: {"power": "unknown"},
        4: failure,
        5: {"power": "unknown"},
    }
    assert service.asked == [list("abcde")]


def test_a_batch_is_switched_in_one_request_for_each_goal() -> None:
    service = Service(a="off", b="on", c="off")
    calls = [call(1, "a", "on"), call(2, "b", "off"), call(3, "c", "on")]
    assert asyncio.run(SetPower({"power@alps": service}).act(calls)) == {}
    assert service.switched == [(PowerState.ON, ["a", "c"]), (PowerState.OFF, ["b"])]
    assert service.power == {"a": "on", "b": "off", "c": "on"}


def test_refusals_are_returned_by_step() -> None:
    service = Service(a="off", b="off", c="on")
    service.refuses = {"b": (no := PermanentFailure("locked")), "c": (later := TemporaryFailure("busy"))}
    calls = [call(7, "a"), call(8, "b"), call(9, "c", "off")]
    assert asyncio.run(SetPower({"power@alps": service}).act(calls)) == {8: no, 9: later}
    assert service.power == {"a": "on", "b": "off", "c": "on"}


def test_two_steps_on_one_node_are_both_answered() -> None:
    service = Service(a="off")
    service.refuses = {"a": (no := PermanentFailure("locked"))}
    assert asyncio.run(SetPower({"power@alps": service}).act([call(1, "a"), call(-1, "a")])) == {1: no, -1: no}


@pytest.mark.parametrize("method", ["observe", "act"])
def test_a_service_that_is_away_fails_the_whole_call(method: str) -> None:
    service = Service(a="off")
    service.away = True
    with pytest.raises(TemporaryFailure):
        asyncio.run(getattr(SetPower({"power@alps": service}), method)([call(1, "a")]))


def test_a_worker_that_was_replaced_switches_nothing() -> None:
    service = Service(a="off")
    with pytest.raises(LeaseLost):
        asyncio.run(SetPower({"power@alps": service}).act([call(1, "a", guard=taken_over)]))
    assert service.switched == []


def test_each_site_has_its_own_service() -> None:
    alps, ault = Service(a="off"), Service(a="off")
    kind = SetPower({"power@alps": alps, "power@ault": ault})
    asyncio.run(kind.act([call(1, "a", device="power@ault")]))
    assert (alps.power, ault.power) == ({"a": "off"}, {"a": "on"})
    assert asyncio.run(kind.observe([call(1, "a", device="power@ault")])) == {1: {"power": "on"}}


@pytest.mark.parametrize("method", ["observe", "act"])
def test_a_service_without_configuration_is_refused_with_what_to_set(method: str) -> None:
    service = Service(a="off")
    kind = SetPower({"power@alps": service})
    refusal = asyncio.run(getattr(kind, method)([call(1, "a", device="power@ault"), call(2, "b", device="power@ault")]))
    assert refusal.keys() == {1, 2}
    assert isinstance(refusal[1], PermanentFailure)
    assert "no power service is set up for site ault" in refusal[1].message
    assert "knows power@alps: set power in [sites.ault]" in refusal[1].cause
    assert (service.asked, service.switched) == ([], [])
