"""What the benchmark of events counts as wrong."""

from __future__ import annotations

import pytest

from bench.events import wrong_ones


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [
        ([0, 1, 2, 3], 0),
        ([0, 1, 3], 1),
        ([0, 1, 1, 2, 3], 1),
        ([0, 2, 1, 3], 1),
        ([], 4),
    ],
)
def test_lost_doubled_and_swapped_events_are_counted(numbers: list[int], wrong: int) -> None:
    assert wrong_ones(numbers, 4) == wrong
