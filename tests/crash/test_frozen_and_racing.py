"""Workers that are frozen and wake up too late, and workers that compete for one operation."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess

import pytest

from canton.domain.errors import NodesClaimed
from canton.domain.operation import ENDED, OperationState
from canton.store.operations import journal
from crash import device
from crash.conftest import NewCase
from crash.kills import at_every_fourth_point, fourths, is_stopped, wait_until_stopped
from crash.scenario import Case, check, submit_plan


@pytest.mark.slow(40)
@pytest.mark.parametrize(
    ("backend", "fourth"),
    [
        *(("postgresql", fourth) for fourth in fourths(0, in_full=True)),
        *(("sqlite", fourth) for fourth in fourths(1, in_full=False)),
    ],
    indirect=["backend"],
)
def test_a_worker_that_wakes_beside_its_successor_changes_nothing(
    fourth: int, new_case: NewCase, backend: str, record_property: Callable[[str, object], None]
) -> None:
    """Frozen before and after every device call, enumerated as in ``test_kill_everywhere``: on PostgreSQL in full."""

    def survive(call: int) -> bool:
        with new_case() as case:
            reached = freezes_in(case, call)
            if reached:
                check(case)
            return reached

    survived = at_every_fourth_point(fourth, survive)
    assert survived > 12, "hardly a call was reached: the enumeration is broken"
    record_property(f"freezes survived on {backend}", survived)


def freezes_in(case: Case, call: int, **options: object) -> bool:
    """Freeze a worker in a device call, let another take over, wake it while that one works. False if it ended."""
    frozen = case.start_worker(freeze_in_call=call, **options)
    while not is_stopped(frozen):
        if case.run_to_the_end(for_seconds=0.02) in ENDED:
            return False
    fence = case.find().fence
    case.start_worker(crawl=0.02, **options)
    wait_for_take_over(case, fence)
    wake(frozen)
    case.run_to_the_end()
    assert frozen.is_alive(), "being replaced is no reason to die"
    return True


def test_a_frozen_worker_is_followed_when_its_lease_ends_and_not_at_the_next_sweep(new_case: NewCase) -> None:
    with new_case() as case:
        wait_until_stopped(case.start_worker(freeze_in_call=1, lease=5.0))
        fence = case.find().fence
        successor = case.start_worker(standby=True, sweep=600.0)
        wait_until_stopped(successor)
        wake(successor)
        wait_for_take_over(case, fence)


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_worker_frozen_inside_a_transaction_is_cut_off(new_case: NewCase) -> None:
    """It keeps the row lock that the successor needs; PostgreSQL ends its session, and the successor goes on."""
    with new_case() as case:
        frozen = case.start_worker(freeze_in_write=4)
        wait_until_stopped(frozen)
        case.start_worker()
        case.run_to_the_end()
        wake(frozen)
        time.sleep(0.5)
        check(case)


def test_two_workers_race_for_every_operation(new_case: NewCase) -> None:
    """Both wake for each submission; one drives it, and none is driven twice."""
    with new_case(faulty=False) as case:
        for _ in range(2):
            case.start_worker()
        case.run_to_the_end()
        check(case, OperationState.DONE)
        for _ in range(5):
            case.operation = submit_plan(case.database)
            case.run_to_the_end()
            check_done_again(case)


def test_two_submissions_race_for_the_same_nodes(new_case: NewCase) -> None:
    with new_case(faulty=False, submitted=False) as case:
        assert submit_at_once(case, 6) == 1
        assert_one_holder(case)


def submit_at_once(case: Case, many: int) -> int:
    """Submit the same plan from many threads; returns how many submissions were accepted."""
    barrier = threading.Barrier(many)
    won: list[str] = []
    refusals: list[str] = []

    def rival() -> None:
        barrier.wait()
        try:
            won.append(submit_plan(case.database))
        except NodesClaimed as refusal:
            refusals.append(refusal.message)

    rivals = [threading.Thread(target=rival) for _ in range(many)]
    for thread in rivals:
        thread.start()
    for thread in rivals:
        thread.join()
    assert all("the crash suite" in refusal and " since 20" in refusal for refusal in refusals)
    case.operation = won[0]
    return len(won)


def assert_one_holder(case: Case) -> None:
    """One operation was accepted, drives the nodes alone, and ends as done."""
    case.start_worker()
    case.start_worker()
    case.run_to_the_end()
    check(case, OperationState.DONE)


def check_done_again(case: Case) -> None:
    """Check a second operation on the same nodes, where only the power still has to change."""
    with case.database.read() as connection:
        assert journal.find(connection, case.operation).state in ENDED
    effective_requests = device.effective(device.read_log(case.log))
    assert [entry for entry in effective_requests if entry["was"] == entry["value"]] == []


def wait_for_take_over(case: Case, fence: int) -> None:
    deadline = time.monotonic() + 30
    while case.find().fence == fence:
        assert time.monotonic() < deadline, "no worker took over"
        time.sleep(0.005)


def wake(worker: BaseProcess) -> None:
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGCONT)
