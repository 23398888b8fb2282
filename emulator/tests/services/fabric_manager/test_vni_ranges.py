"""Ranges of VNIs behave as sets of numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from csm_emulator.machine.fabric.ports import join_ranges
from csm_emulator.services.fabric_manager.vnis.ranges import FIRST_FREE, free_ranges, numbers, overlap, size, within

SPANS = st.tuples(st.integers(1, 40), st.integers(0, 9)).map(lambda span: (span[0], sum(span)))
RANGES = st.lists(SPANS, max_size=4).map(join_ranges)


@given(RANGES, RANGES)
def test_what_is_in_both(one: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]) -> None:
    both, common = numbers(one) & numbers(second), overlap(one, second)
    assert (common is None) == (not both)
    if common is not None:
        first, last = common
        assert set(range(first, last + 1)) <= both
        assert first == min(both)
    assert within(one, second) == (numbers(one) <= numbers(second))
    assert size(one) == len(numbers(one))


@given(st.integers(1, 20), RANGES)
def test_what_is_dealt_is_free(count: int, taken_ranges: tuple[tuple[int, int], ...]) -> None:
    moved = [(first + FIRST_FREE, last + FIRST_FREE) for first, last in taken_ranges]
    (span,) = free_ranges(count, moved)
    assert size((span,)) == count
    assert span[0] >= FIRST_FREE
    assert not numbers([span]) & numbers(moved)
    free_before = range(FIRST_FREE, span[0])
    assert all(numbers([(start, start + count - 1)]) & numbers(moved) for start in free_before)
