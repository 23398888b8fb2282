"""kill -9 at every journal write and every device call, one after the other; then somebody else finishes.

The points are enumerated, not sampled: the worker of run k dies at its k-th point, and the enumeration ends with the
first k that a worker does not reach.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crash.conftest import NewCase
from crash.kills import at_every_point, dies_at
from crash.scenario import check


@pytest.mark.parametrize("successor", ["restarted", "standby"])
def test_every_point_can_be_survived(
    successor: str, new_case: NewCase, backend: str, record_property: Callable[[str, object], None]
) -> None:
    def survive(point: int) -> bool:
        with new_case(submitted=False) as case:
            reached = dies_at(case, point, successor)
            if reached:
                check(case)
            return reached

    survived = at_every_point(survive)
    assert survived > 100, "hardly a point was reached: the enumeration is broken"
    record_property(f"kill points survived on {backend}, {successor} worker", survived)
