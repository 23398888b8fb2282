"""Killing a worker at a point and letting another one finish."""

from __future__ import annotations

import os
import signal
import time

import sqlalchemy as sa

from canton.store import schema
from crash.scenario import PATIENCE, Case, submit_plan


def dies_at(case: Case, point: int, successor: str, **orders: object) -> bool:
    """Submit, run a worker that dies at ``point`` and have another one finish. False if it did not die."""
    standby = frozen_worker(case) if successor == "standby" else None
    case.operation = submit_plan(case.database)
    doomed = case.start_worker(kill_at=point, **orders)
    case.run_to_the_end(until_dead=doomed)
    doomed.join(0.2)
    if doomed.exitcode != -signal.SIGKILL:
        return False
    if standby is None:
        case.start_worker(**orders)
    else:
        os.kill(standby, signal.SIGCONT)
    case.run_to_the_end()
    return True


def frozen_worker(case: Case) -> int:
    """A worker that is there, idle, and stopped until it is woken.

    Its lease is long, so that it does not happen to be renewing when it is stopped: on SQLite a process that is
    frozen while it writes keeps everybody else from writing.
    """
    worker = case.start_worker(lease=10.0, sweep=60.0)
    assert worker.pid is not None
    wait_until_idle(case, worker.pid)
    os.kill(worker.pid, signal.SIGSTOP)
    return worker.pid


def wait_until_idle(case: Case, pid: int) -> None:
    """Until the worker has signed in, and then as long as it takes to find that there is nothing to do."""
    arrived = sa.select(schema.worker.c.id).where(schema.worker.c.pid == pid)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with case.database.read() as connection:
            if connection.execute(arrived).one_or_none():
                break
        time.sleep(0.01)
    time.sleep(0.15)
