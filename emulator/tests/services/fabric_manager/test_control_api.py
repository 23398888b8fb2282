"""End to end: the gateway, documents, switches, and the state of ports on the control API and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from csm_emulator.process import Emulator, emulate
from machine.fabric.network import ONE, THREE, TWO

CANTON = Path(sys.executable).with_name("canton")
PORT = "x1000c0r3j1p0"


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0") as running:
        yield running


def manage(machine: Emulator, method: str, path: str, body: Any = None) -> Any:
    """A request through the gateway, as an administrator."""
    headers = {"Authorization": f"Bearer {machine.token('admin')}", "Content-Type": "application/json"}
    url = f"{machine.url}/apis/fabric-manager{path}"
    answer = machine.send(method, url, None if body is None else json.dumps(body), headers)
    assert answer.status == 200, answer.body
    return answer.json()


def command(machine: Emulator, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CSM_EMULATOR": machine.control}
    return subprocess.run(
        [CANTON, "emulate", "probe", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_documents_truth_and_drift(machine: Emulator) -> None:
    manage(machine, "POST", "/fabric/vlans", {"id": 100, "name": "blue", "status": "ONLINE"})
    link = "/fabric/vlans/100"
    policy = {"documentSelfLink": "blue", "nativeVlanId": link, "allowedVlans": [link], "isUntaggedAllowed": True}
    policy_link = manage(machine, "POST", "/fabric/port-policies", policy)["documentSelfLink"]
    links = manage(machine, "GET", f"/fabric/ports/{PORT}")["portPolicyLinks"]
    manage(machine, "PATCH", f"/fabric/ports/{PORT}", {"portPolicyLinks": [policy_link, *links]})
    (port,) = machine.ask_control("GET", f"/fabric/ports?port={PORT}")["ports"]
    assert (port["effective"]["native"], port["intended"]["native"]) == (1, 100)
    assert [entry["port"] for entry in machine.ask_control("GET", "/fabric/ports?differs=true")["ports"]] == [PORT]
    machine.step(30)
    assert machine.ask_control("GET", "/fabric/ports?differs=true")["ports"] == []
    assert machine.part(PORT)["effective"]["native"] == 100
    result = machine.ask_control("POST", "/fabric/probe", {"from": ONE, "to": [TWO, THREE]})
    assert result["counts"] == {"pairs": 2, "reached": 0}
    machine.fault("port-drift", PORT, facts={"native": 1, "allowed": "1"})
    groups = machine.ask_control("POST", "/fabric/probe", {"groups": {"one": ONE, "others": [TWO, THREE]}})
    assert {(pair["from"], pair["to"]): pair["reached"] for pair in groups["between"]}["one", "others"] == 2
    assert [entry["port"] for entry in machine.ask_control("GET", "/fabric/ports?differs=true")["ports"]] == [PORT]


def test_mistakes_are_explained(machine: Emulator) -> None:
    for path, body in (("/fabric/probe", {"from": ONE}), ("/fabric/probe", [])):
        answer = machine.send("POST", machine.control + path, json.dumps(body))
        assert answer.status == 400
        assert answer.json()["detail"]
    assert machine.send("GET", f"{machine.control}/fabric/ports?port=x1").status == 404


def test_people_ask_on_the_command_line(machine: Emulator) -> None:
    completed = command(machine, "x1000c0s0b1n0", "x1000c0s0b0n1,x1000c0s0b1n1")
    assert completed.stdout.splitlines() == [
        f"{TWO} → {THREE}  reached (untagged)",
        f"{TWO} → x1000c0s0b1n1h0  reached (untagged)",
        "2 of 2 reached",
    ]
    tagged = command(machine, TWO, THREE, "--vlan", "7")
    assert tagged.stdout.splitlines() == [
        f"{TWO} → {THREE}  not reached: x1000c0r3j1p1 accepts no frames of VLAN 7",
        "0 of 1 reached",
    ]
    result = json.loads(command(machine, TWO, THREE, "--vni", "5", "--json").stdout)
    assert (result["kind"], result["vni"], result["counts"]["reached"]) == ("vni", 5, 1)
    assert "is not up" in command(machine, "x1000c0s0b1n0", THREE, "--ip").stdout
    assert command(machine, TWO, THREE, "--vni", "5", "--ip").returncode == 2
    unknown_target = command(machine, TWO, "x9c0s0b0n0")
    assert unknown_target.returncode != 0
    assert "no node and no NIC x9c0s0b0n0" in unknown_target.stderr
