"""How the process begins and ends: options that make no sense, signals at any time, a state that is in use."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from csm_emulator.process import emulate
from csm_emulator.site import Site
from csm_emulator.transport.call import Call
from free_ports import in_a_row
from power_client import DOWN, Pcs

JSON = {"Content-Type": "application/json"}


@contextmanager
def started(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "csm_emulator", "tiny", "--port", "0", "--json", *options]
    environment = {**os.environ, "TMPDIR": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--speed", "nan"], "--speed must be a number"),
        (["--host", ""], "is empty"),
        (["--host", "grüße.invalid"], "cannot listen on"),
        (["--host", "no host"], "cannot listen on"),
        (["--begin", "9999-12-31T23:59:59Z"], "1971 to 2999"),
        (["--begin", "0001-01-01T00:00:00+14:00"], "1971 to 2999"),
    ],
)
def test_wrong_options_give_one_line_of_error(tmp_path: Path, options: list[str], message: str) -> None:
    with started(tmp_path, *options) as process:
        out, err = process.communicate(timeout=30)
    assert process.returncode not in (0, 1)
    assert message in err
    assert out == ""
    assert "Traceback" not in err
    assert len(err.splitlines()) == 1
    assert [file for file in tmp_path.iterdir() if file.name != "csm-emulators"] == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_while_it_begins_it_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    with started(tmp_path) as process:
        until = time.monotonic() + 20
        while not list(tmp_path.glob("csm-emulator-*/state")):
            assert time.monotonic() < until
            time.sleep(0.001)
        process.send_signal(number)
        process.send_signal(number)
        assert process.wait(20) == 0
    assert not list(tmp_path.glob("csm-emulator-*"))
    assert not list(tmp_path.glob("csm-emulators/*"))


def test_a_second_process_is_refused_while_the_state_is_in_use(tmp_path: Path) -> None:
    state = str(tmp_path / "machine.state")
    with emulate("tiny", "--state", state) as first:
        with started(tmp_path, "--state", state) as second:
            _, err = second.communicate(timeout=30)
            assert "does another emulator use it" in err
            assert second.returncode not in (0, 1)
        assert first.ask_control("GET", "/status")["machine"] == "tiny"
        assert Path(state).stat().st_mode & 0o777 == 0o600


@contextmanager
def subscriber() -> Iterator[tuple[str, list[socket.socket]]]:
    """One that listens, and never answers."""
    connections: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=lambda: connections.append(door.accept()[0]), daemon=True).start()
        yield f"http://127.0.0.1:{door.getsockname()[1]}/scn", connections
        for line in connections:
            line.close()


def test_unreachable_subscribers_do_not_delay_the_end() -> None:
    urls = [
        "http://[::1",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:1/\x7f",
        "gopher://localhost",
        "http://a\u2100b",
    ]
    with subscriber() as (silent, connections), emulate("tiny", "--speed", "0") as machine:
        smd = machine.services["smd"] + "/hsm/v2"
        for where in (*urls, silent):
            body = {"Subscriber": f"s@{len(where)}", "States": ["Ready", "On", "Off"], "Url": where}
            assert machine.send("POST", f"{smd}/Subscriptions/SCN", json.dumps(body), JSON).status < 300
        change = '{"ComponentIDs":["x1000c0s0b0n0"],"State":"Off","Force":true}'
        assert machine.send("PATCH", f"{smd}/State/Components/BulkStateData", change, JSON).status == 204
        on = '{"operation":"on","location":[{"xname":"x1000c0s0b1n0"}]}'
        assert machine.send("POST", machine.services["pcs"] + "/v1/transitions", on, JSON).status == 200
        machine.step(600)
        assert machine.part("x1000c0s0b1n0")["beating"]
        until = time.monotonic() + 30
        while not connections and time.monotonic() < until:
            time.sleep(0.01)
        assert connections
        assert machine.send("GET", f"{smd}/service/ready").status == 200


def test_a_malformed_kernel_url_does_not_stop_the_machine(tiny: Site) -> None:
    body = json.dumps({"hosts": [DOWN], "kernel": "s3://[bucket/kernel", "params": "quiet"}).encode()
    assert tiny.ask("bss", Call("PUT", "/boot/v1/bootparameters", body=body)).status == 200
    Pcs(tiny).start("on", DOWN)
    tiny.step(900)
    assert tiny.machine.boot.record(DOWN)["kernel"] == "s3://[bucket/kernel"


def test_without_git_it_asks_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with started(tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.terminate()
        _, err = process.communicate(timeout=30)
    assert "install git" in err


def test_listeners_beside_the_gateway_are_found_again(tmp_path: Path) -> None:
    port = in_a_row(4)
    with started(tmp_path, "--port", str(port)) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.terminate()
        _, err = process.communicate(timeout=30)
    assert line, err
    startup = json.loads(line)
    assert startup["url"].endswith(f":{port}")
    assert {name: int(url.rpartition(":")[2]) - port for name, url in startup["addresses"].items()} == {
        "kubernetes": 1,
        "s3": 2,
        "vault": 3,
    }
