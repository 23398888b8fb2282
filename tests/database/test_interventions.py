"""The interventions of a person in an operation, and the states of its nodes afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection

from canton.domain.errors import UnknownOperation, WrongState
from canton.domain.lifecycle import NodeEvent, NodeState
from canton.domain.operation import ENDED, OperationState, StepState
from canton.operations.engine.completion import Attribution, finish_or_rest
from canton.operations.interventions import abandon, cancel, retry, undo
from canton.operations.plan.plan import LifecycleChange, Plan
from canton.store import audit, outbox, schema
from canton.store.database import Database
from canton.store.inventory import nodes
from canton.store.operations import journal
from devices import (
    QUICK,
    TENANT,
    Machine,
    SetValue,
    add_nodes,
    add_tenant,
    by_hand,
    claimed,
    contents,
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
Intervention = Callable[[Connection, str, Attribution], None]
BOB = Attribution("bob", "ticket 18")
CLOSED = {S.DONE, S.FAILED, S.SKIPPED}


def states(database: Database, identity: str) -> dict[int, StepState]:
    return {n: row.state for n, row in rows(database, identity).items()}


def carry_on(database: Database, machine: Machine, identity: str) -> OperationState:
    """Let a worker drive the operation until it rests; an ended operation must have no open step."""

    async def scenario() -> None:
        async with working(database, SetValue(machine)):
            await rested(database, identity)

    asyncio.run(scenario())
    state = operation(database, identity).state
    if state in ENDED:
        assert set(states(database, identity).values()) <= CLOSED
        assert identity not in claimed(database).values()
    return state


def said(database: Database, identity: str) -> str:
    return str((operation(database, identity).attention or {})["reason"])


def stuck(database: Database, machine: Machine, plan: Plan) -> str:
    """An operation with a failed step, which needs attention."""
    identity = order(database, plan)
    assert carry_on(database, machine, identity) is Op.NEEDS_ATTENTION
    return identity


def last_record(database: Database) -> tuple[str, str, str, str]:
    with database.read() as connection:
        audit.verify(connection)
        row = connection.execute(sa.select(schema.audit).order_by(schema.audit.c.seq.desc()).limit(1)).one()
        return row.actor, row.action, row.subject, row.reason


def last_event(database: Database) -> tuple[str, str]:
    with database.read() as connection:
        *_, last = outbox.read(connection, outbox.PROVIDER, 0, 999)
        return last.kind, last.subject


def test_cancel_before_anything_acted_is_the_end(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    machine = Machine()
    moves = (LifecycleChange(name, done=NodeEvent.MAINTENANCE),)
    identity = order(database, replace(plan_of(set_value(1, name), nodes=(name,)), moves=moves))
    (state_before,) = node_states(database).values()
    by_hand(database, cancel, identity, BOB)
    assert last_record(database) == ("bob", "operation.cancel-requested", identity, "ticket 18")
    assert last_event(database) == ("operation.cancel-requested", identity)
    assert carry_on(database, machine, identity) is Op.CANCELLED
    assert last_record(database)[1:3] == ("operation.cancelled", identity)
    assert machine.calls == {}, "nothing was even looked at"
    assert states(database, identity) == {1: S.SKIPPED}
    assert node_states(database) == {name: state_before}


def test_cancel_ends_steps_that_have_not_acted(database: Database) -> None:
    """The device does not answer and the next look is minutes away: nothing is under way, so it ends at once."""

    async def scenario() -> None:
        machine = Machine(blind=[temporary("no route")])
        identity = order(database, plan_of(set_value(1, "t"), set_value(2, "u", needs=(1,))))
        async with working(database, SetValue(machine, replace(QUICK, backoff=300.0, backoff_limit=300.0))):
            await until(lambda: not machine.blind and operation(database, identity).worker is None)
            assert states(database, identity)[1] is S.WAITING
            await asyncio.sleep(0.4)  # until the worker sleeps
            by_hand(database, cancel, identity, BOB)
            await rested(database, identity)
        assert operation(database, identity).state is Op.CANCELLED
        assert set(states(database, identity).values()) == {S.SKIPPED}
        assert machine.acts == []

    asyncio.run(scenario())


def test_cancel_stops_at_the_next_safe_point_and_names_it(database: Database) -> None:
    async def scenario() -> str:
        machine = Machine(gates={"t": asyncio.Event()})
        steps = set_value(1, "t"), set_value(2, "u", needs=(1,)), set_value(3, "v", needs=(1,))
        identity = order(database, plan_of(*steps))
        async with working(database, SetValue(machine)):
            await until(lambda: "t" in machine.at_gate)
            by_hand(database, cancel, identity, BOB)
            machine.gates["t"].set()
            await rested(database, identity)
        assert machine.acts == [("t", "on")]
        return identity

    identity = asyncio.run(scenario())
    assert operation(database, identity).state is Op.NEEDS_ATTENTION
    assert said(database, identity) == (
        "cancelled; stopped at a safe point, before step 2 (set_value/1 u), 3 (set_value/1 v)"
    )
    assert (operation(database, identity).attention or {})["stopped_before"] == [2, 3]
    assert states(database, identity) == {1: S.DONE, 2: S.PENDING, 3: S.PENDING}


def test_cancel_finishes_a_stretch_that_must_not_be_left_half_way(database: Database) -> None:
    async def scenario() -> str:
        machine = Machine(gates={"t": asyncio.Event()})
        middle = replace(set_value(2, "u", needs=(1,)), interruptible=False)
        identity = order(database, plan_of(set_value(1, "t"), middle, set_value(3, "v", needs=(2,))))
        async with working(database, SetValue(machine)):
            await until(lambda: "t" in machine.at_gate)
            by_hand(database, cancel, identity, BOB)
            machine.gates["t"].set()
            await rested(database, identity)
        assert machine.acts == [("t", "on"), ("u", "on")]
        return identity

    identity = asyncio.run(scenario())
    assert said(database, identity) == "cancelled; stopped at a safe point, before step 3 (set_value/1 v)"


def test_cancel_waits_for_acts_under_way(database: Database) -> None:
    """The operation waits until its act shows; the cancel makes it due, but the act under way is finished."""

    async def scenario() -> None:
        machine = Machine(late={"t": 0.4})
        identity = order(database, plan_of(set_value(1, "t"), set_value(2, "u", needs=(1,))))
        async with working(database, SetValue(machine, replace(QUICK, settle=60.0, poll=0.05))):
            await until(lambda: bool(machine.acts) and operation(database, identity).worker is None)
            by_hand(database, cancel, identity, BOB)
            await rested(database, identity)
        assert states(database, identity) == {1: S.DONE, 2: S.PENDING}
        assert machine.acts == [("t", "on")]

    asyncio.run(scenario())


def test_cancel_reaches_a_drive_that_writes_nothing(database: Database) -> None:
    """The worker learns of the cancel at a renewal; steps that need the slow step are never begun."""

    async def scenario() -> None:
        machine = Machine(gates={"slow": asyncio.Event(), "t": asyncio.Event()})
        identity = order(database, plan_of(set_value(1, "slow"), set_value(2, "t"), set_value(3, "u", needs=(2,))))
        async with working(database, SetValue(machine, replace(QUICK, timeout=30.0)), lease=0.45) as worker:
            await until(lambda: machine.at_gate == {"slow", "t"})
            by_hand(database, cancel, identity, BOB)
            ((lease, _),) = worker._driving.values()
            await until(lambda: lease.cancel_by == "bob", seconds=2)
            for gate in machine.gates.values():
                gate.set()
            await rested(database, identity)
        assert sorted(machine.acts) == [("slow", "on"), ("t", "on")]

    asyncio.run(scenario())


def test_cancel_too_late_is_done(database: Database) -> None:
    async def scenario() -> None:
        machine = Machine(gates={"t": asyncio.Event()})
        identity = order(database, plan_of(set_value(1, "t")))
        async with working(database, SetValue(machine)):
            await until(lambda: "t" in machine.at_gate)
            by_hand(database, cancel, identity, BOB)
            machine.gates["t"].set()
            await rested(database, identity)
        assert operation(database, identity).state is Op.DONE

    asyncio.run(scenario())


def test_a_cancelled_operation_can_be_taken_up_again(database: Database) -> None:
    machine = Machine(values={"t": "on"})
    identity = order(database, plan_of(set_value(1, "u"), set_value(2, "v", needs=(1,))))
    with database.write() as connection:
        connection.execute(sa.update(schema.step).where(schema.step.c.n == 1).values(state=S.DONE, acts=1))
    by_hand(database, cancel, identity, BOB)
    assert carry_on(database, machine, identity) is Op.NEEDS_ATTENTION
    by_hand(database, retry, identity, BOB)
    assert operation(database, identity).cancel_by is None
    assert carry_on(database, machine, identity) is Op.DONE
    assert machine.acts == [("v", "on")]


def test_retry_gives_failed_steps_another_chance(database: Database) -> None:
    machine = Machine(values={"u": "on"}, deaf={"t"})
    identity = stuck(database, machine, plan_of(set_value(1, "t"), set_value(2, "u"), set_value(3, "v", needs=(1,))))
    row_before = rows(database, identity)[1]
    assert (row_before.state, row_before.tries, row_before.acts) == (S.FAILED, 4, 4)
    machine.deaf.clear()
    by_hand(database, retry, identity, BOB)
    assert last_record(database) == ("bob", "operation.running", identity, "ticket 18")
    assert last_event(database) == ("operation.running", identity)
    waiting = rows(database, identity)[1]
    assert (waiting.state, waiting.tries, waiting.acts, waiting.begun_at) == (S.WAITING, 0, 4, None)
    assert carry_on(database, machine, identity) is Op.DONE
    row_after = rows(database, identity)[1]
    assert (row_after.acts, row_after.error) == (5, None)
    assert machine.acts[-1] == ("v", "on")


def test_retry_looks_before_it_acts(database: Database) -> None:
    machine = Machine(refuse={"t": [permanent()]})
    identity = stuck(database, machine, plan_of(set_value(1, "t")))
    machine.values["t"] = "on"  # a person did it by hand
    by_hand(database, retry, identity, BOB)
    assert carry_on(database, machine, identity) is Op.DONE
    assert machine.acts == []


def chain() -> Plan:
    """Four steps; the second has no undo, the last will fail."""
    return plan_of(
        set_value(1, "t", back="off"),
        set_value(2, "u", needs=(1,)),
        set_value(3, "v", needs=(2,), back="off"),
        set_value(4, "w", needs=(3,), back="off"),
        set_value(5, "x", needs=(4,), back="off"),
    )


def test_undo_reverses_the_steps_that_acted_in_reverse_order(database: Database) -> None:
    machine = Machine(refuse={"w": [permanent()]})
    identity = stuck(database, machine, chain())
    machine.acts.clear()
    by_hand(database, undo, identity, BOB)
    assert last_record(database) == ("bob", "operation.undoing", identity, "ticket 18")
    assert operation(database, identity).state is Op.UNDOING
    assert carry_on(database, machine, identity) is Op.UNDONE
    assert machine.acts == [("w", "off"), ("v", "off"), ("t", "off")], "what was refused may have been done"
    assert states(database, identity) == {
        -4: S.DONE,
        -3: S.DONE,
        -1: S.DONE,
        1: S.DONE,
        2: S.DONE,
        3: S.DONE,
        4: S.FAILED,
        5: S.SKIPPED,
    }
    assert last_record(database)[1] == "operation.undone"


def test_undo_looks_before_it_acts(database: Database) -> None:
    machine = Machine(values={"t": "on"}, refuse={"w": [permanent()]})
    identity = stuck(database, machine, chain())
    machine.values |= {"v": "off", "w": "off"}
    machine.acts.clear()
    by_hand(database, undo, identity, BOB)
    assert carry_on(database, machine, identity) is Op.UNDONE
    assert machine.acts == [], "step 1 never acted, the others are back already"
    assert machine.values["t"] == "on"


def test_undo_with_nothing_to_take_back_is_undone(database: Database) -> None:
    machine = Machine(blind=[permanent()])
    identity = stuck(database, machine, plan_of(set_value(1, "t", back="off")))
    by_hand(database, undo, identity, BOB)
    assert carry_on(database, machine, identity) is Op.UNDONE
    assert machine.acts == []


def test_an_undo_that_fails_asks_again_and_leaves_no_step_open(database: Database) -> None:
    machine = Machine(refuse={"w": [permanent()]})
    identity = stuck(database, machine, chain())
    machine.refuse["v"] = [permanent("stuck")]
    by_hand(database, undo, identity, BOB)
    assert carry_on(database, machine, identity) is Op.NEEDS_ATTENTION
    assert (operation(database, identity).attention or {})["choices"] == ["retry", "abandon"]
    assert machine.values == {"t": "on", "u": "on", "v": "on", "w": "off"}
    with pytest.raises(WrongState, match="already being undone and a step of that failed; retry or abandon it"):
        by_hand(database, undo, identity, BOB)
    by_hand(database, retry, identity, BOB)
    assert operation(database, identity).state is Op.UNDOING
    assert carry_on(database, machine, identity) is Op.UNDONE
    assert machine.values == {"t": "off", "u": "on", "v": "off", "w": "off"}


def test_undo_waits_for_acts_that_may_still_show(database: Database) -> None:
    """The act was answered with an error and shows late: an undo that looks too early would find nothing to do."""

    async def scenario() -> None:
        machine = Machine(values={"t": "off"}, late={"t": 0.4}, lose_answers=1)
        machine.blind = []
        kind = SetValue(machine, replace(QUICK, settle=0.8, poll=0.05))
        identity = order(database, plan_of(set_value(1, "t", back="off")))
        async with working(database, kind):
            await until(lambda: bool(machine.acts))
            machine.blind.append(permanent("no longer there"))
            await rested(database, identity)
            assert operation(database, identity).state is Op.NEEDS_ATTENTION
            assert machine.values == {"t": "off"}
            machine.late.clear()
            by_hand(database, undo, identity, BOB)
            await rested(database, identity)
        assert operation(database, identity).state is Op.UNDONE
        assert machine.values == {"t": "off"}
        assert machine.shows_later == []
        assert machine.acts == [("t", "on"), ("t", "off")]

    asyncio.run(scenario())


def test_abandon_releases_nodes_and_quarantines_those_between_owners(database: Database) -> None:
    coming, cleaned, resting, claimed_only = add_nodes(database, 4)
    with database.write() as connection:
        add_tenant(connection)
    plan = replace(
        plan_of(
            set_value(1, coming), set_value(2, cleaned, needs=(1,)), nodes=(coming, cleaned, resting, claimed_only)
        ),
        moves=(
            LifecycleChange(coming, NodeEvent.ASSIGN, NodeEvent.JOINED, NodeEvent.UNDO, TENANT),
            LifecycleChange(cleaned, NodeEvent.CLEAN, NodeEvent.SANITISED, NodeEvent.ABANDON),
            LifecycleChange(resting, done=NodeEvent.MAINTENANCE),
        ),
    )
    identity = stuck(database, Machine(refuse={coming: [permanent()]}), plan)
    assert node_states(database)[coming] is NodeState.JOINING
    by_hand(database, abandon, identity, BOB)
    stored_operation = operation(database, identity)
    assert (stored_operation.state, stored_operation.due_at, stored_operation.worker) == (Op.ABANDONED, None, None)
    assert stored_operation.ended_at is not None
    assert node_states(database) == {
        coming: NodeState.QUARANTINED,
        cleaned: NodeState.QUARANTINED,
        resting: NodeState.FREE,
        claimed_only: NodeState.FREE,
    }
    with database.read() as connection:
        assert [node.tenant for node in nodes.every(connection)] == [None] * 4
    assert claimed(database) == {}
    assert states(database, identity) == {1: S.FAILED, 2: S.SKIPPED}
    assert last_record(database) == ("bob", "operation.abandoned", identity, "ticket 18")
    assert last_event(database) == ("operation.abandoned", identity)


def test_abandon_half_way_through_an_undo(database: Database) -> None:
    machine = Machine(refuse={"w": [permanent(), permanent()]})
    identity = stuck(database, machine, chain())
    by_hand(database, undo, identity, BOB)
    assert carry_on(database, machine, identity) is Op.NEEDS_ATTENTION
    by_hand(database, abandon, identity, BOB)
    assert operation(database, identity).state is Op.ABANDONED
    assert set(states(database, identity).values()) <= CLOSED


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (Op.DONE, NodeState.ASSIGNED),
        (Op.UNDONE, NodeState.QUARANTINED),
        (Op.CANCELLED, NodeState.QUARANTINED),
        (Op.ABANDONED, NodeState.QUARANTINED),
    ],
)
@pytest.mark.parametrize("doubted", [False, True])
def test_where_a_node_ends(database: Database, ends: OperationState, expected: NodeState, doubted: bool) -> None:
    """A node that was put in doubt meanwhile is not brought back, however the operation ends."""
    (name,) = add_nodes(database, 1)
    with database.write() as connection:
        add_tenant(connection)
    moves = (LifecycleChange(name, NodeEvent.ASSIGN, NodeEvent.JOINED, NodeEvent.UNDO, TENANT),)
    plan = replace(plan_of(nodes=(name,)), moves=moves)
    identity = order(database, plan)
    with database.write() as connection:
        if doubted:
            nodes.put(connection, name, NodeState.QUARANTINED, None)
        finish_or_rest(connection, journal.find(connection, identity), plan, ends, BOB)
    with database.read() as connection:
        (node,) = nodes.every(connection)
    assert node.state is (NodeState.QUARANTINED if doubted else expected)
    assert node.tenant == (TENANT if node.state is NodeState.ASSIGNED else None)


def test_a_doubt_that_is_being_raised_is_not_overwritten(database: Database) -> None:
    """The last transaction of an operation decides by the node's state in that transaction, not by an earlier read."""
    (name,) = add_nodes(database, 1)
    with database.write() as connection:
        add_tenant(connection)
    moves = (LifecycleChange(name, NodeEvent.ASSIGN, NodeEvent.JOINED, NodeEvent.UNDO, TENANT),)
    plan = replace(plan_of(nodes=(name,)), moves=moves)
    identity = order(database, plan)

    def end() -> None:
        with database.write() as connection:
            finish_or_rest(connection, journal.find(connection, identity, lock=True), plan, Op.DONE, BOB)

    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            nodes.put(connection, name, NodeState.QUARANTINED, None)
            ending = pool.submit(end)
            with pytest.raises(TimeoutError):
                ending.result(timeout=0.3)
        ending.result(timeout=10)
    assert node_states(database) == {name: NodeState.QUARANTINED}


