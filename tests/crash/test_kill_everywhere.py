"""kill -9 at every journal write and every device call, one after the other; then another worker finishes.

The points are enumerated, not sampled: the worker of run k dies at its k-th point, and the enumeration ends with the
first k that a worker does not reach.

One pairing of a database and a successor is enumerated in full, as four tests that take every fourth point each, so
that several workers of pytest-xdist share them. The other three pairings take one fourth of the points each, a
different one; ``CANTON_TEST_EXPLORE=1`` enumerates them in full too.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from crash.conftest import NewCase
from crash.kills import at_every_fourth_point, dies_at, fourths
from crash.scenario import check

FULL = ("postgresql", "standby")
PAIRINGS = {FULL: 0, ("postgresql", "restarted"): 1, ("sqlite", "standby"): 2, ("sqlite", "restarted"): 3}
"""With the fourth of the points that a run takes at least."""


@pytest.mark.slow(60)
@pytest.mark.parametrize(
    ("backend", "successor", "fourth"),
    [
        (backend, successor, fourth)
        for (backend, successor), own in PAIRINGS.items()
        for fourth in fourths(own, in_full=(backend, successor) == FULL)
    ],
    indirect=["backend"],
)
def test_every_point_can_be_survived(
    successor: str, fourth: int, new_case: NewCase, backend: str, record_property: Callable[[str, object], None]
) -> None:
    def survive(point: int) -> bool:
        with new_case(submitted=False) as case:
            reached = dies_at(case, point, successor)
            if reached:
                check(case)
            return reached

    survived = at_every_fourth_point(fourth, survive)
    assert survived > 25, "hardly a point was reached: the enumeration is broken"
    record_property(f"kill points survived on {backend}, {successor} worker", survived)
