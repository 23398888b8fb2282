"""From plan to operation: all of it or nothing, once, and no node in two operations."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import Connection

from canton.domain.errors import (
    CantonError,
    IdempotencyKeyReused,
    InvalidPlan,
    InvalidTransition,
    NodesClaimed,
    PlanMoved,
    UnknownNodes,
    UnknownPlan,
)
from canton.domain.lifecycle import NodeEvent, NodeState
from canton.domain.operation import OperationState, StepState
from canton.operations.engine.completion import Attribution, finish_or_rest
from canton.operations.plan.plan import LifecycleChange, Plan
from canton.operations.submit import Receipt, Submission, dry_run, submit
from canton.store import audit, outbox, schema
from canton.store.database import SECOND, Database
from canton.store.database import now as database_now
from canton.store.inventory import nodes
from canton.store.operations import journal
from devices import TENANT, add_nodes, add_tenant, claimed, contents, operation, order, plan_of, rows, set_value, xname

T = TypeVar("T")
ALICE = Submission(actor="alice", reason="ticket 17", request={"power": "on"})


@contextmanager
def leaves_nothing(database: Database) -> Iterator[None]:
    contents_before = contents(database)
    yield
    assert contents(database) == contents_before


def over(*names: str, **changes: Any) -> Plan:
    """A plan over nodes that ``add_nodes`` created."""
    plan = plan_of(*(set_value(n, name, back="off") for n, name in enumerate(names, 1)), nodes=names)
    return replace(plan, **({"inputs": {f"node:{name}": 1 for name in names}} | changes))


def cleaning(name: str) -> LifecycleChange:
    return LifecycleChange(name, start=NodeEvent.CLEAN, done=NodeEvent.SANITISED, undone=NodeEvent.ABANDON)


def in_threads(count: int, work: Callable[[int], T]) -> list[T | CantonError]:
    """Run the calls at the same time; a refusal is a result, any other exception fails the test."""
    together = threading.Barrier(count)

    def run(n: int) -> T | CantonError:
        together.wait()
        try:
            return work(n)
        except CantonError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def move_node(connection: Connection, name: str) -> None:
    nodes.put(connection, name, NodeState.MAINTENANCE, None)


def test_one_transaction_stores_everything(database: Database) -> None:
    one, two = add_nodes(database, 2)
    with database.write() as connection:
        add_tenant(connection)
    plan = over(one, two, tenant=TENANT, moves=(cleaning(two),))
    receipt = submit(database, plan, replace(ALICE, key="k1"))

    assert receipt.created
    stored_operation = operation(database, receipt.operation)
    assert (stored_operation.kind, stored_operation.tenant, stored_operation.actor, stored_operation.reason) == (
        "test",
        TENANT,
        "alice",
        "ticket 17",
    )
    assert (stored_operation.state, stored_operation.plan, stored_operation.fence, stored_operation.worker) == (
        OperationState.QUEUED,
        plan.digest,
        0,
        None,
    )
    assert abs((stored_operation.due_at or 0) - stored_operation.created_at) < SECOND
    assert [(row.n, row.kind, row.target, row.state) for row in rows(database, stored_operation.id).values()] == [
        (1, "set_value/1", one, StepState.PENDING),
        (2, "set_value/1", two, StepState.PENDING),
    ]
    assert claimed(database) == {one: stored_operation.id, two: stored_operation.id}
    with database.read() as connection:
        record = connection.execute(sa.select(schema.audit)).one()
        events = outbox.read(connection, TENANT, 0, 10)
        assert audit.verify(connection).seq == 1
        assert [node.state for node in nodes.find(connection, [one, two])] == [NodeState.FREE, NodeState.CLEANING]
        kinds = connection.scalar(sa.select(schema.operation.c.step_kinds))
    assert (record.actor, record.action, record.subject, record.reason) == (
        "alice",
        "operation.queued",
        stored_operation.id,
        "ticket 17",
    )
    assert plan.digest in record.details
    assert '"outcome":"started"' in record.details
    assert [(event.kind, event.subject) for event in events] == [("operation.queued", stored_operation.id)]
    assert kinds == "set_value/1"


def test_events_without_a_tenant_are_the_providers(database: Database) -> None:
    identity = order(database, plan_of(set_value(1, "t")))
    with database.read() as connection:
        assert [event.subject for event in outbox.read(connection, outbox.PROVIDER, 0, 10)] == [identity]


def test_the_first_event_moves_the_node_to_its_tenant(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    with database.write() as connection:
        add_tenant(connection)
    move = LifecycleChange(name, NodeEvent.ASSIGN, NodeEvent.JOINED, NodeEvent.UNDO, tenant=TENANT)
    order(database, over(name, moves=(move,)))
    with database.read() as connection:
        (node,) = nodes.find(connection, [name])
    assert (node.state, node.tenant, node.version) == (NodeState.JOINING, TENANT, 2)


def refusals(database: Database) -> dict[str, tuple[type[CantonError], Plan, Submission]]:
    """One submission for every reason to refuse."""
    one, two, three, claimed_node = add_nodes(database, 4)
    order(database, over(claimed_node), key="used")
    reviewed = dry_run(database, over(one, summary="reviewed")).digest
    with database.write() as connection:
        move_node(connection, three)
    impossible = LifecycleChange(one, start=NodeEvent.SANITISED, done=NodeEvent.SANITISED, undone=NodeEvent.ABANDON)
    return {
        "invalid": (InvalidPlan, plan_of(set_value(2, one)), ALICE),
        "unknown nodes": (UnknownNodes, over(one, "x9c9s9b9n9"), replace(ALICE, key="k")),
        "claimed": (NodesClaimed, over(one, claimed_node), replace(ALICE, key="k")),
        "moved": (PlanMoved, over(one, three), replace(ALICE, key="k")),
        "gone": (PlanMoved, over(one, inputs={"node:x9c9s9b9n9": 1}), replace(ALICE, key="k")),
        "not reviewed": (UnknownPlan, over(one), replace(ALICE, reviewed="sha256:0")),
        "moved since review": (PlanMoved, over(one), replace(ALICE, key="k", reviewed=reviewed)),
        "impossible": (InvalidTransition, over(one, two, moves=(cleaning(two), impossible)), replace(ALICE, key="k")),
        "key used": (IdempotencyKeyReused, over(one), replace(ALICE, key="used")),
    }


def test_a_refusal_leaves_nothing_behind(database: Database) -> None:
    for error, plan, submission in refusals(database).values():
        with leaves_nothing(database), pytest.raises(error):
            submit(database, plan, submission)


class ProcessEnded(Exception):
    """The process ended here."""


@contextmanager
def cut_before_statement(database: Database, number: int) -> Iterator[list[str]]:
    statements: list[str] = []

    def count(_c: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)
        if len(statements) == number:
            raise ProcessEnded(statement)

    event.listen(database.engine, "before_cursor_execute", count)
    try:
        yield statements
    finally:
        event.remove(database.engine, "before_cursor_execute", count)


JOURNALLED = {"plan", "operation", "step", "claim", "idempotency", "stream", "event"}


def test_a_cut_before_any_statement_leaves_nothing_behind(database: Database) -> None:
    one, two = add_nodes(database, 2)
    plan = over(one, two, moves=(cleaning(two),))
    number, finished = 0, False
    contents_before = contents(database)
    while not finished:
        assert contents(database) == contents_before
        number += 1
        with cut_before_statement(database, number):
            try:
                finished = submit(database, plan, replace(ALICE, key="k")).created
            except ProcessEnded:
                continue
    assert number > 12  # more than the tables that are written
    changed_tables = {name for name, rows in contents(database).items() if rows != contents_before[name]}
    assert changed_tables == {"node", "audit", "audit_head", *JOURNALLED}


def test_the_same_key_and_request_is_the_same_operation(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    first = submit(database, over(name), replace(ALICE, key="k"))
    with leaves_nothing(database):
        # Even though the node is claimed by now, and whatever a new plan would look like.
        receipt = submit(database, over(name, summary="planned anew"), replace(ALICE, key="k", reason="asked twice"))
    assert receipt == Receipt(first.operation, created=False)


def test_the_same_key_and_another_request_is_refused(database: Database) -> None:
    first = submit(database, plan_of(set_value(1, "t")), replace(ALICE, key="k"))
    with leaves_nothing(database), pytest.raises(IdempotencyKeyReused, match=first.operation) as refusal:
        submit(database, plan_of(set_value(1, "t")), replace(ALICE, key="k", request={"power": "off"}))
    assert refusal.value.details == {"key": "k", "operation": first.operation}


def test_a_key_is_its_actors_own(database: Database) -> None:
    first = submit(database, plan_of(set_value(1, "t")), replace(ALICE, key="k"))
    other_receipt = submit(database, plan_of(set_value(1, "t")), replace(ALICE, key="k", actor="bob", request="else"))
    assert other_receipt.created
    assert other_receipt.operation != first.operation


def test_without_a_key_twice_is_two(database: Database) -> None:
    plan = plan_of(set_value(1, "t"))
    assert submit(database, plan, ALICE).operation != submit(database, plan, ALICE).operation


def test_a_key_that_was_refused_can_be_used_again(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    with pytest.raises(PlanMoved):
        submit(database, over(name, inputs={f"node:{name}": 7}), replace(ALICE, key="k"))
    assert submit(database, over(name), replace(ALICE, key="k")).created


def test_the_same_key_at_the_same_moment_is_one_operation(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    for attempt in range(3):
        plan = over(name, summary=f"attempt {attempt}")
        answers = in_threads(6, lambda _: submit(database, plan, replace(ALICE, key=f"k{attempt}")))  # noqa: B023
        receipts = [answer for answer in answers if isinstance(answer, Receipt)]
        assert len(receipts) == 6, answers
        assert len({receipt.operation for receipt in receipts}) == 1
        assert sum(receipt.created for receipt in receipts) == 1
        finish(database, receipts[0].operation)
    assert len(contents(database)["operation"]) == 3


def test_the_same_key_for_different_requests_at_the_same_moment(database: Database) -> None:
    def ask(n: int) -> Receipt:
        return submit(database, plan_of(set_value(1, "t")), replace(ALICE, key="k", request=n))

    answers = in_threads(6, ask)
    assert sum(isinstance(answer, Receipt) for answer in answers) == 1
    assert sum(isinstance(answer, IdempotencyKeyReused) for answer in answers) == 5
    assert len(contents(database)["operation"]) == 1


def finish(database: Database, identity: str) -> None:
    """End an operation as its last transaction does."""
    with database.write() as connection:
        stored_operation = journal.find(connection, identity, lock=True)
        finish_or_rest(connection, stored_operation, plan_of(), OperationState.DONE, Attribution("canton", "test"))


def test_a_claimed_node_names_its_holder_purpose_and_since(database: Database) -> None:
    one, two, three = add_nodes(database, 3)
    first = order(database, over(one, two, summary="power on two nodes"))
    with leaves_nothing(database), pytest.raises(NodesClaimed) as refusal:
        order(database, over(three, two, one))
    message, claims_reported = refusal.value.message, refusal.value.details["claims"]
    assert message.startswith(f"{one} and 1 more held by operation {first} (power on two nodes) since 20")
    assert isinstance(claims_reported, list)
    assert [(claim["node"], claim["operation"], claim["purpose"]) for claim in claims_reported] == [
        (one, first, "power on two nodes"),
        (two, first, "power on two nodes"),
    ]
    with database.read() as connection:
        now = connection.scalar(sa.select(database_now())) or 0
    assert all(now - 60 * SECOND < claim["since"] <= now for claim in claims_reported)


def test_a_finished_operation_lets_go(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    finish(database, order(database, over(name)))
    assert claimed(database) == {}
    order(database, over(name))


def test_naming_a_node_twice_claims_it_once(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    identity = order(database, over(name, nodes=(name, name)))
    assert claimed(database) == {name: identity}


def test_of_two_competing_submissions_one_is_accepted(database: Database) -> None:
    one, two, three = add_nodes(database, 3)
    node_pairs = [(one, two), (two, three)]
    for _ in range(5):
        answers = in_threads(2, lambda n: order(database, over(*node_pairs[n], summary=f"rival {n}")))
        winners = [answer for answer in answers if isinstance(answer, str)]
        (loser,) = (answer for answer in answers if isinstance(answer, NodesClaimed))
        (winner,) = winners
        assert f"held by operation {winner} (rival {answers.index(winner)})" in loser.message
        assert set(claimed(database).values()) == {winner}
        finish(database, winner)


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_rival_that_lets_go_at_the_last_moment_leaves_no_node_unclaimed(database: Database) -> None:
    """The rival held the node at the claim, and had let go of it when its identity was read."""
    one, two, three = add_nodes(database, 3)
    rivals = [order(database, over(two))]

    def let_go(_c: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO claim") and rivals:
            finish(database, rivals.pop())

    event.listen(database.engine, "after_cursor_execute", let_go)
    identity = order(database, over(one, two, three))
    assert claimed(database) == dict.fromkeys((one, two, three), identity)


def test_many_rivals_over_random_nodes_neither_share_nor_block_each_other(database: Database) -> None:
    """Overlapping sets in any order, claimed and released at once: a deadlock would be an error."""
    names = add_nodes(database, 8)

    def compete(seed: int) -> int:
        choose, won = random.Random(seed), 0
        for round_ in range(8):
            chosen_nodes = choose.sample(names, choose.randint(1, 5))
            plan = over(
                *chosen_nodes, summary=f"{seed}.{round_}", inputs=dict.fromkeys((f"node:{name}" for name in names), 1)
            )
            try:
                identity = order(database, plan)
            except NodesClaimed:
                continue
            won += 1
            assert {holder for name, holder in claimed(database).items() if name in chosen_nodes} == {identity}
            finish(database, identity)
        return won

    answers = in_threads(8, compete)
    assert all(isinstance(answer, int) for answer in answers), answers
    assert claimed(database) == {}
    with database.read() as connection:
        audit.verify(connection)


def test_unknown_nodes_are_all_named(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    with pytest.raises(UnknownNodes) as refusal:
        order(database, over(xname(9), name, xname(8)))
    assert refusal.value.details == {"nodes": "x1000c0s[8-9]b0n0"}


def test_a_plan_from_a_world_that_moved_is_refused(database: Database) -> None:
    one, two = add_nodes(database, 2)
    plan = over(one, two)
    with database.write() as connection:
        move_node(connection, two)
    with pytest.raises(PlanMoved, match=f"node:{two} went from version 1 to 2. Make the plan again") as refusal:
        order(database, plan)
    assert refusal.value.details["moved"] == [f"node:{two} went from version 1 to 2"]


def test_an_input_that_need_not_be_claimed_is_watched_too(database: Database) -> None:
    one, two = add_nodes(database, 2)
    with database.write() as connection:
        add_tenant(connection)
    inputs = {f"node:{two}": 1, f"tenant:{TENANT}": 1}
    order(database, over(one, inputs=inputs))
    with database.write() as connection:
        connection.execute(sa.update(schema.tenant).values(version=4))
    with pytest.raises(PlanMoved, match=f"tenant:{TENANT} went from version 1 to 4"):
        order(database, over(two, inputs=inputs))


def test_a_world_that_is_moving_is_waited_for(database: Database) -> None:
    """A submission waits for an open transaction that changes an input of its plan."""
    (name,) = add_nodes(database, 1)
    with ThreadPoolExecutor(1) as pool:
        with database.write() as connection:
            move_node(connection, name)
            rival = pool.submit(order, database, over(name))
            with pytest.raises(TimeoutError):
                rival.result(timeout=0.2)
        with pytest.raises(PlanMoved):
            rival.result(timeout=10)


def test_a_dry_run_keeps_the_plan_and_nothing_else(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    contents_before = contents(database)
    plan = over(name)
    assert dry_run(database, plan) is plan
    assert dry_run(database, plan).digest == plan.digest
    contents_after = contents(database)
    assert [row[0] for row in contents_after.pop("plan")] == [plan.digest]
    assert contents_before.pop("plan") == []
    assert contents_after == contents_before
    with pytest.raises(InvalidPlan):
        dry_run(database, plan_of(set_value(2, name)))


def test_a_reviewed_plan_is_carried_out(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    reviewed = dry_run(database, over(name)).digest
    identity = order(database, over(name), reviewed=reviewed)
    assert operation(database, identity).plan == reviewed


def test_an_invented_digest_is_refused(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    with pytest.raises(UnknownPlan, match="there is no plan sha256:feed; make a dry run"):
        order(database, over(name), reviewed="sha256:feed")


def test_a_reviewed_plan_that_moved_says_what_moved(database: Database) -> None:
    (name,) = add_nodes(database, 1)
    reviewed = dry_run(database, over(name)).digest
    with database.write() as connection:
        move_node(connection, name)
    current = over(name, inputs={f"node:{name}": 2})
    with leaves_nothing(database), pytest.raises(PlanMoved) as refusal:
        order(database, current, reviewed=reviewed)
    assert refusal.value.details == {
        "reviewed": reviewed,
        "current": current.digest,
        "moved": [f"node:{name} went from version 1 to 2"],
        "steps": [],
    }