ALLOWED: dict[Intervention, set[OperationState]] = {
    cancel: {Op.QUEUED, Op.RUNNING},
    retry: {Op.NEEDS_ATTENTION},
    undo: {Op.NEEDS_ATTENTION},
    abandon: {Op.NEEDS_ATTENTION},
}


@pytest.mark.parametrize("intervene", ALLOWED)
def test_in_any_other_state_nothing_happens(database: Database, intervene: Intervention) -> None:
    identity = order(database, plan_of(set_value(1, "t", back="off")))
    for state in sorted(set(Op) - ALLOWED[intervene]):
        with database.write() as connection:
            connection.execute(sa.update(schema.operation).values(state=state))
        contents_before = contents(database)
        with pytest.raises(WrongState, match=f"operation {identity} is {state} and cannot be") as refusal:
            by_hand(database, intervene, identity, BOB)
        assert refusal.value.details == {"operation": identity, "state": state}
        assert contents(database) == contents_before


@pytest.mark.parametrize("intervene", ALLOWED)
def test_an_unknown_operation_is_not_found(database: Database, intervene: Intervention) -> None:
    with pytest.raises(UnknownOperation, match="there is no operation op_1"):
        by_hand(database, intervene, "op_1", BOB)


class ProcessEnded(Exception):
    """The process ended here."""


