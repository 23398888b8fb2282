"""Requests about one node, in a machine of 10,000 beside one of 300: the ratio of what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.report import Row, median
from node_requests import ALL, NodeRequests
from service_client import open_site

BUDGET = 3.0


def run() -> Iterator[Row]:
    ratios = _ratios()
    dearest = max(ratios, key=lambda request: ratios[request])
    note = f"{len(ratios)} requests; dearest: {dearest}"
    yield Row("request about one node, 10,000 nodes against 300, median", median(list(ratios.values())), "x", 1.5)
    yield Row("request about one node, 10,000 nodes against 300, most", ratios[dearest], "x", BUDGET, note)


def _ratios() -> dict[str, float]:
    with TemporaryDirectory() as folder:
        sites = [open_site(Path(folder) / f"{name}.state", name) for name in ("psi", "alps")]
        try:
            small, large = map(NodeRequests, sites)
            return {request: large.ask(request).milliseconds / small.ask(request).milliseconds for request in ALL}
        finally:
            for site in sites:
                site.state_file.close()
