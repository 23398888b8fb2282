"""Fifty clients at once read, write, set faults and move time; then the machine restarts."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from csm_emulator.process import Answer, Emulator, emulate

CLIENTS = 50
ROUNDS = 12
JSON = {"Content-Type": "application/json"}
LONGEST = 3600.0


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "machine.state"


@pytest.fixture
def machine(state: Path) -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0", "--state", str(state)) as running:
        yield running


class Clients:
    """The actions of one client, each with a number of its own."""

    def __init__(self, machine: Emulator, folder: Path) -> None:
        self.machine = machine
        self.folder = folder
        self.nodes = [str(part["xname"]) for part in machine.ask_control("GET", "/parts?type=Node")["parts"]]
        self.transitions: list[str] = []
        self.made: dict[str, list[str]] = {}
        self.stepped: list[float] = []
        self.lock = threading.Lock()
        self.deeds: list[Callable[[int], None]] = [
            self.read,
            self.group,
            self.hold,
            self.power,
            self.break_and_mend,
            self.step,
            self.boot_parameters,
            self.save,
        ]

    def run(self, client: int) -> None:
        for turn in range(ROUNDS):
            self.deeds[(client + turn) % len(self.deeds)](client + turn * CLIENTS)

    def ask(self, service: str, method: str, path: str, body: Any = None) -> Answer:
        data = None if body is None else json.dumps(body)
        answer = self.machine.send(method, self.machine.services[service] + path, data, JSON)
        assert answer.status != 500, answer.body
        return answer

    def read(self, _: int) -> None:
        token = self.machine.token()
        answer = self.machine.send(
            "GET", self.machine.url + "/apis/smd/hsm/v2/State/Components", headers={"Authorization": f"Bearer {token}"}
        )
        # All of them or, behind a fault, none.
        assert answer.status == 503 or len(answer.json()["Components"]) > len(self.nodes)
        self.ask("pcs", "GET", "/v1/power-status")

    def group(self, number: int) -> None:
        label = f"g{number}"
        members = [self.nodes[(number + offset) % len(self.nodes)] for offset in range(3)]
        answer = self.ask("smd", "POST", "/hsm/v2/groups", {"label": label, "members": {"ids": members}})
        if answer.status == 201:
            with self.lock:
                self.made[label] = members

    def hold(self, number: int) -> None:
        body = {"ComponentIDs": [self.nodes[number % len(self.nodes)]], "ProcessingModel": "flexible"}
        self.ask("smd", "POST", "/hsm/v2/locks/lock", body)
        self.ask("smd", "POST", "/hsm/v2/locks/unlock", body)

    def power(self, number: int) -> None:
        operation = ("on", "soft-off", "force-off", "hard-restart")[number % 4]
        location = [{"xname": node} for node in self.nodes[number % 3 :: 3]]
        answer = self.ask("pcs", "POST", "/v1/transitions", {"operation": operation, "location": location})
        if answer.status == 200:
            with self.lock:
                self.transitions.append(answer.json()["transitionID"])

    def break_and_mend(self, number: int) -> None:
        kinds = [("no-power-on", self.nodes[number % len(self.nodes)]), ("server-error", "smd"), ("boot-hangs", "*")]
        kind, targets = kinds[number % len(kinds)]
        self.machine.clear(self.machine.fault(kind, targets))

    def step(self, number: int) -> None:
        seconds = 1.0 + number % 50
        self.machine.step(seconds)
        with self.lock:
            self.stepped.append(seconds)

    def boot_parameters(self, number: int) -> None:
        body = {"hosts": [f"host{number % 20}"], "params": f"number={number}", "kernel": "s3://boot/kernel"}
        self.ask("bss", "PUT", "/boot/v1/bootparameters", body)

    def save(self, number: int) -> None:
        self.machine.ask_control("POST", "/save", {"path": str(self.folder / f"copy{number % CLIENTS}")})


def snapshot(machine: Emulator) -> dict[str, Any]:
    """The state as the services and the control API report it."""
    requests = {
        "smd": ("/hsm/v2/State/Components", "/hsm/v2/groups", "/hsm/v2/locks/status"),
        "pcs": ("/v1/transitions",),
        "bss": ("/boot/v1/bootparameters",),
    }
    replies: dict[str, Any] = {
        path: machine.send("GET", machine.services[service] + path).json()
        for service, paths in requests.items()
        for path in paths
    }
    return replies | {
        "parts": machine.ask_control("GET", "/parts"),
        "log": machine.log(),
        "clock": machine.ask_control("GET", "/clock"),
        "faults": machine.ask_control("GET", "/faults")["faults"],
    }


def check_log(machine: Emulator, parts_before: list[dict[str, Any]]) -> None:
    """The log has no gap, is in order, and its entries add up to the power state of every part."""
    log = machine.log()
    assert [entry["number"] for entry in log] == list(range(1, len(log) + 1))
    power = {part["xname"]: part["power"] for part in parts_before}
    for entry in log:
        if entry["what"] in ("power-on", "power-off"):
            assert power[entry["target"]] != entry["what"].removeprefix("power-"), entry
            power[entry["target"]] = entry["what"].removeprefix("power-")
            assert entry["cause"]
    for part in machine.ask_control("GET", "/parts?type=Node")["parts"]:
        assert part["power"] == power[part["xname"]]


def test_fifty_clients_leave_a_whole_machine(machine: Emulator, state: Path, tmp_path: Path) -> None:
    parts_before = machine.ask_control("GET", "/parts")["parts"]
    began = machine.ask_control("GET", "/clock")["moment"]
    clients = Clients(machine, tmp_path)
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(clients.run, range(CLIENTS)))
    machine.clear()

    assert machine.ask_control("GET", "/clock")["moment"] == pytest.approx(began + sum(clients.stepped), abs=0.01)
    groups = {group["label"]: group for group in machine.send("GET", machine.services["smd"] + "/hsm/v2/groups").json()}
    for label, members in clients.made.items():
        assert sorted(groups[label]["members"]["ids"]) == sorted(set(members))
    assert {label for label in groups if label[1:2].isdigit()} == set(clients.made)
    check_log(machine, parts_before)

    machine.step(LONGEST)
    for transition in clients.transitions:
        record = machine.send("GET", f"{machine.services['pcs']}/v1/transitions/{transition}").json()
        assert record["transitionStatus"] == "completed"
        assert sum(count for name, count in record["taskCounts"].items() if name != "total") == len(record["tasks"])
    status = machine.send("GET", machine.services["smd"] + "/hsm/v2/locks/status?reserved=true").json()
    assert not status["Components"]
    check_log(machine, parts_before)

    copy = tmp_path / "last"
    machine.ask_control("POST", "/save", {"path": str(copy)})
    then = snapshot(machine)
    assert len(clients.transitions) > CLIENTS
    with emulate("tiny", "--state", str(copy)) as copied_machine:
        assert snapshot(copied_machine) == then
