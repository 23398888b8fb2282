"""The whole worker, in this process, on both databases, with a machine that shows faults."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
import sqlalchemy as sa
import structlog
from sqlalchemy import event

from canton import telemetry
from canton.domain.errors import DatabaseUnavailable, PermanentFailure, StepFailure, UnknownStepKind
from canton.domain.json_types import JsonObject
from canton.domain.lifecycle import NodeEvent, NodeState
from canton.domain.operation import OperationState, StepState
from canton.operations.engine.step_kind import Call, DeviceLimits, register
from canton.operations.engine.worker import Worker
from canton.operations.plan.plan import LifecycleChange, Step
from canton.store import audit, outbox, schema
from canton.store.database import SECOND, Database
from canton.store.database import now as database_now
from canton.store.operations import journal, leases, workers
from canton.store.operations.journal import StepRow
from devices import (
    QUICK,
    Machine,
    SetValue,
    add_nodes,
    claimed,
    node_states,
    operation,
    order,
    permanent,
    plan_of,
    rested,
    rows,
    set_value,
    temporary,
    until,
    working,
)

Op, S = OperationState, StepState


def states(database: Database, identity: str) -> dict[int, StepState]:
    return {n: row.state for n, row in rows(database, identity).items()}


def attention(database: Database, identity: str) -> JsonObject:
    stored_operation = operation(database, identity)
    assert stored_operation.state is Op.NEEDS_ATTENTION
    assert stored_operation.attention is not None
    return stored_operation.attention


def carry_out(
    database: Database,
    machine: Machine,
    *steps: Step,
    limits: DeviceLimits = QUICK,
    kind: SetValue | None = None,
    **settings: Any,
) -> str:
    """Submit a plan and let one worker drive it until it rests."""

    async def scenario() -> str:
        identity = order(database, plan_of(*steps))
        async with working(database, kind or SetValue(machine, limits), **settings):
            await rested(database, identity)
        return identity

    return asyncio.run(scenario())


def on(device: str, *numbers: int) -> list[Step]:
    """Steps without needs."""
    return [replace(set_value(n, f"t{n}"), device=device) for n in numbers]


def test_a_plan_is_carried_out_in_order_and_lets_go(database: Database) -> None:
    one, two, three = add_nodes(database, 3)
    machine = Machine(values={three: "on"})
    steps = (
        set_value(1, one),
        set_value(2, two, needs=(1,)),
        set_value(3, three, needs=(1,)),
        set_value(4, one, "off", needs=(2, 3)),
    )
    plan = replace(
        plan_of(*steps, nodes=(one, two, three)), moves=(LifecycleChange(three, done=NodeEvent.MAINTENANCE),)
    )

    async def scenario() -> str:
        async with working(database, SetValue(machine)):
            identity = order(database, plan)
            await rested(database, identity)
        return identity

    identity = asyncio.run(scenario())
    stored_operation = operation(database, identity)
    assert (stored_operation.state, stored_operation.worker, stored_operation.due_at, stored_operation.attention) == (
        Op.DONE,
        None,
        None,
        None,
    )
    assert (stored_operation.ended_at or 0) >= stored_operation.created_at
    assert machine.acts == [(one, "on"), (two, "on"), (one, "off")]
    assert {n: (row.state, row.acts, row.evidence, row.error) for n, row in rows(database, identity).items()} == {
        1: (S.DONE, 1, {"value": "on"}, None),
        2: (S.DONE, 1, {"value": "on"}, None),
        3: (S.DONE, 0, {"value": "on"}, None),
        4: (S.DONE, 1, {"value": "off"}, None),
    }
    assert claimed(database) == {}
    assert node_states(database) == {one: NodeState.FREE, two: NodeState.FREE, three: NodeState.MAINTENANCE}
    with database.read() as connection:
        audit.verify(connection)
        actions = connection.execute(
            sa.select(schema.audit.c.actor, schema.audit.c.action).order_by(schema.audit.c.seq)
        )
        assert [tuple(row) for row in actions] == [("alice", "operation.queued"), ("canton", "operation.done")]
        events = outbox.read(connection, outbox.PROVIDER, 0, 99)
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.worker)) == 0
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.kind for event in events if event.kind != "step.changed"] == ["operation.queued", "operation.done"]
    assert events[-1].kind == "operation.done"
    assert Counter(event.body["step"] for event in events if event.kind == "step.changed") == {1: 1, 2: 1, 3: 1, 4: 1}


class SeesPower(SetValue):
    """A step kind whose value is a node's power."""

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        sightings = await super().observe(calls)
        return {
            n: {**sighting, "power": sighting["value"]} if isinstance(sighting, dict) else sighting
            for n, sighting in sightings.items()
        }


