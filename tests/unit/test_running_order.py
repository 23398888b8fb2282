"""Slow tests start first, on every worker; no test is lost, whatever the numbers are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from running_order import slow_first


def test_each_worker_starts_with_its_share_of_the_slow_tests() -> None:
    seconds = {"a": 0, "b": 10, "c": 0, "d": 40, "e": 0, "f": 20, "g": 0, "h": 0, "i": 0}
    assert slow_first(list(seconds), seconds.__getitem__, 3) == ["d", "a", "c", "f", "e", "g", "b", "h", "i"]


def test_without_workers_the_slow_tests_come_first() -> None:
    assert slow_first([0, 3, 0, 5], int, 1) == [5, 3, 0, 0]


@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 8))
def test_every_test_runs_once(durations: list[int], workers: int) -> None:
    tests = list(enumerate(durations))
    assert sorted(slow_first(tests, lambda test: test[1], workers)) == tests
