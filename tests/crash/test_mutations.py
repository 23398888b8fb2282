"""The suite can fail: without one protection of the engine, a test fails. A surviving mutation is a gap in the suite.

Each mutation runs through the same enumeration and the same checks as the engine itself, until something is red.
The fourth protection, the order of events, is taken out in ``tests/database/test_outbox.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
from sqlalchemy.engine import Connection

from canton.domain.invariants import Claim
from canton.store.operations import claims
from crash.conftest import NewCase
from crash.kills import dies_at
from crash.scenario import Case, check
from crash.test_frozen_and_racing import freezes_in, submit_at_once


def test_without_observe_first_a_kill_turns_red(
    new_case: NewCase, record_property: Callable[[str, object], None]
) -> None:
    def kill(case: Case, point: int) -> bool:
        return dies_at(case, point, "restarted", mutation="act-without-looking")

    assert_turns_red(new_case, kill, submitted=False)
    record_property("mutations caught", 1)


def test_without_the_fence_check_a_frozen_worker_turns_red(
    new_case: NewCase, record_property: Callable[[str, object], None]
) -> None:
    def wake_up(case: Case, point: int) -> bool:
        return freezes_in(case, point, mutation="no-fence-check")

    assert_turns_red(new_case, wake_up, submitted=True)
    record_property("mutations caught", 1)


def test_without_unique_claims_a_race_turns_red(
    new_case: NewCase, record_property: Callable[[str, object], None]
) -> None:
    def take(connection: Connection, operation_id: str, purpose: str, nodes: object) -> list[Claim]:
        return []

    with mock.patch.object(claims, "take", take), new_case(faulty=False, submitted=False) as case:
        assert submit_at_once(case, 6) > 1
    record_property("mutations caught", 1)


def assert_turns_red(new_case: NewCase, interrupt: Callable[[Case, int], bool], *, submitted: bool) -> None:
    for point in range(1, 10_000):
        with new_case(submitted=submitted) as case:
            try:
                reached = interrupt(case, point)
                if reached:
                    check(case)
            except AssertionError:
                return
        if not reached:
            pytest.fail(f"{point - 1} points, and nothing turned red: the mutation survived")
