"""Kills a worker at one point, or at every point, and lets another worker finish."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from pathlib import Path

from crash import killed_worker
from crash.scenario import PATIENCE, Case, submit_plan

AT_A_TIME = 4


def fourths(own: int, *, in_full: bool) -> Sequence[int]:
    """The fourths of an enumeration that a run takes: all of them, or its own one."""
    return range(4) if in_full or os.environ.get("CANTON_TEST_EXPLORE") else (own,)


def at_every_fourth_point(fourth: int, survive: Callable[[int], bool]) -> int:
    """Call with every fourth point until one is not reached any more; returns how many were survived.

    The four values of ``fourth``, 0 to 3, take all the points 1, 2, 3, … together.
    Several at a time: a case has processes of its own and mostly waits for a lease to run out.
    """
    points = itertools.count(1 + fourth, 4)
    over = threading.Event()

    def take_points() -> int:
        survived = 0
        try:
            while not over.is_set() and survive(next(points)):
                survived += 1
        finally:
            over.set()
        return survived

    with ThreadPoolExecutor(AT_A_TIME) as pool:
        takers = [pool.submit(take_points) for _ in range(AT_A_TIME)]
    return sum(taker.result() for taker in takers)


def dies_at(case: Case, point: int, successor: str, **options: object) -> bool:
    """Submit, run a worker that dies at ``point`` and have another one finish. False if it did not die."""
    standby = frozen_worker(case) if successor == "standby" else None
    case.operation = submit_plan(case.database)
    doomed = case.start_worker(kill_at=point, **options)
    case.run_to_the_end(until_dead=doomed)
    if not killed_worker.killed_mark(case.options()).exists():
        return False
    if standby is None:
        case.start_worker(**options)
    else:
        os.kill(standby, signal.SIGCONT)
    case.run_to_the_end()
    return True


def frozen_worker(case: Case) -> int:
    """Start an idle worker and freeze it; returns its pid. Its long lease does not expire while it is frozen."""
    worker = case.start_worker(lease=10.0, standby=True)
    wait_until_stopped(worker)
    assert worker.pid is not None
    return worker.pid


def is_stopped(worker: BaseProcess) -> bool:
    stat = Path(f"/proc/{worker.pid}/stat").read_text()
    return stat.rsplit(")", 1)[1].split()[0] == "T"


def wait_until_stopped(worker: BaseProcess) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_stopped(worker):
        assert time.monotonic() < deadline, "the worker did not stop"
        time.sleep(0.01)
