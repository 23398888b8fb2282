"""What the command line costs: CPU of ``canton node list``, with the interpreter, against a server beside it."""

from __future__ import annotations

import compileall
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import canton
from bench.database_kinds import DatabaseKind
from bench.nodeset import CANTON, children_cpu, least
from bench.report import Row, number
from bench.serving import new_installation

NODES = 200
BUDGET = 90.0
COMMANDS = {
    "node list": ("node", "list"),
    "node list as JSON": ("node", "list", "--output", "json"),
    "whoami": ("whoami",),
    "tenant list": ("tenant", "list"),
}


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    compileall.compile_dir(Path(canton.__file__).parent, quiet=1)  # as an installed package is
    with new_installation(kinds[0]) as installation:
        installation.populate(NODES)
        # Without the caller's own configuration: no contexts, no logins.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CANTON_", "XDG_"))}
        home = {"HOME": str(installation.folder), "CANTON_SERVER": installation.url, "CANTON_TOKEN": installation.admin}
        environment = {**inherited, **home}
        _check(environment)
        wall = min(_wall(environment) for _ in range(5))
        cost = least({name: (children_cpu, partial(_start, words, environment)) for name, words in COMMANDS.items()})
    note = f"with interpreter; {number(wall)} ms at the least until it has ended"
    yield Row(f"canton node list, {NODES} nodes, CPU", cost.pop("node list"), "ms", BUDGET, note)
    for name, value in cost.items():
        yield Row(f"canton {name}, CPU", value, "ms", note="with interpreter")


def _check(environment: dict[str, str]) -> None:
    output = _start(("node", "list", "--output", "name"), environment)
    if len(output.splitlines()) != NODES:
        raise AssertionError(f"canton node list showed {len(output.splitlines())} nodes, not {NODES}: {output[:300]}")


def _wall(environment: dict[str, str]) -> float:
    start = time.perf_counter()
    _start(COMMANDS["node list"], environment)
    return (time.perf_counter() - start) * 1000


def _start(words: Sequence[str], environment: dict[str, str]) -> str:
    ended = subprocess.run([CANTON, *words], env=environment, check=False, capture_output=True, text=True)
    if ended.returncode:
        raise AssertionError(f"canton {' '.join(words)} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout
