"""A real BSS with the emulator as its HSM answers like the emulator's own BSS.

The other sequences have nodes without endpoints, which only discovery creates; here every node has its endpoint.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from differential.answers import Answer
from differential.backends import Emulator, Oracles, addresses
from differential.comparison import Tally, play
from differential.sequence import Sequence, Step, delete, get, patch, put
from differential.socket_emulator import SocketEmulator
from differential.wire import Wire
from free_ports import in_a_row

READY = 20.0


class RealBss:
    """Only BSS is a real service here, so only it can be asked; it begins with an empty store."""

    def __init__(self, address: str) -> None:
        self._wire = Wire({"bss": address})

    def close(self) -> None:
        self._wire.close()

    def reset(self, sequence: Sequence) -> bool:  # noqa: ARG002 (played once)
        return False

    def mark_prepared(self) -> None: ...

    def send(self, step: Step) -> Answer:
        return self._wire.ask(step.service, step.method, step.path, step.payload(), step.headers)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


@contextmanager
def real_bss(hsm: str, log: Path) -> Iterator[RealBss]:
    at = f"127.0.0.1:{in_a_row(1)}"
    home = Path(os.environ["CANTON_TEST_ORACLES"]) / "bss"
    nowhere = "http://127.0.0.1:1"
    options = ("--http-listen", at, "--hsm", hsm, "--nfd", nowhere, "--spire-url", nowhere, "--datastore", "mem:")
    more = ("--cloud-init-address", "http://10.92.100.81:8888", "--global-data-timeout", "0")
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [home / "boot-script-service", *options, *more],
            cwd=home,
            env={**os.environ, "BSS_ENDPOINT_HOST": at},
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            _wait_for(at, process, log)
            side = RealBss(f"http://{at}")
            try:
                yield side
            finally:
                side.close()
        finally:
            process.terminate()


def _wait_for(at: str, process: subprocess.Popen[bytes], log: Path) -> None:
    host, port = at.split(":")
    end = time.monotonic() + READY
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"the real BSS did not start: {log.read_text()}")


def a_boot(behind: Emulator) -> Sequence:
    """Boots every node by each of its names, with and without parameters of its own."""
    if behind.site is None:
        raise RuntimeError("no machine")
    nodes = [part.xname for part in behind.site.machine.parts("Node")]
    nics = [nic for node in nodes for nic in behind.site.machine.nics(node) if nic.network == "NMN"]
    kernel = {"kernel": "http://127.0.0.1/kernel", "initrd": "http://127.0.0.1/initrd", "params": "quiet"}
    by_node = [get(f"bss:/boot/v1/bootscript?name={node}") for node in nodes]
    scripts = by_node + [get(f"bss:/boot/v1/bootscript?mac={nic.mac}") for nic in nics]
    cloud_init = [
        get(f"bss:/{what}", headers={"X-Forwarded-For": nic.address})
        for nic in nics
        for what in ("meta-data", "user-data")
    ]
    return Sequence(
        "all nodes boot",
        get("bss:/boot/v1/hosts"),
        put("bss:/boot/v1/bootparameters", {"hosts": ["Compute"], **kernel}),
        *scripts,
        put("bss:/boot/v1/bootparameters", {"hosts": nodes[:3], **kernel, "params": "loud"}),
        patch("bss:/boot/v1/bootparameters", {"hosts": nodes[:1], "cloud-init": {"meta-data": {"a": 1}}}),
        *scripts,
        *cloud_init,
        get("bss:/boot/v1/endpoint-history"),
        get("bss:/boot/v1/dumpstate"),
    )


def test_a_real_bss_finds_all_nodes(real: Oracles, tally: Tally, tmp_path: Path) -> None:
    assert addresses() is not None
    behind = Emulator(tmp_path, "tiny")
    hsm = SocketEmulator(behind)
    try:
        hsm.reset(Sequence("nothing yet"))
        # The machine comes with parameters for its nodes, and with kernels and initrds of their own.
        for kind in ("hosts", "kernel", "initrd"):
            for parameters in hsm.send(get("bss:/boot/v1/bootparameters")).json():
                if kind in parameters:
                    hsm.send(delete("bss:/boot/v1/bootparameters", {kind: parameters[kind]}))
        assert not hsm.send(get("bss:/boot/v1/bootparameters")).json()
        with real_bss(hsm.address("smd"), tmp_path / "bss.log") as bss:
            play(a_boot(behind), bss, UnchangedEmulator(hsm), tally)
    finally:
        hsm.close()


class UnchangedEmulator:
    """A machine that a reset does not replace, since the real BSS has read it."""

    def __init__(self, behind: SocketEmulator) -> None:
        self.send = behind.send
        self.mark_prepared = behind.mark_prepared
        self.pause = behind.pause

    def reset(self, sequence: Sequence) -> bool:  # noqa: ARG002
        return False
