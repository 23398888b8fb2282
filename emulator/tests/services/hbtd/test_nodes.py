"""The machine's own nodes send heartbeats, and HSM shows their state as on a real machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.site import Site
from service_client import Service, Spy, open_site, reopen

BULK = "/hsm/v2/State/Components/BulkStateData"


@pytest.fixture
def hbtd(tiny: Site) -> Service:
    return Service(tiny, "hbtd", "/hmi/v1")


def running(site: Site) -> str:
    return min(node for node in site.machine.topology.running if node.startswith("x1000"))


def beats(hbtd: Service, node: str) -> bool:
    return bool(hbtd.get(f"/hbstate/{node}")["Heartbeating"])


def test_nodes_that_run_beat_and_cost_nothing(hbtd: Service) -> None:
    hbtd.step(60.0)
    spy = Spy(hbtd.site)
    hbtd.step(86_400.0)
    assert all(beats(hbtd, node) for node in hbtd.site.machine.topology.running)
    assert not [call for call in spy.calls if call[0] == "smd"]


def test_a_graceful_shutdown_goes_through_warning_and_standby_to_off(hbtd: Service) -> None:
    node = running(hbtd.site)
    assert hbtd.component(node) == ("Ready", "OK")
    hbtd.site.machine.power.reset(node, "GracefulShutdown", "test")
    states = [hbtd.component(node)]
    for _ in range(120):
        hbtd.step(1.0)
        if hbtd.component(node) != states[-1]:
            states.append(hbtd.component(node))
    assert states[:3] == [("Ready", "OK"), ("Ready", "Warning"), ("Standby", "Alert")]
    assert states[-1] == ("Off", "OK")
    assert not beats(hbtd, node)


def test_a_node_that_lost_its_power_stays_off_although_hbtd_thinks_otherwise(hbtd: Service) -> None:
    node = running(hbtd.site)
    hbtd.site.machine.power.reset(node, "ForceOff", "test")
    hbtd.step(5.0)
    assert hbtd.component(node)[0] == "Off"
    spy = Spy(hbtd.site)
    hbtd.step(30.0)
    assert [(body["State"], body["Flag"]) for body in spy.bodies(BULK)] == [("Ready", "Warning"), ("Standby", "Alert")]
    assert hbtd.component(node)[0] == "Off"


def test_many_nodes_are_reported_in_one_request(hbtd: Service) -> None:
    nodes = sorted(node for node in hbtd.site.machine.topology.running if node.startswith("x1000"))
    assert len(nodes) > 1
    spy = Spy(hbtd.site)
    for node in nodes:
        hbtd.site.machine.boot.begin_shutdown(node)
    hbtd.step(15.0)
    assert [body["ComponentIDs"] for body in spy.bodies(BULK)] == [nodes]


def test_a_client_may_beat_for_a_node_that_is_off(hbtd: Service) -> None:
    node = next(
        part.xname for part in hbtd.site.machine.parts("Node") if hbtd.site.machine.power.state(part.xname) == "off"
    )
    hbtd.ask("POST", f"/heartbeat/{node}", {"Status": "OK", "TimeStamp": "now"})
    hbtd.step(5.0)
    assert hbtd.component(node) == ("Ready", "OK")
    hbtd.step(20.0)
    assert hbtd.component(node) == ("Standby", "Alert")


def test_a_restart_of_the_emulator_in_the_middle_changes_nothing(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    hbtd, node = Service(site, "hbtd", "/hmi/v1"), running(site)
    site.machine.boot.begin_shutdown(node)
    hbtd.step(13.0)
    assert hbtd.component(node) == ("Ready", "Warning")
    reopened_hbtd = Service(reopen(site), "hbtd", "/hmi/v1")
    assert reopened_hbtd.component(node) == ("Ready", "Warning")
    reopened_hbtd.step(12.0)
    assert reopened_hbtd.component(node) == ("Standby", "Alert")
    reopened_hbtd.site.state_file.close()


def test_after_an_absence_of_hbtd_the_silent_get_a_warning_first(hbtd: Service) -> None:
    node = running(hbtd.site)
    hbtd.ask("PATCH", "/params", {"Debug": "3"})
    hbtd.break_("service-restart", "hbtd", seconds=60)
    hbtd.site.machine.boot.begin_shutdown(node)
    hbtd.step(59.0)
    assert hbtd.component(node) == ("Ready", "OK")
    hbtd.step(7.0)
    assert hbtd.component(node) == ("Ready", "Warning")
    assert hbtd.get("/params")["Debug"] == "0"
    hbtd.step(25.0)
    assert hbtd.component(node) == ("Standby", "Alert")
