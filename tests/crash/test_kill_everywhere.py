"""kill -9 at every journal write and every device call, one after the other; then somebody else finishes.

The points are enumerated: the worker of run k dies at its k-th point, and the enumeration ends with the first k
that a worker does not reach. Each test takes every SHARDS-th point, so that the suite can spread over cores.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crash.conftest import NewCase
from crash.kills import dies_at
from crash.scenario import check

SHARDS = 6


@pytest.mark.parametrize("successor", ["restarted", "standby"])
@pytest.mark.parametrize("shard", range(1, SHARDS + 1))
def test_every_point_can_be_survived(
    shard: int,
    successor: str,
    new_case: NewCase,
    backend: str,
    record_property: Callable[[str, object], None],
) -> None:
    survived = 0
    for point in range(shard, 10_000, SHARDS):
        with new_case(submitted=False) as interrupted:
            if not dies_at(interrupted, point, successor):
                break
            check(interrupted)
            survived += 1
    assert survived > 5, "hardly a point was reached: the enumeration is broken"
    record_property(f"kill points survived on {backend}, {successor} worker", survived)
