"""Leases: one worker takes one, keeps it by renewing, and can write nothing once another worker has it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import LeaseLost, StepFailure
from canton.domain.json_types import Json
from canton.domain.operation import OperationState, StepState
from canton.operations.engine.completion import Attribution, finish_or_rest
from canton.operations.engine.journal_writer import JournalWriter
from canton.operations.engine.lease import Lease, uptime
from canton.operations.engine.runner import Drive, hand_back, load
from canton.operations.engine.step_kind import Call
from canton.operations.interventions import abandon, cancel, retry
from canton.store import outbox, schema
from canton.store.database import SECOND, Database
from canton.store.database import now as database_now
from canton.store.operations import journal, leases
from canton.store.operations.leases import LeaseState, TakenLease
from devices import (
    Machine,
    SetValue,
    by_hand,
    contents,
    drive_resources,
    operation,
    order,
    permanent,
    plan_of,
    rows,
    set_value,
    until,
    writer,
)

T = TypeVar("T")
MINUTE = 60.0


def clock(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(sa.select(database_now())).scalar_one())


def take(database: Database, worker: str = "w", limit: int = 9, except_kinds: tuple[str, ...] = ()) -> list[TakenLease]:
    with database.write() as connection:
        return leases.take(connection, worker, MINUTE, limit, except_kinds)


def change(database: Database, identity: str, **values: Any) -> None:
    with database.write() as connection:
        connection.execute(sa.update(schema.operation).where(schema.operation.c.id == identity).values(**values))


def expire(database: Database, identity: str) -> None:
    """Let the lease run out without a renewal."""
    change(database, identity, due_at=database_now() - 1)


@pytest.fixture
def queued(database: Database) -> str:
    return order(database, plan_of(set_value(1, "t", back="off"), set_value(2, "u", needs=(1,))))


def test_a_due_operation_is_taken_once(database: Database, queued: str) -> None:
    (lease_row,) = take(database, "w1")
    assert (lease_row.operation, lease_row.fence, lease_row.step_kinds) == (queued, 1, "set_value/1")
    assert abs(lease_row.at - clock(database)) < 5 * SECOND
    stored_operation = operation(database, queued)
    assert (stored_operation.state, stored_operation.worker, stored_operation.fence) == (
        OperationState.RUNNING,
        "w1",
        1,
    )
    assert abs((stored_operation.due_at or 0) - lease_row.at - MINUTE * SECOND) < 1000
    assert take(database, "w2") == []


def test_an_operation_that_is_not_due_is_not_taken(database: Database, queued: str) -> None:
    change(database, queued, due_at=database_now() + SECOND)
    assert take(database) == []
    change(database, queued, due_at=None)
    assert take(database) == []


def test_the_longest_due_come_first_and_no_more_than_there_is_room_for(database: Database) -> None:
    names = [order(database, plan_of(set_value(1, "t"))) for _ in range(4)]
    for age, name in enumerate(names):
        change(database, name, due_at=database_now() - age * SECOND)
    assert {lease_row.operation for lease_row in take(database, limit=2)} == {names[3], names[2]}
    assert {lease_row.operation for lease_row in take(database, limit=2)} == {names[1], names[0]}


def test_a_lease_that_ran_out_is_taken_over_with_a_higher_fence(database: Database, queued: str) -> None:
    (first,) = take(database, "w1")
    expire(database, queued)
    (second,) = take(database, "w2")
    assert second.fence == first.fence + 1
    assert operation(database, queued).worker == "w2"


def test_taking_keeps_the_direction(database: Database, queued: str) -> None:
    change(database, queued, state=OperationState.UNDOING)
    take(database)
    assert operation(database, queued).state is OperationState.UNDOING


def test_kinds_that_a_worker_lacks_are_left_to_others(database: Database, queued: str) -> None:
    assert take(database, except_kinds=("set_port/1 set_value/1", "set_port/1")) != []
    expire(database, queued)
    assert take(database, except_kinds=("set_value/1", "set_port/1")) == []
    with database.read() as connection:
        assert leases.seconds_until_due(connection, ("set_value/1",)) is None
        assert (leases.seconds_until_due(connection) or 1) < 0


def test_how_long_until_something_is_due(database: Database, queued: str) -> None:
    def wait() -> float | None:
        with database.read() as connection:
            return leases.seconds_until_due(connection)

    assert (wait() or 1) <= 0
    take(database)
    assert MINUTE - 5 < (wait() or 0) <= MINUTE
    change(database, queued, due_at=None)
    assert wait() is None


def test_renewing_extends_own_leases_only(database: Database, queued: str) -> None:
    other_operation = order(database, plan_of(set_value(1, "v")))
    fences = {lease_row.operation: lease_row.fence for lease_row in take(database)}
    expire(database, other_operation)
    (successor,) = take(database, "w2")
    expire(database, queued)  # expired, but no worker took it
    with database.write() as connection:
        renewed = leases.renew(connection, fences, MINUTE)
    assert renewed.keys() == {queued}
    assert abs((operation(database, queued).due_at or 0) - renewed[queued].at - MINUTE * SECOND) < 1000
    assert operation(database, other_operation).fence == successor.fence


def test_renewing_brings_word_of_a_cancel(database: Database, queued: str) -> None:
    (lease_row,) = take(database)
    by_hand(database, cancel, queued, Attribution("bob", "changed my mind"))
    with database.write() as connection:
        assert leases.renew(connection, {queued: lease_row.fence}, MINUTE)[queued].cancel_by == "bob"
        assert leases.hold(connection, queued, lease_row.fence).cancel_by == "bob"


def test_a_released_lease_is_not_renewed(database: Database, queued: str) -> None:
    (lease_row,) = take(database)
    with database.write() as connection:
        leases.release(connection, queued, 7)
    with database.write() as connection:
        assert leases.renew(connection, {queued: lease_row.fence}, MINUTE) == {}
    assert operation(database, queued).due_at == 7


def test_a_release_makes_an_operation_due_now_or_at_a_time(database: Database, queued: str) -> None:
    take(database)
    with database.write() as connection:
        leases.release(connection, queued, None)
    stored_operation = operation(database, queued)
    assert stored_operation.worker is None
    assert abs((stored_operation.due_at or 0) - clock(database)) < 5 * SECOND
    assert [lease_row.fence for lease_row in take(database)] == [2]


def test_holding_shows_the_databases_time(database: Database, queued: str) -> None:
    (lease_row,) = take(database)
    with database.write() as connection:
        hold = leases.hold(connection, queued, lease_row.fence)
    assert hold == LeaseState(None, hold.at)
    assert abs(hold.at - clock(database)) < 5 * SECOND


@pytest.mark.parametrize("fence", [0, 2, 99])
def test_another_fence_holds_nothing(database: Database, queued: str, fence: int) -> None:
    take(database)
    with database.write() as connection, pytest.raises(LeaseLost, match=f"fence {fence} is no longer valid"):
        leases.hold(connection, queued, fence)


def test_a_clock_that_was_set_back_does_not_delay_open_operations(database: Database, queued: str) -> None:
    ended = order(database, plan_of(set_value(1, "v")))
    near = order(database, plan_of(set_value(1, "w")))
    hour = 3600 * SECOND
    change(database, queued, due_at=database_now() + hour, touched_at=database_now() + hour)
    change(database, ended, due_at=None, touched_at=database_now() + hour)
    change(database, near, due_at=database_now() + hour, touched_at=database_now() + SECOND // 2)
    with database.write() as connection:
        assert leases.reset_future_timers(connection) == 1
    assert [lease_row.operation for lease_row in take(database)] == [queued]
    with database.write() as connection:
        assert leases.reset_future_timers(connection) == 0


def test_no_operation_is_taken_twice(database: Database) -> None:
    names = {order(database, plan_of(set_value(1, "t"))) for _ in range(30)}
    workers = 6
    together = threading.Barrier(workers)

    def work(n: int) -> list[TakenLease]:
        mine: list[TakenLease] = []
        together.wait()
        while True:
            mine += (batch := take(database, f"w{n}", limit=2))
            with database.read() as connection:
                if not batch and (leases.seconds_until_due(connection) or 0) > 0:
                    return mine

    with ThreadPoolExecutor(workers) as pool:
        all_taken = [lease_row for mine in pool.map(work, range(workers)) for lease_row in mine]
    assert len(all_taken) == len(names)
    assert {lease_row.operation for lease_row in all_taken} == names
    assert {lease_row.fence for lease_row in all_taken} == {1}


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_takers_do_not_wait_for_one_another(database: Database) -> None:
    for _ in range(3):
        order(database, plan_of(set_value(1, "t")))
    with database.write() as one:
        first = leases.take(one, "w1", MINUTE, 2)
        with database.write() as two:
            second = leases.take(two, "w2", MINUTE, 2)
    assert (len(first), len(second)) == (2, 1)


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_write_under_way_keeps_a_successor_out_until_it_commits(database: Database, queued: str) -> None:
    (lease_row,) = take(database, "w1")
    expire(database, queued)
    with database.write() as connection:
        leases.hold(connection, queued, lease_row.fence)
        assert take(database, "w2") == []
    assert [successor.fence for successor in take(database, "w2")] == [2]


def test_a_take_over_under_way_is_waited_for_and_then_refuses(database: Database, queued: str) -> None:
    (lease_row,) = take(database, "w1")
    expire(database, queued)

    def write_late() -> None:
        with database.write() as connection:
            leases.hold(connection, queued, lease_row.fence)

    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            assert len(leases.take(connection, "w2", MINUTE, 1)) == 1
            late = pool.submit(write_late)
            with pytest.raises(TimeoutError):
                late.result(timeout=0.2)
        with pytest.raises(LeaseLost):
            late.result(timeout=10)


def leased(database: Database) -> Lease:
    instant_before = uptime()
    (lease_row,) = take(database, "w1")
    lease = Lease(lease_row.operation, lease_row.fence, uptime() + MINUTE)
    lease.synchronise(lease_row.at, instant_before)
    return lease


def loaded(database: Database, lease: Lease, machine: Machine) -> Drive:
    with database.write() as connection:
        return load(connection, lease, drive_resources(SetValue(machine), write=writer(database)))


def taken_over(database: Database, lease: Lease) -> None:
    expire(database, lease.operation)
    assert [lease_row.fence for lease_row in take(database, "w2")] == [lease.fence + 1]


def ended(connection: Connection, lease: Lease) -> list[outbox.Event]:
    stored_operation = journal.find(connection, lease.operation)
    return [finish_or_rest(connection, stored_operation, plan_of(), OperationState.DONE, Attribution("canton", "late"))]


async def write_rows(database: Database, lease: Lease) -> None:
    row_before = rows(database, lease.operation)[1]
    journal_writer = JournalWriter(lease, None, writer(database))
    journal_writer.note(row_before, journal.StepRow(1, row_before.kind, row_before.target, StepState.DONE, acts=7))
    await journal_writer.write()


async def write_an_end(database: Database, lease: Lease) -> None:
    await JournalWriter(lease, None, writer(database)).write(lambda connection, _: ended(connection, lease))


async def give_back(database: Database, lease: Lease) -> None:
    await writer(database)(lambda connection: hand_back(connection, lease))


async def load_again(database: Database, lease: Lease) -> None:
    loaded(database, lease, Machine())


@pytest.mark.parametrize("write", [write_rows, write_an_end, give_back, load_again])
def test_a_stale_fence_writes_nothing(database: Database, queued: str, write: Callable[..., Any]) -> None:
    lease = leased(database)
    taken_over(database, lease)
    contents_before = contents(database)
    with pytest.raises(LeaseLost):
        asyncio.run(write(database, lease))
    assert contents(database) == contents_before


@pytest.mark.parametrize("write", [write_rows, write_an_end, give_back, load_again])
def test_the_same_writes_work_with_a_good_fence(database: Database, queued: str, write: Callable[..., Any]) -> None:
    asyncio.run(write(database, leased(database)))


def test_a_drive_that_was_replaced_touches_no_device(database: Database, queued: str) -> None:
    machine, lease = Machine(), leased(database)
    drive = loaded(database, lease, machine)
    taken_over(database, lease)
    contents_before = contents(database)
    with pytest.raises(LeaseLost):
        asyncio.run(drive.run())
    assert machine.acts == []
    assert contents(database) == contents_before


def test_a_drive_that_was_replaced_while_it_acted_writes_nothing_more(database: Database, queued: str) -> None:
    async def scenario() -> Machine:
        machine, lease = Machine(gates={"t": asyncio.Event()}), leased(database)
        driving = asyncio.create_task(loaded(database, lease, machine).run())
        await until(lambda: bool(machine.at_gate))
        taken_over(database, lease)
        contents_before = contents(database)
        machine.gates["t"].set()
        with pytest.raises(LeaseLost):
            await driving
        assert contents(database) == contents_before
        return machine

    assert asyncio.run(scenario()).acts == [("t", "on")]
    assert rows(database, queued)[1].state is StepState.ACTING


def test_a_drive_at_whose_end_it_was_replaced_does_not_end_the_operation(database: Database) -> None:
    identity = order(database, plan_of(set_value(1, "t")))
    lease = leased(database)
    drive = loaded(database, lease, Machine(values={"t": "on"}))
    taken_over(database, lease)
    with pytest.raises(LeaseLost):
        asyncio.run(drive.run())
    assert operation(database, identity).state is OperationState.RUNNING


class UnguardedSetValue(SetValue):
    """A step kind whose driver does not call the guard before it sends."""

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        return await super().act([replace(call, guard=lambda: None) for call in calls])


@pytest.mark.parametrize("kind", [SetValue, UnguardedSetValue])
def test_a_lease_that_may_have_ended_touches_no_device(database: Database, queued: str, kind: type[SetValue]) -> None:
    """No worker has taken over yet, but one may at any moment: writing is still safe, acting is not."""
    machine, lease = Machine(), leased(database)
    with database.write() as connection:
        drive = load(connection, lease, drive_resources(kind(machine), write=writer(database)))
    lease.valid_until = uptime() - 0.001
    with pytest.raises(LeaseLost, match="ran out before it was renewed"):
        asyncio.run(drive.run())
    assert machine.acts == []


def test_a_lease_that_ends_while_a_request_is_prepared_stops_it(database: Database, queued: str) -> None:
    async def scenario() -> list[tuple[str, Json]]:
        machine, lease = Machine(gates={"t": asyncio.Event()}), leased(database)
        driving = asyncio.create_task(loaded(database, lease, machine).run())
        await until(lambda: bool(machine.at_gate))
        lease.valid_until = uptime() - 0.001
        machine.gates["t"].set()
        with pytest.raises(LeaseLost):
            await driving
        return machine.acts

    assert asyncio.run(scenario()) == []


@pytest.mark.parametrize("intervene", [retry, abandon])
def test_an_intervention_fences_out_a_worker_with_an_old_lease(
    database: Database, queued: str, intervene: Callable[..., None]
) -> None:
    lease = leased(database)
    asyncio.run(loaded(database, lease, Machine(refuse={"t": [permanent()]})).run())
    assert operation(database, queued).state is OperationState.NEEDS_ATTENTION
    by_hand(database, intervene, queued, Attribution("alice", "try again"))
    with database.write() as connection, pytest.raises(LeaseLost):
        leases.hold(connection, queued, lease.fence)


@pytest.mark.parametrize("failure", [LeaseLost("taken over"), TypeError("a defect"), asyncio.CancelledError()])
def test_after_a_failed_write_no_step_acts(database: Database, queued: str, failure: BaseException) -> None:
    """Two intents share one transaction; when it fails, neither of the two may act."""
    lease, writes = leased(database), 0

    async def write(change: Callable[[Connection], T]) -> T:
        nonlocal writes
        await asyncio.sleep(0.01)
        writes += 1
        if writes == 2:
            raise failure
        return await writer(database)(change)

    async def scenario() -> Sequence[object]:
        journal_writer, journal_rows = JournalWriter(lease, None, write), rows(database, queued)

        async def intend(n: int) -> None:
            journal_writer.note(journal_rows[n], replace(journal_rows[n], state=StepState.ACTING, acts=1))
            await journal_writer.write()

        first = asyncio.create_task(journal_writer.write(lambda *_: ()))
        await asyncio.sleep(0)
        return await asyncio.gather(first, intend(1), intend(2), return_exceptions=True)

    first, second, third = asyncio.run(scenario())
    assert isinstance(first, LeaseState)
    assert isinstance(second, type(failure))
    assert isinstance(third, LeaseLost)
    assert {row.state for row in rows(database, queued).values()} == {StepState.PENDING}
