"""Power status: the result of the last poll."""

from __future__ import annotations

import pytest

from csm_emulator.site import Site
from power_client import BLADE, BMC, DOWN, UP, Pcs


def names(pcs: Pcs, query: str) -> list[str]:
    return [status["xname"] for status in pcs.ask("GET", f"/power-status{query}").json()["status"]]


def test_a_node(pcs: Pcs) -> None:
    assert pcs.status(UP) == {
        "xname": UP,
        "powerState": "on",
        "managementState": "available",
        "error": "",
        "supportedPowerTransitions": ["On", "Force-Off", "Soft-Off", "Off", "Soft-Restart", "Init", "Hard-Restart"],
        "lastUpdated": "2027-01-15T08:00:00Z",
    }


def test_a_controller_can_only_restart(pcs: Pcs) -> None:
    status = pcs.status(BMC)
    assert (status["powerState"], status["supportedPowerTransitions"]) == ("on", ["Soft-Restart"])


def test_it_lags_behind(pcs: Pcs) -> None:
    pcs.site.machine.power.reset(DOWN, "On", "test")
    pcs.site.step(20.0)
    assert pcs.site.machine.power.state(DOWN) == "on"
    assert pcs.status(DOWN)["powerState"] == "off"
    pcs.site.step(10.0)
    status = pcs.status(DOWN)
    assert (status["powerState"], status["lastUpdated"]) == ("on", "2027-01-15T08:00:30Z")


def test_a_change_between_two_polls_is_not_seen(pcs: Pcs) -> None:
    pcs.site.machine.power.reset(UP, "PowerCycle", "test")
    for _ in range(60):
        pcs.site.step(0.5)
        assert pcs.status(UP)["powerState"] == "on"
    happened = [entry["what"] for entry in pcs.site.log.after(0, 10_000) if entry["target"] == UP]
    assert happened[:3] == ["power-order", "power-off", "boot-stage"]
    assert "power-on" in happened


def test_a_controller_that_does_not_answer(pcs: Pcs) -> None:
    pcs.break_("bmc-unreachable", BMC)
    status = pcs.status(UP)
    assert (status["powerState"], status["managementState"]) == ("undefined", "unavailable")
    assert UP in names(pcs, "?managementStateFilter=unavailable")
    assert UP in names(pcs, "?powerStateFilter=undefined")
    assert UP not in names(pcs, "?powerStateFilter=ON")


def test_all_of_them_in_the_order_of_their_names(pcs: Pcs) -> None:
    names_in_order = names(pcs, "")
    assert names_in_order == sorted(names_in_order)
    assert {UP, DOWN, BLADE, BMC, "x1000c0", "x1000c0b0", "x1000c0r3", "x3000m0p0v1"} <= set(names_in_order)
    assert "x1000" not in names_in_order


def test_filters(pcs: Pcs) -> None:
    assert names(pcs, f"?xname={UP}&xname={DOWN}&xname={UP}") == [UP, DOWN]
    assert names(pcs, f"?xname={UP}&xname={DOWN}&powerStateFilter=Off") == [DOWN]
    assert names(pcs, f"?xname={UP}&xname={DOWN}&managementStateFilter=unavailable") == []


def test_the_same_with_a_body(pcs: Pcs) -> None:
    body = {"xname": [UP, DOWN], "powerStateFilter": "on"}
    reply = pcs.ask("POST", "/power-status", body)
    assert [status["xname"] for status in reply.json()["status"]] == [UP]
    everything = pcs.ask("POST", "/power-status", {}).json()
    assert everything == pcs.ask("GET", "/power-status").json()


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("xname=nonsense&xname=x1&xname=X1000", "invalid xnames detected: nonsense X1000"),
        ("powerStateFilter=maybe", "invalid powerStateFilter type: maybe"),
        ("managementStateFilter=maybe", "invalid ManagementStateFilter type: maybe"),
        ("xname=", "invalid xnames detected: "),
    ],
)
def test_what_is_refused(pcs: Pcs, query: str, detail: str) -> None:
    reply = pcs.ask("GET", f"/power-status?{query}")
    assert (reply.status, reply.json()["detail"]) == (400, detail)


@pytest.mark.parametrize(
    ("xname", "error"),
    [
        ("x1000c7s7b0n0", "Component not found in component map."),
        ("x1000", "Component can not have power state and managment state data"),
    ],
)
def test_what_is_not_known(pcs: Pcs, xname: str, error: str) -> None:
    assert pcs.status(xname) == {
        "xname": xname,
        "powerState": "",
        "managementState": "",
        "error": error,
        "supportedPowerTransitions": None,
        "lastUpdated": "",
    }


def test_a_component_that_hsm_forgot(pcs: Pcs) -> None:
    assert UP in names(pcs, "")
    assert pcs.site.mesh.ask("smd", "DELETE", f"/hsm/v2/State/Components/{UP}").ok
    pcs.site.step(30.0)
    assert UP not in names(pcs, "")


def test_a_machine_without_hardware(site: Site) -> None:
    empty = Pcs(site)
    assert empty.ask("GET", "/power-status").json() == {"status": []}
    transition = empty.start("on", UP)
    empty.finish(transition, 1.0)
    assert empty.task(transition, UP)["error"] == "Missing xname"
