"""The control API: ground truth, faults, time, and its key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from csm_emulator.process import Emulator, emulate


@pytest.fixture(scope="module")
def machine() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0", "--begin", "2026-01-31T12:00:00Z") as running:
        yield running


def a_node(machine: Emulator) -> str:
    nodes = machine.ask_control("GET", "/parts?type=Node")["parts"]
    return next(str(part["xname"]) for part in nodes if part["power"] == "off")


def power(machine: Emulator, node: str, operation: str) -> None:
    body = json.dumps({"operation": operation, "location": [{"xname": node}]})
    url = machine.services["pcs"] + "/v1/transitions"
    assert machine.send("POST", url, body, {"Content-Type": "application/json"}).status == 200


def test_time_stands_still_until_it_is_stepped(machine: Emulator) -> None:
    clock_before = machine.ask_control("GET", "/clock")
    assert clock_before["now"].startswith("2026-01-31T12:00:00")
    machine.step(90)
    assert machine.ask_control("GET", "/clock")["moment"] == clock_before["moment"] + 90


def test_log_entries_are_in_order_and_have_a_cause(machine: Emulator) -> None:
    node, last = a_node(machine), machine.ask_control("GET", "/status")["log"]
    power(machine, node, "on")
    machine.step(600)
    log = [entry for entry in machine.log(last) if entry["target"] == node]
    assert [entry["what"] for entry in log[:2]] == ["power-order", "power-on"]
    assert [entry["stage"] for entry in log if entry["what"] == "boot-stage"] == [
        "post",
        "pxe",
        "kernel",
        "systemd",
        "up",
    ]
    assert all(entry["cause"] for entry in log)
    numbers = [entry["number"] for entry in machine.log(0)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert machine.part(node)["power"] == "on"
    assert machine.part(node)["beating"] is True


def test_wrong_cables_and_disk_remnants_are_shown(machine: Emulator) -> None:
    nodes = machine.ask_control("GET", "/parts?type=Node")["parts"]
    (one, first), (two, second) = [
        (str(node["xname"]), port) for node in nodes for port in node["cables"].values() if port
    ][:2]
    swapped = machine.fault("wrong-cabling", first, facts={"with": second})
    assert second in machine.part(one)["cables"].values()
    assert first in machine.part(two)["cables"].values()
    machine.clear(swapped)
    assert first in machine.part(one)["cables"].values()
    (rack,) = [str(node["xname"]) for node in nodes if node["class"] == "River"]
    assert machine.part(rack)["remnants"] is None
    remnants = machine.fault("disk-remnants", rack, facts={"of": "psi"})
    assert machine.part(rack)["remnants"]["of"] == "psi"
    machine.clear(remnants)


def test_a_saved_machine_goes_on_where_it_was(machine: Emulator, tmp_path: Path) -> None:
    node = a_node(machine)
    saved = tmp_path / "monday.state"
    machine.ask_control("POST", "/save", {"path": str(saved)})
    then = machine.ask_control("GET", "/status")
    power(machine, node, "on")
    machine.step(600)
    assert machine.part(node)["power"] == "on"
    machine.ask_control("POST", "/load", {"path": str(saved)})
    assert machine.ask_control("GET", "/status") == then
    assert machine.part(node)["power"] == "off"


@pytest.mark.parametrize("text", [b"", b"no database at all", b"SQLite format 3\0" + b"\0" * 4000])
def test_what_is_no_state_is_refused_and_changes_nothing(machine: Emulator, tmp_path: Path, text: bytes) -> None:
    then = machine.ask_control("GET", "/status")
    file = tmp_path / "other"
    file.write_bytes(text)
    with pytest.raises(RuntimeError, match="other"):
        machine.ask_control("POST", "/load", {"path": str(file)})
    assert machine.ask_control("GET", "/status") == then
    assert file.read_bytes() == text


def test_a_missing_folder_is_named(machine: Emulator, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot be saved"):
        machine.ask_control("POST", "/save", {"path": str(tmp_path / "no" / "where")})


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/faults", {"kind": "earthquake"}, "no kind of fault is called 'earthquake'"),
        ("/faults", {"kind": "latency", "probability": 2}, "probability must be from 0 to 1"),
        ("/faults", {"kind": "latency", "probability": "often"}, "probability must be a number"),
        ("/faults", {"kind": "latency", "remaining": 0}, "remaining must be at least 1"),
        ("/faults", {"kind": "latency", "colour": "red"}, "a fault has no field colour"),
        ("/faults", {"kind": "no-power-on", "targets": "x1000c["}, "x1000c"),
        ("/clock/step", {"seconds": -1}, "seconds must be from 0"),
        ("/clock/step", {"seconds": "long"}, "seconds must be a number"),
        ("/clock/step", [], "a JSON object"),
        ("/save", {"path": 5}, "path must name a file"),
        ("/load", {"path": "/nowhere/at/all"}, "does not exist"),
        ("/earthquake", {}, "the control API has no POST /earthquake"),
    ],
)
def test_mistakes_are_explained(machine: Emulator, path: str, body: object, message: str) -> None:
    with pytest.raises(RuntimeError, match=message.replace("[", r"\[")):
        machine.ask_control("POST", path, body)


def test_the_address_has_a_key_that_others_do_not_know(machine: Emulator) -> None:
    place = urlsplit(machine.control)
    for path in ("/status", "/", "", "/x/status", f"/{'a' * len(place.path[1:])}/status", "/%ff/status"):
        answer = machine.send("GET", f"http://{place.netloc}{path}")
        assert answer.status == 404
        assert place.path not in answer.body.decode()


def test_no_web_page_may_pull_the_switches(machine: Emulator) -> None:
    assert machine.send("GET", machine.control + "/status", headers={"Origin": "https://evil.example"}).status == 403
    assert machine.send("GET", machine.control + "/status", headers={"Host": "rebound.example"}).status == 403
    assert machine.send("GET", machine.control + "/status").status == 200