def test_the_power_that_a_step_saw_is_what_lists_show(database: Database) -> None:
    one, two, third = add_nodes(database, 3)
    machine = Machine(values={one: "off", two: "off", third: "off"})
    carry_out(database, machine, set_value(1, one), set_value(2, two, "off"), kind=SeesPower(machine))
    with database.read() as connection:
        observations = connection.execute(sa.select(schema.node_observation))
        assert {row.xname: row.power for row in observations} == {one: "on", two: "off"}


def test_an_operation_without_steps_is_done(database: Database) -> None:
    assert operation(database, carry_out(database, Machine())).state is Op.DONE


def test_a_device_takes_only_so_many_calls_at_a_time(database: Database) -> None:
    machine = Machine(latency=0.005)
    steps = [*on("slow", 1, 2, 3, 4, 5, 6), *on("fast", 7, 8, 9, 10, 11, 12)]
    identity = carry_out(database, machine, *steps, per_device=2, device_limits={"fast": 5})
    assert operation(database, identity).state is Op.DONE
    assert (machine.most["slow"], machine.most["fast"]) == (2, 5)


def test_the_limit_of_a_device_holds_across_operations(database: Database) -> None:
    machine = Machine(latency=0.005)

    async def scenario() -> None:
        operations = [order(database, plan_of(*on("device", 1, 2, 3, 4))) for _ in range(3)]
        machine.values.clear()
        async with working(database, SetValue(machine), per_device=3):
            await rested(database, *operations)

    asyncio.run(scenario())
    assert machine.most["device"] == 3


def test_an_operation_makes_only_so_many_calls_at_a_time(database: Database) -> None:
    machine = Machine(latency=0.005)
    steps = [step for n in range(1, 9) for step in on(f"device{n}", n)]
    identity = carry_out(database, machine, *steps, parallel=3)
    assert machine.most[identity] == 3
    assert all(machine.most[f"device{n}"] == 1 for n in range(1, 9))


def test_steps_that_a_device_takes_together_are_one_call(database: Database) -> None:
    machine = Machine(values={"t2": "on"})
    steps = [*on("a", 1, 2, 3, 4, 5, 6, 7), *on("b", 8, 9)]
    identity = carry_out(database, machine, *steps, limits=replace(QUICK, batch=4))
    assert operation(database, identity).state is Op.DONE
    assert sorted(machine.batches) == [("t1", "t3", "t4"), ("t5", "t6", "t7"), ("t8", "t9")]
    assert machine.calls["observe"] == 6  # before and after each act


def test_a_batch_that_half_fails_is_recorded_per_target(database: Database) -> None:
    machine = Machine(refuse={"t2": [permanent("no such port")], "t3": [temporary("locked")]})
    identity = carry_out(
        database, machine, *on("a", 1, 2, 3), set_value(4, "t4", needs=(2,)), limits=replace(QUICK, batch=9)
    )
    journal_rows = rows(database, identity)
    assert states(database, identity) == {1: S.DONE, 2: S.FAILED, 3: S.DONE, 4: S.PENDING}
    assert journal_rows[2].error == {"code": "permanent-failure", "message": "no such port", "details": {}}
    assert machine.batches == [("t1", "t2", "t3"), ("t3",)]
    assert machine.acts == [("t1", "on"), ("t3", "on")]
    assert attention(database, identity)["failed"] == [
        {"n": 2, "kind": "set_value/1", "target": "t2", "error": journal_rows[2].error}
    ]


def test_what_was_done_in_a_batch_is_not_held_up_by_the_rest_of_it(database: Database) -> None:
    """Step 3 needs only step 1, which is there already while step 2 of the same batch still acts."""

    async def scenario() -> None:
        machine = Machine(values={"t1": "on"}, gates={"t2": asyncio.Event()})
        identity = order(database, plan_of(*on("a", 1, 2), set_value(3, "t3", needs=(1,))))
        async with working(database, SetValue(machine, replace(QUICK, batch=2))):
            await until(lambda: "t2" in machine.at_gate)
            await until(lambda: machine.values.get("t3") == "on", seconds=1)
            machine.gates["t2"].set()
            await rested(database, identity)

    asyncio.run(scenario())


