"""What nodes tell BOS and CFS by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.service_client import Spy, open_site

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
    site.kept.close()


@pytest.mark.parametrize(
    ("params", "hours"), [("quiet", 3.0), ("bos_update_frequency=1h", 0.75), ("bos_update_frequency=x", 3.0)]
)
def test_it_comes_again_before_bos_forgets_it(tmp_path: Path, params: str, hours: float) -> None:
    spy = _boot(tmp_path / "state", params)
    before = len(spy.bodies(f"/v2/components/{NODE}"))
    spy._site.step(hours * 3600 - 901)
    assert len(spy.bodies(f"/v2/components/{NODE}")) == before
    spy._site.step(901)
    assert len(spy.bodies(f"/v2/components/{NODE}")) == before + 1
    spy._site.kept.close()


def test_a_node_that_is_off_says_nothing(tmp_path: Path) -> None:
    spy = _boot(tmp_path / "state", "quiet")
    spy._site.machine.power.reset(NODE, "ForceOff", "test")
    before = len(spy.bodies(f"/v2/components/{NODE}"))
    spy._site.step(4 * 3600)
    assert len(spy.bodies(f"/v2/components/{NODE}")) == before
    spy._site.kept.close()
