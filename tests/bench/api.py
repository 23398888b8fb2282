"""What a request costs, on one kept connection to an idle server.

The client's time holds everything: its own work, loopback, the server. The server's own is taken from its metrics,
before and after; of several rounds the least is kept: on a shared machine the slower ones include other processes.
Foreign and absent objects are asked for in turn, so that a busy moment falls on both alike.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from bench.database_kinds import DatabaseKind
from bench.report import Row, median, number
from bench.serving import Installation, Line, new_installation

NODES = 10_000
PAGE = 1_000
BUDGET = 15.0
# Medians of the two stay within a few hundredths; one more look at the database shows as a quarter or a third.
APART = 1.2
WARM = 20
TAKES = 200
ROUNDS = 10
PAIRS = 400
GZIP = {"Accept-Encoding": "gzip"}


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    for kind in kinds:
        with new_installation(kind) as installation:
            installation.populate(NODES)
            with installation.line() as line:
                yield from _lists(kind.name, line)
                yield from _objects(kind.name, line)
            yield from _hidden(kind.name, installation)


def _lists(name: str, line: Line) -> Iterator[Row]:
    path = f"/v1/nodes?limit={PAGE}"
    _take(line, path, WARM)
    rounds = [_round(line, path) for _ in range(ROUNDS)]
    means = [mean for mean, _ in rounds]
    durations = [duration for _, round_durations in rounds for duration in round_durations]
    size = len(line.get(path))
    what = f"{name}: list {PAGE:,} of {NODES:,} nodes"
    note = f"by the server's own metrics; least of {ROUNDS} means of {TAKES // ROUNDS}, {number(fmean(means))} over all"
    yield Row(f"{what}, server side", min(means), "ms", BUDGET, note)
    yield Row(f"{what}, as the client sees it", median(durations), "ms", note=_least(durations, f"{size:,} bytes"))
    zipped = _take(line, path, TAKES // 4, headers=GZIP)
    size = len(line.get(path, **GZIP))
    yield Row(f"{what}, compressed", median(zipped), "ms", note=_least(zipped, f"{size:,} bytes"))
    one = _take(line, f"/v1/nodes?limit={PAGE}&tenant=psi", TAKES // 4)
    yield Row(f"{name}: list nodes of a tenant that has none", median(one), "ms", note=_least(one))


def _round(line: Line, path: str) -> tuple[float, list[float]]:
    """The mean duration by the server's metrics, and the duration of each request as the client sees it, in ms."""
    served_before = _served(line, "nodes")
    durations = _take(line, path, TAKES // ROUNDS)
    served_after = _served(line, "nodes")
    return (served_after[0] - served_before[0]) / (served_after[1] - served_before[1]) * 1000, durations


def _objects(name: str, line: Line) -> Iterator[Row]:
    for what, path in (("show a tenant", "/v1/tenants/psi"), ("whoami", "/v1/whoami")):
        _take(line, path, WARM)
        durations = _take(line, path, TAKES)
        yield Row(f"{name}: {what}", median(durations), "ms", note=_least(durations))


def _hidden(name: str, installation: Installation) -> Iterator[Row]:
    """Whether the clock tells a foreign object from an absent one."""
    with installation.line() as line:
        foreign = operation(line)
    absent = foreign[:-4] + ("0000" if not foreign.endswith("0000") else "1111")
    paths_by_kind = {
        "tenant": ("/v1/tenants/cscs", "/v1/tenants/nowhere"),
        "operation": (f"/v1/operations/{foreign}", f"/v1/operations/{absent}"),
    }
    with installation.line(installation.mint.token("ann", ["canton-tenant-operator:psi"])) as line:
        for what, paths in paths_by_kind.items():
            foreign_ms, not_there = _in_turn(line, paths)
            apart = max(foreign_ms, not_there) / min(foreign_ms, not_there)
            note = f"foreign {number(foreign_ms)} ms, absent {number(not_there)}; medians of {PAIRS}, in turn"
            yield Row(f"{name}: a foreign {what} beside an absent one", apart, "x", APART, note)


def _in_turn(line: Line, paths: Sequence[str]) -> list[float]:
    """The median of each."""
    times: dict[str, list[float]] = {path: [] for path in paths}
    for _ in range(WARM + PAIRS):
        for path, durations in times.items():
            durations.extend(_take(line, path, 1, status=404))
    return [median(durations[WARM:]) for durations in times.values()]


def operation(line: Line) -> str:
    """The id of a new operation of the provider, which no worker carries out."""
    body = {"nodes": "x1000c0s0b0n0", "to": "on"}
    return str(json.loads(line.must("POST", "/v1/nodes/power", body))["id"])


def _take(
    line: Line, path: str, times: int, status: int = 200, headers: Mapping[str, str] | None = None
) -> list[float]:
    """The duration of each request, in milliseconds."""
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        answer_status, text = line.ask("GET", path, **(headers or {}))
        durations.append((time.perf_counter() - start) * 1000)
        if answer_status != status:
            raise AssertionError(
                f"GET {path} answered {answer_status}, not {status}: {text[:300].decode(errors='replace')}"
            )
    return durations


def _served(line: Line, route: str) -> tuple[float, float]:
    """The seconds that a route has taken so far, and the number of its requests."""
    text = line.get("/metrics").decode()

    def figure(which: str) -> float:
        pattern = rf'^canton_request_seconds_{which}{{method="GET",route="(?:/v1)?/{route}"}} (\S+)$'
        match = re.search(pattern, text, re.MULTILINE)
        return float(match[1]) if match else 0.0

    return figure("sum"), figure("count")


def _least(durations: Sequence[float], also: str = "") -> str:
    return f"median of {len(durations)}, the least {number(min(durations))}" + (f"; {also}" if also else "")
