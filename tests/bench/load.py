"""A busy server: 64 connections that never wait, and beside them a worker that carries operations out.

Server, worker, callers and, on PostgreSQL, the database share this machine's processors; where it has two, the figures
are those of about one for the server. ``CANTON_BENCH_SECONDS`` makes it shorter or longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.callers import Outcome, Task, elsewhere
from bench.database_kinds import DatabaseKind
from bench.report import Row, median, number, quantile
from bench.serving import Installation, new_installation
from canton.domain.nodeset import nodeset

CONNECTIONS = 64
NODES = 2_000
# Four operations of 25 nodes are kept under way.
GROUPS, GROUP = 4, 25
SECONDS = "CANTON_BENCH_SECONDS"


@dataclass(frozen=True, slots=True)
class Usage:
    """Shares of one processor."""

    server: float
    worker: float


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    for kind in kinds:
        with new_installation(kind) as installation:
            outcome, usage = _measure(installation)
            yield from _rows(kind.name, outcome, usage)


def _measure(installation: Installation) -> tuple[Outcome, Usage]:
    names = installation.populate(NODES)
    groups = tuple(nodeset.fold(names[n * GROUP : (n + 1) * GROUP]) for n in range(GROUPS))
    seconds = float(os.environ.get(SECONDS, "60"))
    with installation.worker() as worker:
        elsewhere(Task(installation.url, installation.admin, 1.0, 8, groups))  # statements are compiled once
        cpu_before = installation.server.cpu(), worker.cpu()
        outcome = elsewhere(Task(installation.url, installation.admin, seconds, CONNECTIONS, groups))
        used = installation.server.cpu() - cpu_before[0], worker.cpu() - cpu_before[1]
    if not outcome.operations and not outcome.errors:
        raise AssertionError("the worker carried nothing out, so it was not busy")
    return outcome, Usage(used[0] / outcome.seconds, used[1] / outcome.seconds)


def _rows(name: str, outcome: Outcome, usage: Usage) -> Iterator[Row]:
    every = [duration for times in outcome.times.values() for duration in times]
    what = f"{name}: {CONNECTIONS} connections for {outcome.seconds:.0f} s"
    yield Row(f"{what}, requests", len(every) / outcome.seconds, "/s", note=f"server: {usage.server:.0%} of a CPU")
    yield Row(f"{what}, half within", median(every), "ms", note=_by_kind(outcome, 0.5))
    yield Row(f"{what}, 99 % within", quantile(every, 0.99), "ms", note=_by_kind(outcome, 0.99))
    first = outcome.errors[0] if outcome.errors else f"of {len(every):,} requests"
    yield Row(f"{what}, errors", len(outcome.errors), "", 0, first)
    note = f"{outcome.operations} operations of {GROUP} nodes; worker: {usage.worker:.0%} of a CPU"
    yield Row(f"{what}, worker meanwhile", outcome.operations * GROUP / outcome.seconds, "steps/s", note=note)


def _by_kind(outcome: Outcome, share: float) -> str:
    return ", ".join(f"{kind} {number(quantile(times, share))}" for kind, times in sorted(outcome.times.items()))
