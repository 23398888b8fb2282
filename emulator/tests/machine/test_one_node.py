"""A request about one node costs the same in a machine of 10,000 nodes as in one of 300."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from node_requests import ALL, NodeRequests
from service_client import open_site

RATIO = 4.0
"""The largest ratio of CPU times. A cost per node of the machine would give 30 and more; noise gives up to 2."""
SLACK = 0.15
"""Milliseconds that a larger dictionary and colder caches may add."""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[NodeRequests, NodeRequests]]:
    folder = tmp_path_factory.mktemp("machines")
    sites = [open_site(folder / f"{name}.state", name) for name in ("psi", "alps")]
    small, large = map(NodeRequests, sites)
    yield small, large
    for site in sites:
        site.state_file.close()


@pytest.mark.parametrize("request_line", ALL)
def test_a_request_about_one_node_does_not_look_at_all(
    machines: tuple[NodeRequests, NodeRequests], request_line: str
) -> None:
    small, large = (machine.ask(request_line) for machine in machines)
    assert small.status == large.status == 200
    assert large.milliseconds <= small.milliseconds * RATIO + SLACK, f"{small} {large}"
