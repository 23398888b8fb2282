"""An emulator that is killed at any moment continues from its state, up to its last second."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

from csm_emulator.process import Emulator, emulate

JSON = {"Content-Type": "application/json"}


def nodes(machine: Emulator) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = machine.ask_control("GET", "/parts?type=Node")["parts"]
    return parts


def test_a_killed_machine_finishes_what_it_had_begun(tmp_path: Path) -> None:
    state = str(tmp_path / "machine.state")
    with emulate("tiny", "--state", state, "--speed", "5") as machine:
        off = [str(node["xname"]) for node in nodes(machine) if node["power"] == "off"]
        order = json.dumps({"operation": "on", "location": [{"xname": node} for node in off]})
        pcs = machine.services["pcs"] + "/v1/transitions"
        transition = machine.send("POST", pcs, order, JSON).json()["transitionID"]
        label = json.dumps({"label": "kept", "members": {"ids": off[:1]}})
        assert machine.send("POST", machine.services["smd"] + "/hsm/v2/groups", label, JSON).status == 201
        password, time_before = machine.password("admin"), machine.ask_control("GET", "/clock")["moment"]
        time.sleep(2.5)
        os.kill(machine.pid, signal.SIGKILL)
    with emulate("tiny", "--state", state, "--speed", "0") as machine:
        assert machine.password("admin") == password
        moment = machine.ask_control("GET", "/clock")["moment"]
        assert time_before < moment <= time_before + 60
        smd = machine.services["smd"]
        assert machine.send("GET", smd + "/hsm/v2/groups/kept/members").json() == {"ids": off[:1]}
        machine.speed(0)
        machine.step(1200)
        record = machine.send("GET", f"{machine.services['pcs']}/v1/transitions/{transition}").json()
        assert record["transitionStatus"] == "completed"
        assert record["taskCounts"]["succeeded"] == len(off)
        assert {node["xname"]: node["beating"] for node in nodes(machine)} == {
            node["xname"]: True for node in nodes(machine)
        }
        numbers = [entry["number"] for entry in machine.log()]
        assert numbers == list(range(1, len(numbers) + 1))


def test_the_same_seed_tells_the_same_story(tmp_path: Path) -> None:
    def story(seed: str) -> list[dict[str, object]]:
        options = ["--speed", "0", "--begin", "2026-01-31T12:00:00Z", "--seed", seed]
        with emulate("tiny", *options) as machine:
            off = [str(node["xname"]) for node in nodes(machine) if node["power"] == "off"]
            order = json.dumps({"operation": "on", "location": [{"xname": node} for node in off]})
            machine.send("POST", machine.services["pcs"] + "/v1/transitions", order, JSON)
            for _ in range(10):
                machine.step(60)
            return machine.log()

    first = story("7")
    assert len(first) > 20
    assert story("7") == first
    assert story("8") != first
