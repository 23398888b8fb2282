"""``csm-emulator`` as people and scripts use it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import IO

import pytest

from csm_emulator.process import Emulator, emulate

COMMAND = Path(sys.executable).with_name("csm-emulator")


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
def machine() -> Iterator[Emulator]:
    with emulate("tiny", "--speed", "0") as running:
        yield running


def emulated(machine: Emulator, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command(*arguments, CSM_EMULATOR=machine.control)


def test_the_greeting_has_addresses_and_examples(tmp_path: Path) -> None:
    arguments = [str(COMMAND), "tiny", "--port", "0"]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        # Without the last line, reading would wait for ever.
        limit = Timer(60, run.kill)
        limit.start()
        try:
            output = "".join(_until(run.stdout, "Ctrl-C stops it."))
            assert re.search(r"gateway +https://127\.0\.0\.1:\d+\n", output)
            ca = re.search(r"CA +(\S+)\n", output)
            assert ca
            assert "BEGIN CERTIFICATE" in Path(ca[1]).read_text()
            assert len(re.findall(r"^  (?:TOKEN=\$\()?curl ", output, re.MULTILINE)) == 3
            for line in [line for line in output.splitlines() if line.startswith("  curl ")]:
                token = next(line for line in output.splitlines() if line.startswith("  TOKEN="))
                completed = subprocess.run(
                    ["/bin/sh", "-c", f"{token}\n{line}"], capture_output=True, text=True, check=True
                )
                assert "x1000c0" in completed.stdout
            status_run = command("status", XDG_RUNTIME_DIR=str(tmp_path))
            assert "tiny" in status_run.stdout
        finally:
            limit.cancel()
            run.send_signal(signal.SIGINT)
            assert run.wait(15) == 0
    assert command("status", XDG_RUNTIME_DIR=str(tmp_path)).returncode == 3


def _until(stream: IO[str] | None, last: str) -> Iterator[str]:
    assert stream
    for line in stream:
        yield line
        if line.startswith(last):
            return


def test_programs_get_one_line(tmp_path: Path) -> None:
    command = [str(COMMAND), "tiny", "--port", "0", "--json", "--plain"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        description = json.loads(run.stdout.readline())
        run.send_signal(signal.SIGTERM)
        assert run.stdout.read() == ""
        assert run.wait(15) == 0
    assert description["url"].startswith("http://127.0.0.1:")
    assert description["ca"] is None
    assert description["services"] == {}
    assert {"username", "password", "roles"} <= set(description["users"][0])
    assert description["control"].startswith("http://127.0.0.1:")


def test_with_services_each_has_a_listener_of_its_own(machine: Emulator) -> None:
    assert {"smd", "sls", "bss", "pcs", "capmc", "hbtd", "hmnfd", "scsd", "fas", "keycloak"} <= set(machine.services)
    assert machine.send("GET", machine.services["smd"] + "/hsm/v2/service/ready").status == 200


def test_faults_are_set_listed_and_cleared(machine: Emulator) -> None:
    assert "no-power-on" in emulated(machine, "fault", "kinds").stdout
    completed = emulated(machine, "fault", "set", "boot-hangs", "x1000c0s0b0n[0-1]", "stage=pxe", "--next", "2")
    assert completed.returncode == 0, completed.stderr
    name = completed.stdout.split()[0]
    assert emulated(machine, "fault", "list").stdout == completed.stdout
    assert emulated(machine, "fault", "clear", name).returncode == 0
    assert "no faults" in emulated(machine, "fault", "list").stdout
    assert emulated(machine, "fault", "clear", name).returncode == 3
    assert emulated(machine, "fault", "clear").returncode == 2


def test_the_clock_is_shown_and_moved(machine: Emulator) -> None:
    clock_before = json.loads(emulated(machine, "clock", "show", "--json").stdout)
    assert ", stopped" in emulated(machine, "clock", "step", "30").stdout
    assert json.loads(emulated(machine, "clock", "show", "--json").stdout)["moment"] == clock_before["moment"] + 30
    assert "2 times real time" in emulated(machine, "clock", "speed", "2").stdout
    emulated(machine, "clock", "speed", "0")


def test_a_state_is_saved_and_loaded(machine: Emulator, tmp_path: Path) -> None:
    file = tmp_path / "kept.state"
    assert emulated(machine, "save", str(file)).returncode == 0
    assert emulated(machine, "load", str(file)).returncode == 0
    assert emulated(machine, "load", str(tmp_path / "none")).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "no topology and no file is called nowhere"),
        (["tiny", "--begin", "yesterday"], "--begin must be a time"),
        (["tiny", "--speed", "2000"], "--speed"),
        (["status", "--control", "http://127.0.0.1:1"], "does not answer"),
        (["fault", "set", "latency", "smd", "seconds"], "not NAME=VALUE"),
    ],
)
def test_mistakes_are_explained(arguments: list[str], message: str, tmp_path: Path) -> None:
    ran = command(*arguments, XDG_RUNTIME_DIR=str(tmp_path))
    assert ran.returncode != 0
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        port = str(taken_socket.getsockname()[1])
        ran = command("tiny", "--port", port, XDG_RUNTIME_DIR=str(tmp_path))
    assert ran.returncode == 8
    assert f"port {port}" in ran.stderr


def test_a_state_of_another_machine_is_refused(tmp_path: Path) -> None:
    state = str(tmp_path / "s")
    with emulate("tiny", "--state", state):
        pass
    ran = command("psi", "--state", state, XDG_RUNTIME_DIR=str(tmp_path))
    assert "holds the machine tiny" in ran.stderr
    text = tmp_path / "text"
    text.write_text("not a state of anything, and long enough to be looked at" * 20)
    assert "is not a state of the emulator" in command("tiny", "--state", str(text)).stderr


def test_an_sls_dump_is_a_machine(tmp_path: Path) -> None:
    dump = tmp_path / "none.json"
    dump.write_text('{"Hardware": {}, "Networks": {}}')
    with emulate(str(dump), "--speed", "0") as machine:
        assert machine.machine
        assert machine.ask_control("GET", "/status")["nodes"] == 0
    dump.write_text("{")
    assert "is not an SLS dump" in command(str(dump)).stderr
