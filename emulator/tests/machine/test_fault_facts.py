"""Faults that make no sense are refused before they break anything else."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.site import Site
from power_client import DOWN, Pcs


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
        ("server-error", {"status": 502.5}),
        ("token-expiry", {"before": "yesterday"}),
    ],
)
def test_numbers_are_numbers(tiny: Site, kind: str, facts: dict[str, Any]) -> None:
    (name,) = facts
    with pytest.raises(InvalidMachine, match=f"takes {name}= from"):
        tiny.set_fault(Fault(tiny.faults.new_id(), kind, "*", facts=facts))
    assert list(tiny.faults) == []
    assert tiny.log.last == 0


@pytest.mark.parametrize(
    ("kind", "request_facts", "stored_facts"),
    [
        ("latency", {"seconds": "30"}, {"seconds": 30}),
        ("latency", {"seconds": 30.0}, {"seconds": 30}),
        ("latency", {"seconds": "0.5"}, {"seconds": 0.5}),
        ("server-error", {"status": "502", "path": 7}, {"status": 502, "path": "7"}),
        ("cfs-layer-fails", {"layer": "0"}, {"layer": "0"}),
        ("cfs-layer-fails", {"layer": 0.0}, {"layer": "0"}),
        ("cfs-layer-fails", {"layer": "2026.10"}, {"layer": "2026.10"}),
    ],
)
def test_a_number_is_whole_when_it_was_and_a_name_stays_one(
    tiny: Site, kind: str, request_facts: dict[str, Any], stored_facts: dict[str, Any]
) -> None:
    facts = tiny.set_fault(Fault("f1", kind, facts=request_facts)).facts
    assert facts == stored_facts
    assert {name: type(value) for name, value in facts.items()} == {
        name: type(value) for name, value in stored_facts.items()
    }


@pytest.mark.parametrize(
    ("kind", "facts", "message"),
    [
        ("cfs-layer-fails", {"lyer": 1}, "takes layer=, task=, not lyer="),
        ("cfs-layer-fails", {"layer": None}, "takes layer= a layer's name or number, not None"),
        ("no-power-on", {"stage": "pxe"}, "takes no parameters, not stage="),
        ("port-drift", {"colour": "red"}, "takes online=, native=, allowed=, untagged=, vnis=, not colour="),
        ("lost-response", {"method": "post"}, "takes method= GET or HEAD or POST"),
        ("image-job-stuck", {"status": "typo"}, "no job under way has the status 'typo'; there are creating, "),
        ("image-job-stuck", {"status": "success"}, "no job under way has the status 'success'"),
    ],
)
def test_facts_that_a_kind_does_not_take(tiny: Site, kind: str, facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidMachine, match=message):
        tiny.set_fault(Fault("f1", kind, facts=facts))
    assert list(tiny.faults) == []


def test_too_long_durations_are_refused_with_the_limit(tiny: Site) -> None:
    with pytest.raises(InvalidMachine, match="from 0 to 31622400, not 1000000000000"):
        tiny.set_fault(Fault("f1", "latency", "smd", facts={"seconds": 10**12}))


def test_a_restart_has_no_probability(tiny: Site) -> None:
    with pytest.raises(InvalidMachine, match="happens once"):
        tiny.set_fault(Fault("f1", "service-restart", "smd", remaining=2))


def test_the_end_of_a_restart_clears_that_restart_alone(tiny: Site) -> None:
    restart = tiny.set_fault(Fault(tiny.faults.new_id(), "service-restart", "smd"))
    tiny.clear_fault(restart.id)
    other_fault = tiny.set_fault(Fault(tiny.faults.new_id(), "no-power-on", DOWN))
    assert other_fault.id != restart.id
    tiny.step(60)
    assert [fault.id for fault in tiny.faults] == [other_fault.id]


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
