"""A session continues when the emulator restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from service_client import open_site
from services.cfs_runs.lab import NODE, OTHER, Lab

TASKS = "- hosts: all\n  tasks:\n" + "    - shell: echo {{ inventory_hostname }}\n      register: r\n" * 6


def history(path: Path, restarts: tuple[float, ...], fall: float = 0.0) -> tuple[object, ...]:
    """All that clients see of a session, with a restart of the emulator at these moments."""
    lab = Lab(open_site(path))
    lab.do("PATCH", "/options", {"batcher_disable": True})
    lab.configure("c", lab.layer("one", TASKS), lab.layer("two", TASKS))
    lab.start("s", "c", NODE, OTHER)
    for moment in sorted({*restarts, *([fall] if fall else []), 600.0}):
        lab.site.step(moment - lab.now)
        if moment == fall:
            lab.site.machine.boot.begin_shutdown(OTHER)
        if moment in restarts:
            lab = lab.reopened()
    states = [lab.states(xname) for xname in (NODE, OTHER)]
    return lab.status("s"), lab.all_logs("s"), states, lab.pods("s")[0].phase


@pytest.mark.parametrize("fall", [0.0, 100.0])
def test_a_restart_changes_nothing_for_clients(tmp_path: Path, fall: float) -> None:
    whole = history(tmp_path / "whole.state", (), fall)
    assert whole[3] == ("Failed" if fall else "Succeeded")
    cut = history(tmp_path / "cut.state", (0.2, 5.0, 13.0, 17.0, 21.0, 40.0, 100.0, 101.0, 150.0, 220.0), fall)
    assert cut == whole


def test_an_image_too(tmp_path: Path) -> None:
    outcomes = []
    for restarts in ((), (10.0, 30.0, 100.0, 170.0, 200.0, 230.0)):
        lab = Lab(open_site(tmp_path / f"{len(restarts)}.state"))
        lab.configure("c", lab.layer("one", "- hosts: all\n  tasks:\n    - shell: echo a\n    - shell: echo b\n"))
        image = lab.ims.get("/images")[0]["id"]
        groups = [{"name": "Compute", "members": [image]}]
        lab.start("s", "c", target={"definition": "image", "groups": groups})
        for moment in (*restarts, 900.0):
            lab.site.step(moment - lab.now)
            lab = lab.reopened()
        outcomes.append((lab.cfs.get("/sessions/s"), lab.all_logs("s"), lab.ims.get("/images")))
    assert outcomes[0][0]["status"]["session"]["succeeded"] == "true"
    assert outcomes[0] == outcomes[1]
