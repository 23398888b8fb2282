"""The control commands of ``csm-emulator``: their output, and their answers to mistakes of the user."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from csm_emulator.process import Emulator, emulate

COMMAND = Path(sys.executable).with_name("csm-emulator")
NODE, OTHER = "x1000c0s0b0n0", "x1000c0s1b0n0"


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(scope="module")
def running() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0") as machine:
        yield machine


@pytest.fixture
def machine(running: Emulator) -> Iterator[Emulator]:
    yield running
    running.clear()


def output_of(machine: Emulator, *arguments: str) -> str:
    ran = command(*arguments, CSM_EMULATOR=machine.control)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def error_of(machine: Emulator, *arguments: str) -> str:
    ran = command(*arguments, CSM_EMULATOR=machine.control)
    assert ran.returncode != 0
    assert ran.stdout == ""
    return ran.stderr


@pytest.mark.parametrize(
    ("arguments", "columns"),
    [
        (["cfs-layer-fails", OTHER, "layer=0"], f"cfs-layer-fails  {OTHER} layer=0"),
        (["cfs-layer-fails", OTHER, "layer=2026.10"], f"cfs-layer-fails  {OTHER} layer=2026.10"),
        (["latency", "smd", "seconds=30", "method=GET"], "latency  smd seconds=30 method=GET"),
        (["port-drift", "x1000c0r3j1p0", "native=1"], "port-drift  x1000c0r3j1p0 native=1"),
    ],
)
def test_facts_are_shown_as_they_were_written(machine: Emulator, arguments: list[str], columns: str) -> None:
    assert output_of(machine, "fault", "set", *arguments).split("  ", 1)[1] == f"{columns}\n"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["cfs-layer-fails", NODE, "lyer=1"], "takes layer=, task=, not lyer="),
        (["server-error", "smdd"], 'did you mean "smd"?'),
        (["no-power-on", "x1000c0s0b0"], "x1000c0s0b0 is a NodeBMC"),
        (["server-error", "smd", "status=200"], "takes status= from 500 to 504, not '200'"),
    ],
)
def test_a_fault_that_could_never_strike_is_refused(machine: Emulator, arguments: list[str], why: str) -> None:
    message = error_of(machine, "fault", "set", *arguments)
    assert why in message
    assert message.count("\n") == 1
    body = {"kind": arguments[0], "targets": arguments[1], "facts": dict(fact.split("=") for fact in arguments[2:])}
    answer = machine.send("POST", f"{machine.control}/faults", json.dumps(body))
    assert (answer.status, f"csm-emulator: {answer.json()['detail']}\n") == (400, message)


def test_what_was_cleared_is_shown(machine: Emulator) -> None:
    first = output_of(machine, "fault", "set", "boot-hangs", NODE, "stage=pxe")
    second, third = (output_of(machine, "fault", "set", "server-error", name, "--next", "2") for name in ("smd", "pcs"))
    assert output_of(machine, "fault", "clear", first.split()[0]) == first
    assert output_of(machine, "fault", "clear", "--all") == second + third
    assert output_of(machine, "fault", "clear", "--all") == "no faults\n"


def test_what_happens_once_is_not_broken_for_ever(machine: Emulator) -> None:
    output_of(machine, "fault", "set", "port-drift", "x1000c0r3j1p0", "native=1")
    restart = output_of(machine, "fault", "set", "console-restart", "cray-console-node-0", "seconds=60")
    machine.step(59)
    assert output_of(machine, "fault", "list") == restart
    machine.step(2)
    assert output_of(machine, "fault", "list") == "no faults\n"


def test_the_log_names_the_fault(machine: Emulator) -> None:
    name = output_of(machine, "fault", "set", "boot-hangs", NODE, "stage=pxe").split()[0]
    output_of(machine, "fault", "clear", name)
    lines = output_of(machine, "log").splitlines()
    assert any(line.endswith(f"  fault-set  {NODE} boot-hangs {name} stage=pxe  (control API)") for line in lines)
    assert any(line.endswith(f"  fault-cleared  {NODE} boot-hangs {name} stage=pxe  (control API)") for line in lines)


def test_pods_are_shown_in_columns_with_their_containers(machine: Emulator) -> None:
    lines = output_of(machine, "pods").splitlines()
    pods = machine.ask_control("GET", "/pods")["pods"]
    starts = [line.index(pod["name"], len(pod["namespace"])) for line, pod in zip(lines, pods, strict=True)]
    assert len(set(starts)) == 1
    states = [line.split("  ")[-1].strip() for line in lines]
    assert states == [", ".join(pod["containers"]) for pod in pods]


def test_a_pod_with_one_container_needs_no_name_of_it(machine: Emulator) -> None:
    pods = machine.ask_control("GET", "/pods")["pods"]
    single = next(pod for pod in pods if len(pod["containers"]) == 1)
    (container,) = single["containers"]
    assert output_of(machine, "pod-log", single["name"]) == output_of(machine, "pod-log", single["name"], container)


def test_the_examples_of_the_help_name_pods_that_there_are(machine: Emulator) -> None:
    example = next(line for line in output_of(machine, "pod-log", "--help").splitlines() if "cray-" in line)
    output_of(machine, *example.replace("--follow", "").split()[1:])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["probe", NODE], "Missing argument 'TO'.\nTry: csm-emulator probe --help"),
        (
            ["clock", "step", "-5"],
            "time only moves forward: use 0 or more, not -5\nTry: csm-emulator clock step --help",
        ),
        (["clock", "speed", "-.5"], "time only moves forward"),
        (["clock", "step", "1e9"], "seconds must be from 0 to 31622400"),
        (
            ["status", "--control", "foo"],
            "--control is not the URL of a control API: 'foo'; it looks like http://127.0.0.1:",
        ),
        (["status", "--control", "http://127.0.0.1:port/key"], "--control is not the URL of a control API"),
        (["statsu"], "psi, tiny; did you mean `csm-emulator status`?"),
    ],
)
def test_a_mistake_is_explained(machine: Emulator, arguments: list[str], why: str) -> None:
    assert why in error_of(machine, *arguments)


def test_a_bad_state_is_named_as_the_user_named_it(machine: Emulator, tmp_path: Path) -> None:
    bad = tmp_path / "bad.state"
    bad.write_text("this is no state at all, whatever its name may say" * 100)
    message = error_of(machine, "load", str(bad))
    assert f"{bad} cannot be read as a state: it is not a state of the emulator" in message
    assert "/saved" not in message


@pytest.mark.parametrize("text", ["[]", '[{"Xname": "x1000"}]', '{"a": 1}', '{"Hardware": {}}', "null", "{"])
def test_what_is_no_dump_of_sls_is_no_machine(tmp_path: Path, text: str) -> None:
    dump = tmp_path / "hw.json"
    dump.write_text(text)
    completed = command(str(dump), "--port", "0", XDG_RUNTIME_DIR=str(tmp_path))
    assert completed.returncode != 0
    assert f"{dump} is not an SLS dump: " in completed.stderr
    assert "cray sls dumpstate list" in completed.stderr


def test_every_path_of_the_ready_line_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with emulate("tiny", "--state", "keep.state") as machine:
        assert Path(machine.ca or "").parent == tmp_path / "keep.state.tls"
        assert machine.kubeconfig == str(tmp_path / "keep.state.tls" / "kubeconfig")
        assert machine.ask_control("GET", "/status")["state"] == str(tmp_path / "keep.state")
