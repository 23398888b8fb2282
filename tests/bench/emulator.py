"""What a pretend supercomputer costs: 10,000 nodes on a laptop, beside 1,000 in the same run."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.figures import Row
from csm_emulator.process import Emulator, emulate

ROUNDS = 7
IDLE_SECONDS = 10.0
BOOT_MINUTES = 15
"""Virtual: the slowest node is up after eight."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """One topology, measured."""

    nodes: int
    start: float
    list_seconds: float
    list_gateway_seconds: float
    power_wall: float
    power_cpu: float
    boot_wall: float
    idle_percent: float
    peak_mb: float


def run() -> Iterator[Row]:
    small, large = _measure("alps-mini"), _measure("alps")
    yield Row("emulate alps (10,000 nodes) is ready after", large.start, "s", 5)
    yield Row("emulate alps, most memory", large.peak_mb, "MB", 600, "after all nodes were booted")
    yield Row("GET State/Components of 10,000 nodes, at the service", large.list_seconds * 1000, "ms", 150)
    yield Row("GET State/Components of 10,000 nodes, gateway with TLS", large.list_gateway_seconds * 1000, "ms", 150)
    yield Row("power 10,000 nodes on, transition completed", large.power_wall, "s", 60, "wall, virtual time stepped")
    yield Row("and all of them booted to their heartbeat", large.boot_wall, "s", 60, "wall, from the power order")
    yield Row("emulate alps idle at 1x with 10,000 heartbeats, CPU", large.idle_percent, "%", 5)
    each = large.power_cpu / large.nodes, small.power_cpu / small.nodes
    yield Row("power on and boot a node, CPU", each[0] * 1000, "ms", None, f"{each[1] * 1000:.2f} ms with 1,000")
    yield Row("CPU a node, 10,000 against 1,000", each[0] / each[1], "x", 1.5)


def _measure(topology: str) -> Cost:
    began = time.monotonic()
    with emulate(topology, "--speed", "0") as machine:
        start = time.monotonic() - began
        nodes = [
            part["xname"]
            for part in machine.ask_control("GET", "/parts?type=Node")["parts"]
            if part["class"] != "River"
        ]
        listing = "/hsm/v2/State/Components?type=Node"
        direct = _least(machine, machine.services["smd"] + listing, {})
        token = {"Authorization": f"Bearer {machine.token()}"}
        gateway = _least(machine, f"{machine.url}/apis/smd{listing}", token)
        _power(machine, nodes, "force-off")
        cpu = cpu_seconds(machine.pid)
        power_wall = _timed(lambda: _power(machine, nodes, "on"))
        boot_wall = power_wall + _timed(lambda: machine.step(BOOT_MINUTES * 60))
        beating = {part["xname"] for part in machine.ask_control("GET", "/parts?type=Node")["parts"] if part["beating"]}
        if not beating.issuperset(nodes):
            raise RuntimeError(f"of {len(nodes)} nodes of {topology} only {len(beating)} booted")
        power_cpu = cpu_seconds(machine.pid) - cpu
        machine.speed(1)
        time.sleep(2)
        idle = _idle(machine.pid)
        return Cost(len(nodes), start, direct, gateway, power_wall, power_cpu, boot_wall, idle, peak_mb(machine.pid))


def _power(machine: Emulator, nodes: list[str], operation: str) -> None:
    wanted = {"operation": operation, "location": [{"xname": node} for node in nodes]}
    pcs = machine.services["pcs"] + "/v1/transitions"
    made = machine.send("POST", pcs, json.dumps(wanted), {"Content-Type": "application/json"}).json()
    told: dict[str, Any] = {}
    for _ in range(40):
        machine.step(15)
        told = machine.send("GET", f"{pcs}/{made['transitionID']}").json()
        if told["transitionStatus"] == "completed":
            break
    counts = told["taskCounts"]
    if counts["succeeded"] != len(nodes):
        raise RuntimeError(f"the transition did not succeed for all of {len(nodes)}: {counts}")


def _timed(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _least(machine: Emulator, url: str, headers: dict[str, str]) -> float:
    """On one connection, as a client keeps it; the least of several."""
    place = urlsplit(url)
    connection = machine.connection(url)
    path = place._replace(scheme="", netloc="").geturl()
    try:
        return min(_timed(lambda: _get(connection, path, headers)) for _ in range(ROUNDS))
    finally:
        connection.close()


def _get(connection: http.client.HTTPConnection, path: str, headers: dict[str, str]) -> Any:
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path} answered {answer.status}")
    return text


def _idle(pid: int) -> float:
    before = cpu_seconds(pid)
    time.sleep(IDLE_SECONDS)
    return (cpu_seconds(pid) - before) / IDLE_SECONDS * 100


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