@contextmanager
def cut_before_statement(database: Database, number: int) -> Iterator[None]:
    statements = 0

    def count(*_: object) -> None:
        nonlocal statements
        statements += 1
        if statements == number:
            raise ProcessEnded

    event.listen(database.engine, "before_cursor_execute", count)
    try:
        yield
    finally:
        event.remove(database.engine, "before_cursor_execute", count)


@pytest.mark.parametrize("intervene", ALLOWED)
def test_an_intervention_happens_as_a_whole_or_not_at_all(database: Database, intervene: Intervention) -> None:
    (name,) = add_nodes(database, 1)
    plan = plan_of(set_value(1, name, back="off"), set_value(2, "u", needs=(1,)), nodes=(name,))
    identity = order(database, plan)
    if intervene is not cancel:
        assert carry_on(database, Machine(refuse={name: [permanent()]}), identity) is Op.NEEDS_ATTENTION
    contents_before, number, over = contents(database), 0, False
    while not over:
        assert contents(database) == contents_before
        number += 1
        with cut_before_statement(database, number):
            try:
                by_hand(database, intervene, identity, BOB)
                over = True
            except ProcessEnded:
                continue
    assert number > 6
    assert last_record(database)[0] == "bob"


@pytest.mark.parametrize("intervene", ALLOWED)
def test_two_people_at_the_same_moment(database: Database, intervene: Intervention) -> None:
    """One of two equal decisions counts, the other is refused with the operation's state; a cancel may be repeated."""
    identity = order(database, plan_of(set_value(1, "t", back="off")))
    if intervene is not cancel:
        assert carry_on(database, Machine(refuse={"t": [permanent()]}), identity) is Op.NEEDS_ATTENTION

    def decide(who: str) -> bool:
        try:
            by_hand(database, intervene, identity, Attribution(who, "at once"))
        except WrongState:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(decide, ("bob", "carol")))
    assert sorted(outcomes) == ([True, True] if intervene is cancel else [False, True])
    with database.read() as connection:
        audit.verify(connection)


def test_a_person_is_heard_at_once(database: Database) -> None:
    """The worker sleeps; every intervention that makes an operation due wakes it."""

    async def scenario() -> None:
        machine = Machine(values={"t": "broken"}, refuse={"t": [permanent() for _ in range(3)]})
        identity = order(database, plan_of(set_value(1, "t", back="off")))
        async with working(database, SetValue(machine)):
            for intervene, state in ((retry, Op.NEEDS_ATTENTION), (undo, Op.NEEDS_ATTENTION), (retry, Op.UNDONE)):
                await rested(database, identity)
                await asyncio.sleep(0.3)  # until the worker sleeps
                by_hand(database, intervene, identity, BOB)
                await rested(database, identity)
                assert operation(database, identity).state is state

    asyncio.run(scenario())
