"""Sessions at the size of a site."""

from __future__ import annotations

import time
from pathlib import Path

from service_client import open_site
from services.cfs_runs.lab import Lab

TEN = "".join(
    f"    - name: Task {number}\n      {module}\n      when: not cray_cfs_image\n"
    for number, module in enumerate(["file: {path: /x}", "command: /usr/bin/thing {{ inventory_hostname }}"] * 5)
)


def test_a_hundred_batches_at_once(tmp_path: Path) -> None:
    """Seconds. 400 nodes are to take less than 25 s of this machine; the test has a quarter of them and a margin."""
    lab = Lab(open_site(tmp_path / "alps.state", "alps"))
    lab.do("PATCH", "/options", {"batcher_disable": True})
    lab.configure("c", lab.layer("one", f"- hosts: Compute\n  tasks:\n{TEN}"))
    machine = lab.site.machine
    up = [part.xname for part in machine.parts("Node") if machine.boot.sends_heartbeats(part.xname)]
    nodes = [xname for xname in up if (place := machine.place(xname)) and place.role == "Compute"][:2500]
    began = time.process_time()
    for number in range(100):
        lab.start(f"s{number}", "c", *nodes[number * 25 :][:25])
    lab.site.step(600)
    spent = time.process_time() - began
    ended = [session["status"]["session"]["succeeded"] for session in lab.cfs.get("/sessions")["sessions"]]
    assert ended == ["true"] * 100
    assert spent < 6.0


def test_the_whole_machine_in_one(tmp_path: Path) -> None:
    lab = Lab(open_site(tmp_path / "alps.state", "alps"))
    lab.configure("c", lab.layer("one", f"- hosts: all\n  tasks:\n{TEN}"))
    began = time.process_time()
    lab.start("s", "c")
    lab.site.step(600)
    assert time.process_time() - began < 10.0
    assert lab.status("s")["succeeded"] == "false", "some node is always down"
    assert lab.text("s").count(" : ok=11 ") > 4000
