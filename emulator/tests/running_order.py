"""In which order tests run, so that none of the slow ones is left to run alone at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TypeVar

Test = TypeVar("Test")


def slow_first(tests: Sequence[Test], seconds: Callable[[Test], int], workers: int) -> list[Test]:
    """The tests with the slow ones spread over the workers; ``seconds`` returns 0 for a test that is not slow.

    ``--dist worksteal`` cuts the list into one stretch for each worker, as evenly as it can, and lets a worker that has
    finished steal from the end of another's stretch. So the slow tests are put at the beginning of each stretch.
    """
    slow = sorted(filter(seconds, tests), key=seconds, reverse=True)
    quick_tests = iter([test for test in tests if not seconds(test)])
    ordered: list[Test] = []
    for worker in range(workers):
        length = (len(tests) - len(ordered)) // (workers - worker)
        share = slow[worker::workers]
        ordered += [*share, *islice(quick_tests, max(0, length - len(share)))]
    return ordered
