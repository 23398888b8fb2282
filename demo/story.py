"""`make demo`: a plan is made, run, its worker killed with -9 half-way, and finished by another.

The power service is a folder with one file a node, so that it outlives the workers. Every line is checked: the story
ends with exit status 0 only if all of it held.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from canton.contracts.guard import Guard
from canton.contracts.power import PowerState
from canton.domain.errors import StepFailure
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.domain.nodeset import expand, fold
from canton.operations.catalog.power_nodes import Seen, plan_power
from canton.operations.kinds import Pace, register
from canton.operations.steps.set_power import SetPower
from canton.operations.submit import Submission, dry_run, submit
from canton.operations.worker import Settings, Worker
from canton.store import journal, nodes
from canton.store.database import Database, open_database

NODES = "x1000c0s[0-3]b0n[0-1]"


class FolderPower:
    """One file a node; it takes its time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def states(self, names: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        return {name: PowerState((self.folder / name).read_text()) for name in names}

    async def switch(self, names: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        for name in names:
            await asyncio.sleep(0.2)
            guard()
            (self.folder / name).write_text(to)
            print(f"    power service: {name} is {to}", flush=True)
        return {}


def work(url: str, folder: Path) -> None:
    """A worker process."""
    kind = SetPower(FolderPower(folder), Pace(batch=2, poll=0.1, settle=0.5))
    worker = Worker(open_database(url), register(kind), Settings(lease=1.5, per_device=1))
    asyncio.run(worker.run(asyncio.Event()))


def tell() -> None:
    with tempfile.TemporaryDirectory(prefix="canton-demo-") as temporary:
        folder = Path(temporary)
        url = f"sqlite:///{folder / 'canton.db'}"
        os.environ["CANTON_DATABASE"] = url
        play("canton db upgrade")
        play(f"canton nodeset count '{NODES}'")
        database = open_database(url)
        try:
            _power_on(database, folder, url)
        finally:
            database.close()
        play("canton audit verify")
        play("canton db check")


def _power_on(database: Database, folder: Path, url: str) -> None:
    names = expand(NODES)
    for name in names:
        (folder / name).write_text("off")
    with database.write() as connection:
        nodes.add(connection, [Node(name, n, NodeState.FREE, None, 1) for n, name in enumerate(names)])
        found = nodes.find(connection, names)

    say(f"A plan to power on {fold(names)}, as data, before anything happens:")
    plan = dry_run(database, plan_power(Seen(found, dict.fromkeys(names, "off"), "power"), "on"))
    print(f"    {len(plan.steps)} steps, each done only when the power service shows {dict(plan.steps[0].goal)}")
    print(f"    {plan.digest}")

    say("Execute exactly that plan. A worker takes it, and we kill it with -9 half-way:")
    because = Submission("demo", "to show that it survives", NODES, key="once", reviewed=plan.digest)
    operation = submit(database, plan, because).operation
    command = [sys.executable, "-m", "demo.story", "worker", url, str(folder)]
    with subprocess.Popen(command) as first:
        wait(lambda: switched_on(folder, names) >= 3)
        first.send_signal(signal.SIGKILL)
    print(f"    killed; {switched_on(folder, names)} of {len(names)} nodes are on, and Canton was not told of the last")

    say("Another worker waits for the lease to run out, looks at the devices, and goes on:")
    with subprocess.Popen(command) as second:
        wait(lambda: _state(database, operation) == "done")
        second.send_signal(signal.SIGKILL)
    with database.read() as connection:
        rows = journal.steps(connection, operation)
    acts = sum(row.acts for row in rows)
    print(f"    operation {operation} is done: {len(rows)} steps, {acts} requests to the power service")
    expect(switched_on(folder, names) == len(names), "all nodes are on")
    expect(all(row.evidence == {"power": "on"} for row in rows), "every step holds what was seen")


def switched_on(folder: Path, names: Sequence[str]) -> int:
    return sum((folder / name).read_text() == "on" for name in names)


def _state(database: Database, operation: str) -> str:
    with database.read() as connection:
        return journal.find(connection, operation).state


def play(command: str) -> None:
    print(f"\n$ {command}", flush=True)
    canton = Path(sys.executable).with_name("canton")
    subprocess.run([canton, *shlex.split(command)[1:]], check=True)


def say(text: str) -> None:
    print(f"\n{text}", flush=True)


def expect(held: bool, what: str) -> None:
    if not held:
        raise SystemExit(f"the story did not hold: {what}")


def wait(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, "it came to its end in time")
        time.sleep(0.05)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        work(sys.argv[2], Path(sys.argv[3]))
    else:
        tell()
