"""What folding, expanding and starting cost, beside ClusterShell in the same run.

Each value is the least CPU time of several rounds, taken in turn so that a busy moment falls on all alike.
"""

from __future__ import annotations

import compileall
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from ClusterShell.NodeSet import RESOLVER_NOGROUP
from ClusterShell.NodeSet import NodeSet as ClusterShell

import canton
from bench.report import Row
from canton.domain.nodeset import nodeset

ROUNDS = 7
CANTON = Path(sys.executable).with_name("canton")


def run() -> list[Row]:
    compileall.compile_dir(Path(canton.__file__).parent, quiet=1)  # as an installed package is
    machine = nodeset.expand("x[1000-1039]c[0-7]s[0-7]b[0-1]n[0-7]")
    whole = machine[:10_000]
    scattered = random.Random(1).sample(machine, 10_000)
    # ClusterShell needs a minute to fold 10,000 scattered names, so the two are compared on fewer.
    few = random.Random(1).sample(machine[:4_000], 1_000)
    folded = nodeset.fold(whole)
    cost = least(
        {
            "fold": (cpu, lambda: nodeset.fold(whole)),
            "expand": (cpu, lambda: nodeset.expand(folded)),
            "fold scattered": (cpu, lambda: nodeset.fold(scattered)),
            "fold few": (cpu, lambda: nodeset.fold(few)),
            "ClusterShell fold": (cpu, lambda: cluster_shell_fold(whole)),
            "ClusterShell expand": (cpu, lambda: list(ClusterShell(folded, resolver=RESOLVER_NOGROUP))),
            "ClusterShell fold few": (cpu, lambda: cluster_shell_fold(few)),
            "--help": (children_cpu, lambda: start("--help")),
            "nodeset count": (children_cpu, lambda: start("nodeset", "count", "x1000c0s[0-3]b0n0")),
        }
    )
    return [
        Row("fold 10,000 xnames", cost["fold"], "ms", 50),
        Row("expand 10,000 xnames", cost["expand"], "ms", 20),
        Row("fold 10,000 of 40,960 xnames, scattered", cost["fold scattered"], "ms", 200),
        Row("fold 10,000 xnames, ratio to ClusterShell", cost["fold"] / cost["ClusterShell fold"], "x"),
        Row("expand 10,000 xnames, ratio to ClusterShell", cost["expand"] / cost["ClusterShell expand"], "x"),
        Row("fold 1,000 scattered, ratio to ClusterShell", cost["fold few"] / cost["ClusterShell fold few"], "x"),
        Row("canton --help, CPU with interpreter", cost["--help"], "ms", 60),
        Row("canton nodeset count, CPU with interpreter", cost["nodeset count"], "ms", 60),
    ]


def least(work: dict[str, tuple[Callable[[], float], Callable[[], object]]]) -> dict[str, float]:
    """The least cost of each piece of work, in milliseconds of its clock."""
    costs: dict[str, float] = dict.fromkeys(work, float("inf"))
    for _ in range(ROUNDS):
        for name, (clock, do) in work.items():
            start_time = clock()
            do()
            costs[name] = min(costs[name], (clock() - start_time) * 1000)
    return costs


def cpu() -> float:
    return time.process_time()


def children_cpu() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def start(*arguments: str) -> None:
    subprocess.run([CANTON, *arguments], check=True, stdout=subprocess.DEVNULL)


def cluster_shell_fold(names: list[str]) -> str:
    return str(ClusterShell.fromlist(names, resolver=RESOLVER_NOGROUP))