def test_a_lost_answer_is_not_a_reason_to_act_again(database: Database) -> None:
    machine = Machine(lose_answers=1)
    identity = carry_out(database, machine, set_value(1, "t"))
    assert operation(database, identity).state is Op.DONE
    assert machine.acts == [("t", "on")]


def test_an_act_that_shows_late_is_waited_for(database: Database) -> None:
    machine = Machine(late={"t": 0.15}, lose_answers=1)
    identity = carry_out(database, machine, set_value(1, "t"), limits=replace(QUICK, settle=5.0, tries=99))
    assert operation(database, identity).state is Op.DONE
    assert machine.acts == [("t", "on")]
    assert machine.calls["observe"] > 2


def test_an_act_that_shows_while_an_answer_is_on_its_way_is_not_repeated(database: Database) -> None:
    """The look began before the time to show was over; its answer came later, with the value from before the act."""

    class SlowAnswers(SetValue):
        async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
            sightings = await super().observe(calls)
            await asyncio.sleep(0.25 if self.machine.acts else 0)
            return sightings

    machine = Machine(late={"t": 0.4})
    kind = SlowAnswers(machine, replace(QUICK, settle=0.2, tries=99))
    identity = carry_out(database, machine, set_value(1, "t"), kind=kind)
    assert operation(database, identity).state is Op.DONE
    assert machine.acts == [("t", "on")]


@pytest.mark.parametrize("slow", [[leases.LeaseState], [list, leases.LeaseState]], ids=["intent", "take and intent"])
def test_a_write_that_took_long_does_not_shorten_the_time_to_show(
    database: Database, monkeypatch: pytest.MonkeyPatch, slow: list[type]
) -> None:
    """The answer to a write contains the database's time: on a busy machine that is old when it arrives."""
    write, delays = Worker._write, list(slow)

    async def slow_write(worker: Worker, change: Callable[[sa.Connection], Any]) -> Any:
        answer = await write(worker, change)
        if answer and type(answer) in delays:
            delays.remove(type(answer))
            await asyncio.sleep(0.3)
        return answer

    monkeypatch.setattr(Worker, "_write", slow_write)
    machine = Machine(late={"t": 0.2})
    identity = carry_out(database, machine, set_value(1, "t"), limits=replace(QUICK, settle=0.25, tries=99))
    assert operation(database, identity).state is Op.DONE
    assert machine.acts == [("t", "on")]
    assert not delays


def test_temporary_failures_pass(database: Database) -> None:
    """A refusal says that nothing was done: there is nothing to wait for, however long an act may take to show."""
    machine = Machine(blind=[temporary("no route")], refuse={"t": [temporary(), temporary()]})
    identity = carry_out(database, machine, set_value(1, "t"), limits=replace(QUICK, settle=900.0))
    (row,) = rows(database, identity).values()
    assert (row.state, row.tries, row.acts, row.error) == (S.DONE, 4, 3, None)


