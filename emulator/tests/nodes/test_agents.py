"""Requests of the nodes' own agents to BOS and CFS."""

from __future__ import annotations

from pathlib import Path

import pytest

from csm_emulator.machine.boot import UP
from csm_emulator.transport.call import Reply
from service_client import Spy, open_site, reopen

NODE = "x1000c0s1b1n1"


def _boot(path: Path, params: str) -> Spy:
    site = open_site(path)
    spy = Spy(site)
    body = {"hosts": [NODE], "kernel": "s3://boot-images/abc/kernel", "params": params}
    assert site.mesh.ask("bss", "PUT", "/boot/v1/bootparameters", body).ok
    site.machine.power.reset(NODE, "On", "test")
    site.step(900)
    return spy


def test_a_node_that_came_up_tells_both(tmp_path: Path) -> None:
    spy = _boot(tmp_path / "state", "quiet")
    site = spy._site
    token = site.machine.boot.record(NODE)["parameters"].partition("bss_referral_token=")[2].split()[0]
    assert spy.bodies(f"/v2/components/{NODE}")[0]["actual_state"] == {"bss_token": token}
    assert spy.bodies(f"/v3/components/{NODE}") == [{"state": [], "enabled": True}]
    assert site.mesh.ask("bos", "GET", f"/v2/components/{NODE}").json()["actual_state"]["bss_token"] == token
    site.state_file.close()


@pytest.mark.parametrize(
    ("params", "hours"),
    [
        ("quiet", 3.0),
        ("bos_update_frequency=1h", 0.75),
        ("bos_update_frequency=1w", 126.0),
        ("bos_update_frequency=x", 3.0),
    ],
)
def test_it_comes_again_before_bos_forgets_it(tmp_path: Path, params: str, hours: float) -> None:
    """The first request comes after a random part of the interval, so that the nodes do not all ask at once."""
    spy = _boot(tmp_path / "state", params)
    site = spy._site
    assert len(spy.bodies(f"/v2/components/{NODE}")) == 1
    passed = 0.0
    while len(spy.bodies(f"/v2/components/{NODE}")) == 1:
        site.step(60)
        passed += 60
        assert passed < hours * 3600
    assert passed < hours * 3600 - 900, "the dice fell close to the whole interval: take another node"
    site.step(hours * 3600 - 61)
    assert len(spy.bodies(f"/v2/components/{NODE}")) == 2
    site.step(61)
    assert len(spy.bodies(f"/v2/components/{NODE}")) == 3
    site.state_file.close()


@pytest.mark.parametrize("silent", ["bos", "cfs"])
def test_an_unanswered_agent_repeats_its_report(tmp_path: Path, silent: str) -> None:
    spy = _boot(tmp_path / "state", "quiet")
    site = spy._site
    site.machine.power.reset(NODE, "ForceOff", "test")
    site.step(60)
    spy.calls.clear()
    spy.instead[silent] = Reply(503)
    site.machine.power.reset(NODE, "On", "test")
    while site.machine.boot.record(NODE)["stage"] != UP:
        site.step(1)
    path = {"bos": f"/v2/components/{NODE}", "cfs": f"/v3/components/{NODE}"}[silent]
    other_path = {"bos": f"/v3/components/{NODE}", "cfs": f"/v2/components/{NODE}"}[silent]
    assert (len(spy.bodies(path)), len(spy.bodies(other_path))) == (1, 1)
    site.step(2 + 4 + 6 + 8 + 10 + 1)
    assert len(spy.bodies(path)) == 6
    site.step(12 + 14 + 16 + 18 + 20 + 22 + 24 + 26 + 28 + 10 * 30)
    assert len(spy.bodies(path)) == 25
    site = reopen(site)
    second_spy = Spy(site)
    site.step(30)
    assert len(second_spy.bodies(path)) == 1
    site.step(120)
    assert len(second_spy.bodies(path)) == 1
    token = site.machine.boot.record(NODE)["parameters"].partition("bss_referral_token=")[2].split()[0]
    assert site.mesh.ask("bos", "GET", f"/v2/components/{NODE}").json()["actual_state"]["bss_token"] == token
    assert site.mesh.ask("cfs", "GET", f"/v3/components/{NODE}").json()["enabled"]
    site.state_file.close()


def test_a_node_that_is_off_reports_nothing(tmp_path: Path) -> None:
    spy = _boot(tmp_path / "state", "quiet")
    spy._site.machine.power.reset(NODE, "ForceOff", "test")
    count_before = len(spy.bodies(f"/v2/components/{NODE}"))
    spy._site.step(4 * 3600)
    assert len(spy.bodies(f"/v2/components/{NODE}")) == count_before
    spy._site.state_file.close()
