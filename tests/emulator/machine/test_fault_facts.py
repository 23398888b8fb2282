"""Faults that make no sense are refused before they break anything else."""

from __future__ import annotations

from typing import Any

import pytest

from canton.domain.errors import InvalidMachine
from canton.emulator.machine.faults import Fault
from canton.emulator.site import Site
from emulator.power_client import DOWN, Pcs


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("latency", {"seconds": "soon"}),
        ("latency", {"seconds": float("nan")}),
        ("latency", {"seconds": float("inf")}),
        ("latency", {"seconds": -1}),
        ("latency", {"seconds": None}),
        ("latency", {"seconds": True}),
        ("service-restart", {"seconds": "soon"}),
        ("service-restart", {"seconds": float("nan")}),
        ("server-error", {"status": 200}),
        ("server-error", {"status": 999}),
        ("server-error", {"status": "bad"}),
        ("token-expiry", {"before": "yesterday"}),
    ],
)
def test_numbers_are_numbers(tiny: Site, kind: str, facts: dict[str, Any]) -> None:
    with pytest.raises(InvalidMachine):
        tiny.set_fault(Fault(tiny.faults.new_id(), kind, "smd", facts=facts))
    assert list(tiny.faults) == []
    assert tiny.log.last == 0


def test_a_restart_has_no_probability(tiny: Site) -> None:
    with pytest.raises(InvalidMachine, match="restarts at once"):
        tiny.set_fault(Fault("f1", "service-restart", "smd", remaining=2))


def test_the_end_of_a_restart_clears_that_restart_alone(tiny: Site) -> None:
    restart = tiny.set_fault(Fault(tiny.faults.new_id(), "service-restart", "smd"))
    tiny.clear_fault(restart.id)
    other = tiny.set_fault(Fault(tiny.faults.new_id(), "no-power-on", DOWN))
    assert other.id != restart.id
    tiny.step(60)
    assert [fault.id for fault in tiny.faults] == [other.id]


@pytest.mark.parametrize("targets", ["pcs", "smd, pcs", "*"])
@pytest.mark.parametrize("cleared", [True, False])
def test_a_transition_goes_on_after_a_restart_however_it_ends(tiny: Site, targets: str, cleared: bool) -> None:
    pcs = Pcs(tiny)
    transition = pcs.start("on", DOWN)
    tiny.step(1)
    restart = tiny.set_fault(Fault(tiny.faults.new_id(), "service-restart", targets))
    tiny.step(20)
    if cleared:
        tiny.clear_fault(restart.id)
    tiny.step(600)
    assert pcs.state(transition) == "completed"
    assert pcs.task(transition, DOWN)["taskStatus"] == "succeeded"