def test_spent_tries_ask_a_person(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    machine = Machine(deaf={name})

    async def scenario() -> str:
        identity = order(database, plan_of(set_value(1, name), nodes=(name,)))
        async with working(database, SetValue(machine)):
            await rested(database, identity)
        return identity

    identity = asyncio.run(scenario())
    assert machine.acts == [(name, "on")] * QUICK.tries
    problem = attention(database, identity)
    assert (problem["reason"], problem["choices"]) == ("1 of 1 steps failed", ["retry", "undo", "abandon"])
    assert f"{name} did not reach value on in 4 tries" in str(problem["failed"])
    assert claimed(database) == {name: identity}, "others stay out until a person has decided"
    with database.read() as connection:
        last = connection.execute(sa.select(schema.audit).order_by(schema.audit.c.seq.desc()).limit(1)).one()
    assert (last.action, last.subject) == ("operation.needs_attention", identity)


def test_a_passed_deadline_asks_a_person(database: Database) -> None:
    machine = Machine(deaf={"t"})
    step = replace(set_value(1, "t"), deadline=0.08)
    started = time.monotonic()
    identity = carry_out(database, machine, step, limits=replace(QUICK, settle=60.0))
    assert time.monotonic() - started < 30
    assert "did not reach value on within 0.08 s" in str(attention(database, identity)["failed"])
    assert len(machine.acts) == 1


def test_a_call_that_takes_too_long_is_given_up_and_tried_again(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine(gates={"t": asyncio.Event()})
        identity = order(database, plan_of(set_value(1, "t")))
        async with working(database, SetValue(machine, replace(QUICK, timeout=0.05, tries=99))):
            await until(lambda: rows(database, identity)[1].error is not None)
            assert "device gave no answer within 0.05 s" in str(rows(database, identity)[1].error)
            machine.gates["t"].set()
            await rested(database, identity)
        assert operation(database, identity).state is Op.DONE

    asyncio.run(scenario())


def test_a_goal_must_stay_in_sight(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine()
        step = replace(set_value(1, "t"), hold_down=0.25)
        identity = order(database, plan_of(step, set_value(2, "u", needs=(1,))))
        async with working(database, SetValue(machine)):
            await until(lambda: states(database, identity)[1] is S.HOLDING)
            first_seen = rows(database, identity)[1].held_at or 0
            machine.values["t"] = "off"  # it falls back, and a look in between sees that
            await until(lambda: len(machine.acts) == 2)
            await rested(database, identity)
        row = rows(database, identity)[1]
        assert (row.state, row.acts) == (S.DONE, 2)
        assert (row.held_at or 0) > first_seen
        assert row.changed_at - (row.held_at or 0) >= 250_000
        assert machine.acts == [("t", "on"), ("t", "on"), ("u", "on")]

    asyncio.run(scenario())


Bad = Callable[[int], Any]
"""An answer of a kind with a defect, for a step's number."""


class DefectiveSetValue(SetValue):
    """A step kind with a defect in one of its calls."""

    def __init__(self, machine: Machine, *, saw: Bad | None = None, did: Bad | None = None) -> None:
        super().__init__(machine, name="odd/1")
        self.saw = saw
        self.did = did

    async def observe(self, calls: Sequence[Call]) -> Any:
        return self.saw(calls[0].step.n) if self.saw else await super().observe(calls)

    async def act(self, calls: Sequence[Call]) -> Any:
        return self.did(calls[0].step.n) if self.did else await super().act(calls)


class FailingSetValue(SetValue):
    """A step kind whose call fails before there is anything to wait for."""

    def observe(self, _calls: Sequence[Call]) -> Any:
        raise TypeError("unsupported operand")


def fail(_: int) -> Any:
    raise TypeError("unsupported operand")


DEFECTS: dict[str, Callable[[Machine], SetValue]] = {
    "observe raises": lambda machine: DefectiveSetValue(machine, saw=fail),
    "observe answers nothing": lambda machine: DefectiveSetValue(machine, saw=lambda _: None),
    "observe forgets a step": lambda machine: DefectiveSetValue(machine, saw=lambda _: {}),
    "observe answers oddly": lambda machine: DefectiveSetValue(machine, saw=lambda n: {n: "on"}),
    "evidence cannot be stored": lambda machine: DefectiveSetValue(machine, saw=lambda n: {n: {"value": {1, 2}}}),
    "evidence is not a number": lambda machine: DefectiveSetValue(machine, saw=lambda n: {n: {"value": float("nan")}}),
    "evidence is no text": lambda machine: DefectiveSetValue(machine, saw=lambda n: {n: {"value": "\ud800"}}),
    "evidence holds a zero byte": lambda machine: DefectiveSetValue(machine, saw=lambda n: {n: {"value": "\0"}}),
    "act raises": lambda machine: DefectiveSetValue(machine, did=fail),
    "act answers nothing": lambda machine: DefectiveSetValue(machine, did=lambda _: None),
    "act answers oddly": lambda machine: DefectiveSetValue(machine, did=lambda n: {n: "no"}),
    "a refusal cannot be stored": lambda machine: DefectiveSetValue(
        machine, did=lambda n: {n: PermanentFailure("no \0", of=cast("Any", {1, 2}))}
    ),
    "no coroutine": lambda machine: FailingSetValue(machine, name="odd/1"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_step_kind_with_a_defect_asks_a_person(database: Database, defect: str) -> None:
    """The defect must neither stop the worker nor be retried without end and unnoticed."""
    machine = Machine(deaf={"t"})

    async def scenario() -> None:
        identity = order(database, plan_of(replace(set_value(1, "t"), kind="odd/1")))
        async with working(database, DEFECTS[defect](machine), SetValue(machine)):
            await rested(database, identity)
            other_operation = order(database, plan_of(set_value(1, "u")))
            await rested(database, other_operation)
        assert attention(database, identity)["choices"] == ["retry", "undo", "abandon"]
        assert set(states(database, identity).values()) <= {S.FAILED, S.PENDING}
        assert operation(database, other_operation).state is Op.DONE

    asyncio.run(scenario())


def test_answers_of_a_step_kind_about_other_steps_are_ignored(database: Database) -> None:
    async def scenario() -> None:
        identity = order(database, plan_of(replace(set_value(1, "t"), kind="odd/1")))
        async with working(
            database, DefectiveSetValue(Machine(), saw=lambda n: {n: {"value": "on"}, 99: {"value": "off"}})
        ):
            await rested(database, identity)
        assert operation(database, identity).state is Op.DONE

    asyncio.run(scenario())


def test_a_worker_refuses_to_start_on_kinds_it_does_not_know(database: Database) -> None:
    order(database, plan_of(replace(set_value(1, "t"), kind="odd/1")))
    order(database, plan_of(replace(set_value(1, "t", back="off"), kind="set_value/1")))
    worker = Worker(database, register(SetValue(Machine(), name="set_value/2")))
    with pytest.raises(UnknownStepKind, match="odd/1, set_value/1, which this version does not have") as refusal:
        asyncio.run(worker.run(asyncio.Event()))
    assert refusal.value.details == {"kinds": ["odd/1", "set_value/1"]}
    with database.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.worker)) == 0


def test_kinds_of_operations_that_ended_do_not_matter(database: Database) -> None:
    carry_out(database, Machine(), set_value(1, "t"))

    async def scenario() -> None:
        async with working(database, SetValue(Machine(), name="set_value/2")):
            pass

    asyncio.run(scenario())


def test_kinds_that_turn_up_later_are_left_to_others(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine()
        async with working(database, SetValue(machine)) as old:
            await asyncio.sleep(0.05)
            foreign = order(database, plan_of(replace(set_value(1, "t"), kind="odd/1")))
            known_operation = order(database, plan_of(set_value(1, "u")))
            await rested(database, known_operation)
            await until(lambda: not old._driving)
            stored_operation = operation(database, foreign)
            assert (stored_operation.state, stored_operation.worker) == (Op.RUNNING, None)
            fence = stored_operation.fence
            later = order(database, plan_of(set_value(1, "v")))
            await rested(database, later)
            assert operation(database, foreign).fence == fence, "it is left alone from now on"
            async with working(database, SetValue(machine), SetValue(machine, name="odd/1")):
                await rested(database, foreign)
        assert operation(database, foreign).state is Op.DONE

    asyncio.run(scenario())


def test_a_stop_finishes_the_call_hands_back_and_another_goes_on_at_once(database: Database) -> None:
    """Settings with long leases and sweeps: a test that is slow has waited for one of them."""

    async def scenario() -> None:
        machine = Machine(gates={"t": asyncio.Event()})
        identity = order(database, plan_of(set_value(1, "t"), set_value(2, "u", needs=(1,))))
        first = Worker(database, register(SetValue(machine)))
        stop = asyncio.Event()
        running = asyncio.create_task(first.run(stop))
        await until(lambda: "t" in machine.at_gate)
        async with working(database, SetValue(machine)):
            await asyncio.sleep(0.3)  # until it sleeps
            stop.set()
            await asyncio.sleep(0.3)
            assert machine.values == {}, "the call under way is not cut off"
            machine.gates["t"].set()
            await running
            await rested(database, identity)
        assert operation(database, identity).state is Op.DONE
        assert machine.acts == [("t", "on"), ("u", "on")]
        assert rows(database, identity)[1].acts == 1

    asyncio.run(scenario())


def test_a_stop_does_not_wait_for_ever(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine(gates={"t": asyncio.Event()})
        order(database, plan_of(set_value(1, "t")))
        async with working(database, SetValue(machine, replace(QUICK, timeout=60.0)), grace=0.1):
            await until(lambda: "t" in machine.at_gate)
            started = time.monotonic()
        assert time.monotonic() - started < 30

    asyncio.run(scenario())


def test_the_doorbell_wakes_a_worker_that_sleeps(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine()
        async with working(database, SetValue(machine)):
            await asyncio.sleep(0.4)
            for n in range(3):
                identity = order(database, plan_of(set_value(1, f"t{n}")))
                await rested(database, identity)

    asyncio.run(scenario())


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    statements: list[str] = []

    def count(_c: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(database.engine, "before_cursor_execute", count)
    try:
        yield statements
    finally:
        event.remove(database.engine, "before_cursor_execute", count)


def test_an_idle_worker_leaves_the_database_alone(database: Database) -> None:
    async def scenario() -> list[str]:
        parked = order(database, plan_of(set_value(1, "t")))
        async with working(database, SetValue(Machine(deaf={"t"}), replace(QUICK, settle=900, poll=300.0))) as worker:
            await until(lambda: not worker._driving and operation(database, parked).worker is None)
            await asyncio.sleep(0.5)
            with counted(database) as statements:
                await asyncio.sleep(1.5)
                return list(statements)

    assert len(asyncio.run(scenario())) <= 3


def test_workers_share_and_none_drives_what_another_drives(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine(latency=0.002)
        operations = [
            order(database, plan_of(set_value(1, f"a{n}"), set_value(2, f"b{n}", needs=(1,)))) for n in range(12)
        ]
        workers = [working(database, SetValue(machine), operations=2, lease=60.0) for _ in range(3)]
        async with workers[0], workers[1], workers[2]:
            await rested(database, *operations)
        assert all(operation(database, identity).state is Op.DONE for identity in operations)
        assert {operation(database, identity).fence for identity in operations} == {2}, "one take and one end each"
        assert sorted(machine.acts) == sorted((f"{c}{n}", "on") for c in "ab" for n in range(12))

    asyncio.run(scenario())


def test_a_timer_is_a_row_and_any_worker_continues(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine(late={"t": 0.4})
        limits = replace(QUICK, settle=60.0, poll=0.5)
        identity = order(database, plan_of(set_value(1, "t")))
        async with working(database, SetValue(machine, limits)) as first:
            await until(lambda: bool(machine.acts) and not first._driving)
            stored_operation = operation(database, identity)
            assert stored_operation.worker is None
            assert stored_operation.due_at == rows(database, identity)[1].not_before
            assert len(asyncio.all_tasks()) < 5, "nothing sleeps for it"
        async with working(database, SetValue(machine, limits)):
            await rested(database, identity)
        assert operation(database, identity).state is Op.DONE
        assert machine.acts == [("t", "on")]

    asyncio.run(scenario())


def test_a_long_call_keeps_its_lease(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine(gates={"t": asyncio.Event()})
        identity = order(database, plan_of(set_value(1, "t")))
        kind = SetValue(machine, replace(QUICK, timeout=30.0))
        async with working(database, kind, lease=2.0), working(database, kind, lease=2.0):
            await until(lambda: "t" in machine.at_gate)
            await asyncio.sleep(2.5)
            assert operation(database, identity).fence == 1
            machine.gates["t"].set()
            await rested(database, identity)
        assert machine.acts == [("t", "on")]

    asyncio.run(scenario())


def expire(database: Database, identity: str) -> None:
    with database.write() as connection:
        connection.execute(
            sa.update(schema.operation).where(schema.operation.c.id == identity).values(due_at=database_now() - 1)
        )


def test_a_worker_that_was_replaced_drops_the_operation(database: Database) -> None:
    async def scenario() -> None:
        machine, second_machine = Machine(gates={"t": asyncio.Event()}), Machine()
        identity = order(database, plan_of(set_value(1, "t"), set_value(2, "u", needs=(1,))))
        async with working(database, SetValue(machine, replace(QUICK, timeout=30.0)), lease=1.2, operations=1) as old:
            await until(lambda: "t" in machine.at_gate)
            expire(database, identity)
            async with working(database, SetValue(second_machine), lease=60.0):
                await rested(database, identity)
            await until(lambda: not old._driving)
        assert machine.acts == []
        assert second_machine.acts == [("t", "on"), ("u", "on")]

    asyncio.run(scenario())


def test_a_worker_that_replaces_itself_keeps_the_new_lease(database: Database) -> None:
    """Its own lease ran out and it took the operation again: the end of the old drive must not end the new one."""

    async def scenario() -> None:
        machine = Machine(gates={"t": asyncio.Event()})
        identity = order(database, plan_of(set_value(1, "t")))
        limits = replace(QUICK, timeout=30.0)
        async with working(database, SetValue(machine, limits), sweep=0.1, lease=60.0) as worker:
            await until(lambda: "t" in machine.at_gate)
            (_, old), *_ = worker._driving.values()
            expire(database, identity)
            await until(lambda: machine.under_way["device"] == 2)
            fence = operation(database, identity).fence
            old.cancel()
            await asyncio.wait([old])
            assert fence > 1
            assert [lease.fence for lease, _ in worker._driving.values()] == [fence]
            machine.gates["t"].set()
            await rested(database, identity)
        assert operation(database, identity).state is Op.DONE

    asyncio.run(scenario())


def test_a_defect_while_renewing_is_logged_and_the_next_renewal_comes(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    beat, beats = workers.beat, Counter[str]()

    def failing(*arguments: Any) -> None:
        beats["all"] += 1
        if beats["all"] == 1:
            raise RuntimeError("a defect")
        beat(*arguments)

    monkeypatch.setattr(workers, "beat", failing)

    async def scenario() -> None:
        async with working(database, SetValue(Machine()), lease=0.3):
            await until(lambda: beats["all"] >= 3)

    asyncio.run(scenario())
    assert "cannot renew leases because of a defect" in caplog.text


class BrokenDoorbell:
    """A doorbell that breaks."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure
        self.closed = 0

    def wait(self, seconds: float) -> bool:  # noqa: ARG002
        raise self.failure

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize("failure", [RuntimeError("a defect"), DatabaseUnavailable("cut")], ids=["defect", "cut"])
def test_the_doorbell_is_closed_on_every_way_out(
    database: Database, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    bells: list[BrokenDoorbell] = []

    def listen(_: Database) -> BrokenDoorbell:
        bells.append(BrokenDoorbell(failure))
        return bells[-1]

    monkeypatch.setattr("canton.operations.engine.worker.listen", listen)

    async def scenario() -> None:
        worker = Worker(database, register(SetValue(Machine())))
        stop = asyncio.Event()
        running = asyncio.create_task(worker.run(stop))
        await until(lambda: len(bells) > 1 or running.done())
        stop.set()
        await asyncio.wait([running])
        assert isinstance(running.exception(), RuntimeError) is isinstance(failure, RuntimeError)

    asyncio.run(scenario())
    assert [bell.closed for bell in bells] == [1] * len(bells)


def test_what_is_logged_while_an_operation_is_driven_carries_its_id(database: Database) -> None:
    class LoggingSetValue(SetValue):
        async def act(self, calls: Sequence[Call]) -> Any:
            await asyncio.to_thread(logging.getLogger("canton.test").warning, "acting")
            return await super().act(calls)

    root, stream = logging.getLogger(), io.StringIO()
    handlers, level = root.handlers[:], root.level
    telemetry.set_up("json", "info", stream)
    try:

        async def scenario() -> list[str]:
            identities = [order(database, plan_of(set_value(1, target))) for target in ("a", "b")]
            async with working(database, LoggingSetValue(Machine())):
                await rested(database, *identities)
            return identities

        operation_ids = asyncio.run(scenario())
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert sorted(line["operation"] for line in lines if line["event"] == "acting") == sorted(operation_ids)


def test_a_request_that_a_dead_worker_sent_late_is_given_its_time_to_show(database: Database) -> None:
    """Connecting can take longer than the device takes to act: a request may leave until the lease ends.

    So a successor counts the settling time from the take-over, and not from the intent in the journal.
    """
    limits = replace(QUICK, settle=1.0)
    identity = order(database, plan_of(set_value(1, "a")))
    machine = Machine(values={"a": "off"})
    with database.write() as connection:
        [lease_row] = leases.take(connection, "dead", 0.0, 1)
        intent = lease_row.at - 10 * SECOND
        row = StepRow(1, "set_value/1", "a", S.ACTING, acts=1, tries=1, begun_at=intent, acted_at=intent)
        journal.save(connection, identity, [row])
    machine.shows_later.append((time.monotonic() + 0.3, "a", "on"))

    async def scenario() -> None:
        async with working(database, SetValue(machine, limits)):
            await rested(database, identity)

    asyncio.run(scenario())
    assert operation(database, identity).state is Op.DONE
    assert machine.acts == []
