"""What a request costs, on one kept connection to an idle server.

The client's time holds everything: its own work, loopback, the server. The server's own is taken from its metrics,
before and after; of several rounds the least is kept: on a shared machine the others hold somebody else's work.
Foreign and absent objects are asked for in turn, so that a busy moment falls on both alike.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from bench.figures import Row, median, number
from bench.places import Place
from bench.serving import Estate, Line, estate

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


def run(places: Sequence[Place]) -> Iterator[Row]:
    for place in places:
        with estate(place) as standing:
            standing.populate(NODES)
            with standing.line() as line:
                yield from _lists(place.name, line)
                yield from _objects(place.name, line)
            yield from _hidden(place.name, standing)


def _lists(name: str, line: Line) -> Iterator[Row]:
    path = f"/v1/nodes?limit={PAGE}"
    _take(line, path, WARM)
    rounds = [_round(line, path) for _ in range(ROUNDS)]
    means = [mean for mean, _ in rounds]
    seen = [each for _, taken in rounds for each in taken]
    size = len(line.get(path))
    what = f"{name}: list {PAGE:,} of {NODES:,} nodes"
    note = f"by the server's own metrics; least of {ROUNDS} means of {TAKES // ROUNDS}, {number(fmean(means))} over all"
    yield Row(f"{what}, server side", min(means), "ms", BUDGET, note)
    yield Row(f"{what}, as the client sees it", median(seen), "ms", note=_least(seen, f"{size:,} bytes"))
    zipped = _take(line, path, TAKES // 4, headers=GZIP)
    size = len(line.get(path, **GZIP))
    yield Row(f"{what}, compressed", median(zipped), "ms", note=_least(zipped, f"{size:,} bytes"))
    one = _take(line, f"/v1/nodes?limit={PAGE}&tenant=psi", TAKES // 4)
    yield Row(f"{name}: list nodes of a tenant that has none", median(one), "ms", note=_least(one))


def _round(line: Line, path: str) -> tuple[float, list[float]]:
    """What the server says it took on average, and what was seen of each."""
    before = _served(line, "nodes")
    seen = _take(line, path, TAKES // ROUNDS)
    after = _served(line, "nodes")
    return (after[0] - before[0]) / (after[1] - before[1]) * 1000, seen


def _objects(name: str, line: Line) -> Iterator[Row]:
    for what, path in (("show a tenant", "/v1/tenants/psi"), ("whoami", "/v1/whoami")):
        _take(line, path, WARM)
        seen = _take(line, path, TAKES)
        yield Row(f"{name}: {what}", median(seen), "ms", note=_least(seen))


def _hidden(name: str, standing: Estate) -> Iterator[Row]:
    """Whether the clock tells a foreign object from an absent one."""
    with standing.line() as line:
        foreign = operation(line)
    absent = foreign[:-4] + ("0000" if not foreign.endswith("0000") else "1111")
    asked = {
        "tenant": ("/v1/tenants/cscs", "/v1/tenants/nowhere"),
        "operation": (f"/v1/operations/{foreign}", f"/v1/operations/{absent}"),
    }
    with standing.line(standing.mint.token("ann", ["canton-tenant-operator:psi"])) as line:
        for what, paths in asked.items():
            there, not_there = _in_turn(line, paths)
            apart = max(there, not_there) / min(there, not_there)
            note = f"foreign {number(there)} ms, absent {number(not_there)}; medians of {PAIRS}, in turn"
            yield Row(f"{name}: a foreign {what} beside an absent one", apart, "x", APART, note)


def _in_turn(line: Line, paths: Sequence[str]) -> list[float]:
    """The median of each."""
    times: dict[str, list[float]] = {path: [] for path in paths}
    for _ in range(WARM + PAIRS):
        for path, taken in times.items():
            taken.extend(_take(line, path, 1, status=404))
    return [median(taken[WARM:]) for taken in times.values()]


def operation(line: Line) -> str:
    """One of the provider's; nobody carries it out."""
    body = {"nodes": "x1000c0s0b0n0", "to": "on"}
    return str(json.loads(line.must("POST", "/v1/nodes/power", body))["id"])


def _take(
    line: Line, path: str, times: int, status: int = 200, headers: Mapping[str, str] | None = None
) -> list[float]:
    """Milliseconds of each."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        found, text = line.ask("GET", path, **(headers or {}))
        taken.append((time.perf_counter() - start) * 1000)
        if found != status:
            raise AssertionError(f"GET {path} answered {found}, not {status}: {text[:300].decode(errors='replace')}")
    return taken


def _served(line: Line, route: str) -> tuple[float, float]:
    """Seconds and requests so far, of a route."""
    text = line.get("/metrics").decode()

    def figure(which: str) -> float:
        pattern = rf'^canton_request_seconds_{which}{{method="GET",route="(?:/v1)?/{route}"}} (\S+)$'
        found = re.search(pattern, text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    return figure("sum"), figure("count")


def _least(taken: Sequence[float], also: str = "") -> str:
    return f"median of {len(taken)}, the least {number(min(taken))}" + (f"; {also}" if also else "")
