"""The engine against a simple model: random plans, devices that misbehave, crashes and people who intervene.

Time is virtual on SQLite: nothing sleeps, the clock jumps to the next timer. On PostgreSQL, whose clock is its own,
a few examples run in real and very short times. The model knows two things: what each device must show once no
operation works on it any more, and that no device may be told what it already shows or is about to show.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from sqlalchemy import event
from sqlalchemy.engine import Connection

from canton.domain import invariants
from canton.domain.errors import LeaseLost, NodesClaimed, PermanentFailure, StepFailure, TemporaryFailure, WrongState
from canton.domain.json_types import JsonObject
from canton.domain.lifecycle import NodeEvent
from canton.domain.operation import DRIVEN, ENDED, UNDER_WAY, OperationState, StepState
from canton.operations.engine import lease as lease_module
from canton.operations.engine.completion import Attribution
from canton.operations.engine.journal_writer import JournalWriter
from canton.operations.engine.lease import Lease
from canton.operations.engine.runner import DriveResources, load
from canton.operations.engine.step_kind import Call, DeviceLimits, register
from canton.operations.interventions import abandon, cancel, retry, undo
from canton.operations.plan.plan import LifecycleChange, Plan, Step, Undo
from canton.store import audit, outbox
from canton.store.database import SECOND, Database, open_database
from canton.store.inventory import nodes
from canton.store.operations import claims, journal, leases
from canton.store.operations.journal import Operation, StepRow
from databases import Databases
from devices import TENANT, add_nodes, add_tenant, by_hand, order, rows

T = TypeVar("T")
Op, S = OperationState, StepState
KIND = "put/1"
BOB = Attribution("bob", "a person's decision")
NAMES = tuple(f"x1000c0s{n}b0n0" for n in range(8))


@dataclass(frozen=True)
class Times:
    """All times of a run, in seconds. The effect of every act shows within the time that the engine allows."""

    unit: float
    late_units: int

    @property
    def limits(self) -> DeviceLimits:
        unit = self.unit
        return DeviceLimits(
            batch=3, timeout=50 * unit, settle=20 * unit, poll=5 * unit, tries=3, backoff=unit, backoff_limit=8 * unit
        )

    @property
    def late(self) -> float:
        return self.late_units * self.unit

    @property
    def lease(self) -> float:
        return 60 * self.unit


class Clock:
    """World time in microseconds, and a database clock that may be set back."""

    def __init__(self) -> None:
        self.world = 1_700_000_000 * SECOND
        self.offset = 0

    def database(self) -> int:
        return self.world + self.offset

    def uptime(self) -> float:
        return self.world / SECOND


class JumpingSelector(selectors.DefaultSelector):
    """A selector that advances the virtual time instead of sleeping."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "nothing is left that could ever wake anybody"
        self.clock.world += max(0, round(timeout * SECOND))
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        super().__init__(JumpingSelector(clock))
        self.clock = clock

    def time(self) -> float:
        return self.clock.world / SECOND


class Crash(BaseException):
    """The process ended here; nothing is cleaned up."""


@dataclass
class Device:
    """The values of the targets and their coming faults; wrong acts are collected in ``harm``, not raised."""

    now: Callable[[], float]
    late: float
    values: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    soon: list[tuple[float, str, int]] = field(default_factory=list)
    acts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    on_look: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    on_act: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    harm: list[str] = field(default_factory=list)

    def catch_up(self, *, land: Collection[str] = ()) -> None:
        """Apply the changes that are due, and on the targets in ``land`` all pending changes."""
        for when, target, value in list(self.soon):
            if target in land or when <= self.now():
                self.values[target] = value
                self.soon.remove((when, target, value))

    def look(self, calls: Sequence[Call]) -> dict[int, JsonObject | StepFailure]:
        self.catch_up()
        return {call.step.n: self.look_at(call.step.target) for call in calls}

    def look_at(self, target: str) -> JsonObject | StepFailure:
        how = self.on_look[target].pop(0) if self.on_look[target] else "well"
        if how == "well":
            return {"value": self.values[target]}
        return PermanentFailure(how) if how == "gone" else TemporaryFailure(how)

    def act(self, calls: Sequence[Call]) -> dict[int, StepFailure]:
        self.catch_up()
        refusals: dict[int, StepFailure] = {}
        lost_answer: StepFailure | None = None
        for call in calls:
            target, value = call.step.target, value_of(call.step.goal)
            if self.values[target] == value or any(change[1:] == (target, value) for change in self.soon):
                self.harm.append(f"{call.key}: {target} was told {value} once more")
            self.acts[call.operation].append(target)
            how = self.on_act[target].pop(0) if self.on_act[target] else "at once"
            match how:
                case "refused":
                    refusals[call.step.n] = PermanentFailure("refused")
                case "busy":
                    refusals[call.step.n] = TemporaryFailure("busy")
                case "late" | "lost, late" | "lost for good, late":
                    self.soon.append((self.now() + self.late, target, value))
                case "at once" | "lost" | "lost for good":
                    self.values[target] = value
            if how.startswith("lost"):
                lost_answer = PermanentFailure("cut off") if "for good" in how else TemporaryFailure("no answer")
        if lost_answer is not None:
            raise lost_answer
        return refusals

    def settle(self) -> None:
        """Remove all coming faults."""
        self.on_look.clear()
        self.on_act.clear()


# The outcomes of an act. "lost": its answer is lost; lost for good: the step fails at once; "deaf": no effect.
WAYS = (
    *("at once", "at once", "at once", "late", "late", "late", "late", "refused", "busy", "deaf"),
    *("lost", "lost, late", "lost, nothing", "lost for good", "lost for good, late"),
)
# The outcomes of a look; the interruptions of a worker; the decisions of people, required and not required.
LOOKS = (*("well",) * 8, "no route", "no route", "gone")
ENDS = ("crash", "crash", "crash", "cancelled", "stop")
DECIDES = ("undo", "undo", "undo", "retry", "retry", "abandon")
MEDDLES = ("cancel", "cancel", "cancel", "undo", "retry", "abandon")


@dataclass
class Process:
    """A worker process that may crash, lose its lease or be stopped at one of the points it passes."""

    how: str
    points: int
    driving: list[asyncio.Task[None]] = field(default_factory=list)
    stopping: bool = False
    dead: bool = False

    def point(self) -> None:
        self.points -= 1
        if self.points == 0 and self.how == "stop":
            self.stopping = True
        if self.points == 0 and self.how == "cancelled":
            for task in self.driving:
                task.cancel()
        if self.points == 0 and self.how == "crash":
            self.dead = True
        if self.dead:
            raise Crash


class PutValue:
    """``put/1``: sets and reads a target's value, in a process that may crash during a call."""

    name = KIND

    def __init__(self, device: Device, process: Process, limits: DeviceLimits) -> None:
        self.device = device
        self.process = process
        self.limits = limits

    async def observe(self, calls: Sequence[Call]) -> Mapping[int, JsonObject | StepFailure]:
        await asyncio.sleep(0)
        self.process.point()
        return self.device.look(calls)

    async def act(self, calls: Sequence[Call]) -> Mapping[int, StepFailure]:
        await asyncio.sleep(0)
        self.process.point()
        calls[0].guard()
        try:
            return self.device.act(calls)
        finally:
            self.process.point()


def random_plan(rng: random.Random, observed: Mapping[str, int]) -> Plan:
    """A plan over some nodes: the steps of one node run one after the other, and all of them have an undo or none."""
    names = rng.sample(NAMES, rng.randint(1, 2))
    now = dict(observed)
    undoable = {name for name in names if rng.random() < 0.8}
    last: dict[str, int] = {}
    steps: list[Step] = []
    for n in range(1, rng.randint(2, 6) + 1):
        target = rng.choice(names)
        needs = {need for need in range(1, n) if rng.random() < 0.3} | ({last[target]} if target in last else set())
        value = rng.randrange(4)
        back, now[target], last[target] = now[target], value, n
        steps.append(
            Step(
                n,
                KIND,
                target,
                device="one",
                goal={"value": value},
                needs=tuple(sorted(needs)),
                deadline=rng.choice([300.0, 300.0, 30.0]),
                hold_down=rng.choice([0.0, 0.0, 0.0, 7.0]),
                interruptible=rng.random() < 0.7,
                undo=Undo(KIND, {"value": back}) if target in undoable else None,
            )
        )
    cleaned = [name for name in names if rng.random() < 0.5]
    moves = tuple(LifecycleChange(name, NodeEvent.CLEAN, NodeEvent.SANITISED, NodeEvent.ABANDON) for name in cleaned)
    return Plan("test", "a test", tuple(steps), tuple(sorted(names)), {}, rng.choice([None, TENANT]), moves)


def scaled(plan: Plan, unit: float) -> Plan:
    steps = (replace(s, deadline=s.deadline * unit, hold_down=s.hold_down * unit) for s in plan.steps)
    return replace(plan, steps=tuple(steps))


# The states that may follow each state, by driving alone and by a person's decision.
DRIVES = {
    Op.QUEUED: {Op.RUNNING, Op.DONE, Op.CANCELLED, Op.NEEDS_ATTENTION},
    Op.RUNNING: {Op.DONE, Op.CANCELLED, Op.NEEDS_ATTENTION},
    Op.UNDOING: {Op.UNDONE, Op.NEEDS_ATTENTION},
}
DECISIONS: dict[
    str, tuple[Callable[[Connection, str, Attribution], None], set[OperationState], set[OperationState]]
] = {
    "cancel": (cancel, {Op.QUEUED, Op.RUNNING}, {Op.QUEUED, Op.RUNNING}),
    "retry": (retry, {Op.NEEDS_ATTENTION}, {Op.RUNNING, Op.UNDOING}),
    "undo": (undo, {Op.NEEDS_ATTENTION}, {Op.UNDOING}),
    "abandon": (abandon, {Op.NEEDS_ATTENTION}, {Op.ABANDONED}),
}


class Site:
    """The events that may happen to a site, and the conditions that must hold after each."""

    def __init__(self, database: Database, clock: Clock | None) -> None:
        self.database = database
        self.clock = clock
        # In real time, a busy machine may take as long again between the intent and the act.
        self.times = Times(1.0, 15) if clock else Times(0.01, 2)
        now = clock.uptime if clock else time.monotonic
        self.device = Device(now, self.times.late)
        self.plans: dict[str, Plan] = {}
        self.states: dict[str, OperationState] = {}
        self.fences: dict[str, int] = {}
        self.old_leases: list[Lease] = []
        self.shows = dict(self.device.values)
        """What every target that no operation works on must show."""

    def submit(self, seed: int) -> None:
        """Submit a plan for the values that the devices show, and choose the faults of its devices."""
        rng = random.Random(seed)
        plan = scaled(random_plan(rng, self.device.values), self.times.unit)
        note(str(plan))
        free = not set(plan.nodes) & self.claimed().keys()
        try:
            identity = order(self.database, plan)
        except NodesClaimed:
            assert not free
            return
        assert free
        for name in plan.nodes:
            self.device.on_act[name] = rng.choices(WAYS, k=rng.randint(0, 6))
            self.device.on_look[name] = rng.choices(LOOKS, k=rng.randint(0, 6))
        note(f"acts {dict(self.device.on_act)}, looks {dict(self.device.on_look)}")
        self.plans[identity], self.states[identity], self.fences[identity] = plan, Op.QUEUED, 0

    def work(self, how: str, points: int) -> None:
        """A worker takes what is due and drives it until it rests, or until something happens to the worker."""
        self.wait(None)
        self.drive(Process(how, points))

    def drive(self, process: Process) -> None:
        with self.database.write() as connection:
            taken_leases = leases.take(connection, "worker", self.times.lease, 4)
        new_leases = [
            Lease(taken_lease.operation, taken_lease.fence, self.uptime() + self.times.lease)
            for taken_lease in taken_leases
        ]
        for lease, taken_lease in zip(new_leases, taken_leases, strict=True):
            lease.synchronise(taken_lease.at, self.uptime())
            assert lease.fence > self.fences[lease.operation]
        self.old_leases += new_leases
        withheld = {lease.operation: self.not_to_begin(lease.operation) for lease in new_leases}

        async def everything() -> None:
            process.driving = [asyncio.create_task(self.see_through(lease, process)) for lease in new_leases]
            results = await asyncio.gather(*process.driving, return_exceptions=True)
            for result in results:
                if not isinstance(result, Crash | asyncio.CancelledError | LeaseLost | None):
                    raise result

        self.run(everything())
        for identity, numbers in withheld.items():
            assert all(rows(self.database, identity)[n].acts == 0 for n in numbers), "begun after it was cancelled"
        if process.stopping:
            with self.database.read() as connection:
                for lease in new_leases:
                    assert journal.find(connection, lease.operation).worker is None, "not handed back"

    def not_to_begin(self, identity: str) -> list[int]:
        """The steps that a cancelled operation must leave alone."""
        with self.database.read() as connection:
            cancelled = journal.find(connection, identity).cancel_by is not None
        journal_rows = rows(self.database, identity)
        steps = self.plans[identity].steps
        return [step.n for step in steps if cancelled and step.interruptible and journal_rows[step.n].acts == 0]

    async def see_through(self, lease: Lease, process: Process) -> None:
        async def write(change: Callable[[Connection], T]) -> T:
            await asyncio.sleep(0)
            with self.database.write() as connection:
                result = change(connection)
                process.point()  # before the commit
            process.point()
            return result

        kinds = register(PutValue(self.device, process, self.times.limits))
        resources = DriveResources(
            kinds, write, lambda _: nullcontext(), lambda: 0.5, parallel=4, stopping=lambda: process.stopping
        )
        drive = await write(lambda connection: load(connection, lease, resources))
        await drive.run()

    def wait(self, units: int | None) -> None:
        """Let this time pass, or with None the time until an operation is due."""
        if units is None:
            with self.database.read() as connection:
                seconds = leases.seconds_until_due(connection)
            if seconds is None or seconds <= 0:
                return
        else:
            seconds = units * self.times.unit
        if self.clock is None:
            time.sleep(min(seconds, 2.0) + 0.001)
        else:
            self.clock.world += round(seconds * SECOND) + 1
        self.device.catch_up()

    def set_the_clock_back(self, hours: int) -> None:
        if self.clock is None:
            return
        self.clock.offset -= hours * 3600 * SECOND
        with self.database.write() as connection:  # what a worker does now and then
            leases.reset_future_timers(connection)

    def decide(self, decision: str, which: int) -> None:
        """Decide about an operation that needs attention; without one, a worker drives the others."""
        asking = sorted(identity for identity, state in self.states.items() if state is Op.NEEDS_ATTENTION)
        if asking:
            self.intervene(asking[which % len(asking)], decision)
        else:
            self.work(ENDS[which % len(ENDS)], which % 20)

    def meddle(self, decision: str, which: int) -> None:
        """Decide about an operation in any state."""
        self.intervene(sorted(self.plans)[which % len(self.plans)], decision)

    def intervene(self, identity: str, decision: str) -> None:
        intervene, states_before, states_after = DECISIONS[decision]
        undoing = any(n < 0 for n in rows(self.database, identity))
        between_owners = any(move.start for move in self.plans[identity].moves)
        hindered = (decision == "undo" and undoing) or (decision == "cancel" and between_owners)
        allowed = self.states[identity] in states_before and not hindered
        try:
            by_hand(self.database, intervene, identity, BOB)
        except WrongState:
            assert not allowed
            return
        assert allowed
        self.states[identity] = self.state(identity)
        assert self.states[identity] in states_after
        if decision == "abandon":
            # Acts under way when an operation is abandoned still happen; here before the next operation.
            self.device.catch_up(land=self.plans[identity].nodes)
            self.shows |= {name: self.device.values[name] for name in self.plans[identity].nodes}

    def stale_worker_wakes(self, which: int) -> None:
        if not self.old_leases:
            return
        lease = self.old_leases[which % len(self.old_leases)]
        if self.fence(lease.operation) == lease.fence:
            return
        rows_before = rows(self.database, lease.operation)
        n = min(rows_before)

        async def write(change: Callable[[Connection], T]) -> T:
            with self.database.write() as connection:
                return change(connection)

        async def wake() -> None:
            journal_writer = JournalWriter(lease, None, write)
            journal_writer.note(rows_before[n], replace(rows_before[n], state=S.DONE, acts=99))
            with pytest.raises(LeaseLost):
                await journal_writer.write()

        self.run(wake())
        assert rows(self.database, lease.operation) == rows_before

    def everything_holds(self) -> None:
        assert self.device.harm == []
        with self.database.read() as connection:
            operations = {identity: journal.find(connection, identity) for identity in self.plans}
            steps = {
                identity: {row.n: row for row in journal.steps(connection, identity)}
                for identity in self.plans
                if self.states[identity] not in ENDED
            }
            held_claims = tuple(claims.held(connection, NAMES))
            every_node = tuple(nodes.every(connection))
        open_ = [identity for identity in operations if operations[identity].state not in ENDED]
        invariants.require(invariants.SystemSnapshot(every_node, held_claims, frozenset(open_)))
        claimed = {claim.node: claim.operation for claim in held_claims}
        assert claimed == {name: identity for identity in open_ for name in self.plans[identity].nodes}
        for identity, its_rows in steps.items():
            self.check_operation(operations[identity], its_rows)
        assert {identity: operation.state for identity, operation in operations.items()} == self.states
        self.devices_show_what_was_promised(claimed.keys())

    def check_operation(self, stored_operation: Operation, its_rows: Mapping[int, StepRow]) -> None:
        identity, plan, state_before = (
            stored_operation.id,
            self.plans[stored_operation.id],
            self.states[stored_operation.id],
        )
        assert stored_operation.state is state_before or stored_operation.state in DRIVES.get(state_before, set()), (
            state_before,
            stored_operation.state,
        )
        assert stored_operation.fence >= self.fences[identity]
        assert (stored_operation.due_at is not None) == (stored_operation.state in DRIVEN)
        assert (stored_operation.ended_at is not None) == (stored_operation.state in ENDED)
        assert (stored_operation.attention is not None) == (stored_operation.state is Op.NEEDS_ATTENTION)
        self.states[identity], self.fences[identity] = stored_operation.state, stored_operation.fence
        check_steps(plan, its_rows, stored_operation.state)
        if stored_operation.state in ENDED:
            self.shows |= self.promised(identity, plan, its_rows, stored_operation.state)

    def promised(
        self, identity: str, plan: Plan, its_rows: Mapping[int, StepRow], state: OperationState
    ) -> dict[str, int]:
        """The values that the devices must show after an operation has ended in this state."""
        if state is Op.DONE:
            assert {row.state for row in its_rows.values() if row.n > 0} <= {S.DONE}
            return {step.target: value_of(step.goal) for step in plan.steps}
        if state is Op.UNDONE:
            back = [step for step in plan.steps if -step.n in its_rows]
            assert [step.n for step in back] == [step.n for step in plan.steps if step.undo and its_rows[step.n].acts]
            # As with giving up: what has no undo may still be under way.
            self.device.catch_up(land=set(plan.nodes) - {step.target for step in back})
            now = {name: self.device.values[name] for name in plan.nodes}
            return now | {step.target: value_of(step.undo.goal) for step in reversed(back) if step.undo}
        assert state is Op.CANCELLED
        assert self.device.acts[identity] == []
        return {}

    def devices_show_what_was_promised(self, claimed: Collection[str]) -> None:
        idle = {name: value for name, value in self.shows.items() if name not in claimed}
        assert {name: self.device.values[name] for name in idle} == idle
        assert not [change for change in self.device.soon if change[1] in idle], "and nothing is about to change it"

    def the_records_are_whole(self) -> None:
        with self.database.read() as connection:
            audit.verify(connection)
            for stream in (outbox.PROVIDER, TENANT):
                events = outbox.read(connection, stream, 0, 10_000)
                assert [event.seq for event in events] == list(range(1, outbox.last(connection, stream) + 1))

    def everything_comes_to_rest(self) -> None:
        """Without faults every operation ends or needs attention, and a retry ends each that needs attention."""
        self.device.settle()
        self.drain()
        assert all(state in ENDED or state is Op.NEEDS_ATTENTION for state in self.states.values())
        for identity, state in self.states.items():
            if state is Op.NEEDS_ATTENTION:
                by_hand(self.database, retry, identity, BOB)
                self.states[identity] = self.state(identity)
        self.drain()
        assert all(state in ENDED for state in self.states.values()), self.states
        assert self.device.values == self.shows
        self.the_records_are_whole()

    def drain(self) -> None:
        for _ in range(400):
            self.wait(None)
            self.drive(Process("well", 0))
            self.everything_holds()
            with self.database.read() as connection:
                if leases.seconds_until_due(connection) is None:
                    return
        raise AssertionError(f"operations never come to rest: {self.states}")

    def claimed(self) -> dict[str, str]:
        with self.database.read() as connection:
            return {claim.node: claim.operation for claim in claims.held(connection, NAMES)}

    def state(self, identity: str) -> OperationState:
        with self.database.read() as connection:
            return journal.find(connection, identity).state

    def fence(self, identity: str) -> int:
        with self.database.read() as connection:
            return journal.find(connection, identity).fence

    def uptime(self) -> float:
        return lease_module.uptime()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        factory = None if self.clock is None else (lambda: JumpingLoop(self.clock))  # type: ignore[arg-type]
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(work)


def value_of(goal: JsonObject) -> int:
    return int(str(goal["value"]))


def check_steps(plan: Plan, its_rows: Mapping[int, StepRow], state: OperationState) -> None:
    for step in plan.steps:
        if its_rows[step.n].state not in (S.PENDING, S.SKIPPED):
            assert all(its_rows[need].state is S.DONE for need in step.needs)
        if its_rows[step.n].state is S.DONE:
            assert its_rows[step.n].evidence == step.goal
        if step.undo and -step.n in its_rows and its_rows[-step.n].state is S.DONE:
            assert its_rows[-step.n].evidence == step.undo.goal
    states = {row.state for row in its_rows.values()}
    if state in ENDED:
        assert states <= {S.DONE, S.FAILED, S.SKIPPED}
    if state is Op.NEEDS_ATTENTION:
        assert not states & UNDER_WAY
    assert all(row.error is not None for row in its_rows.values() if row.state is S.FAILED)


Event = tuple[str, dict[str, Any]]
MADE: dict[str, tuple[int, Callable[[random.Random], Event]]] = {
    "submit": (4, lambda rng: ("submit", {"seed": rng.randrange(2**32)})),
    "work": (4, lambda _: ("work", {"how": "well", "points": 0})),
    "be interrupted": (5, lambda rng: ("work", {"how": rng.choice(ENDS), "points": rng.randint(1, 20)})),
    "decide": (5, lambda rng: ("decide", {"decision": rng.choice(DECIDES), "which": rng.randrange(99)})),
    "meddle": (1, lambda rng: ("meddle", {"decision": rng.choice(MEDDLES), "which": rng.randrange(99)})),
    "wait": (1, lambda rng: ("wait", {"units": rng.randint(1, 40)})),
    "clock": (1, lambda rng: ("set_the_clock_back", {"hours": rng.randint(1, 3)})),
    "stale": (1, lambda rng: ("stale_worker_wakes", {"which": rng.randrange(99)})),
}


def script(seed: int, length: int) -> list[Event]:
    """The events for a seed: with few examples this finds more than drawing each choice. A shorter one is a prefix."""
    rng = random.Random(seed)
    deck = [name for name, (weight, _) in MADE.items() for _ in range(weight)]
    return [MADE[name][1](rng) for name in ("submit", *rng.choices(deck, k=30)[:length])]


def play(site: Site, events: Iterable[Event]) -> None:
    for name, arguments in events:
        note(f"{name} {arguments}")
        getattr(site, name)(**arguments)
        site.everything_holds()
    site.everything_comes_to_rest()


def trust_the_power_supply(connection: sqlite3.Connection, _record: object) -> None:
    """No power failure of the machine is tested, so writes need not wait for the disk."""
    connection.execute("PRAGMA synchronous = OFF")


def explore(source: Databases, template: str, new_clock: Callable[[], Clock | None], options: settings) -> None:
    @settings(options, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.integers(0, 2**32), st.integers(20, 30))
    def property_(seed: int, length: int) -> None:
        clock = new_clock()
        with source.copy(template) as url:
            database = open_database(url, clock.database) if clock else open_database(url)
            if clock:
                event.listen(database.engine, "connect", trust_the_power_supply)
            try:
                with database.write() as connection:
                    add_tenant(connection)
                add_nodes(database, len(NAMES))
                play(Site(database, clock), script(seed, length))
            finally:
                database.close()

    property_()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.slow(30)
def test_the_engine_keeps_its_promises(
    fresh_databases: Databases, templates: dict[str, str], backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks: list[Clock] = []

    def new_clock() -> Clock:
        clocks.append(Clock())
        return clocks[-1]

    def uptime() -> float:
        return clocks[-1].uptime()

    for user in ("lease", "journal_writer"):
        monkeypatch.setattr(f"canton.operations.engine.{user}.uptime", uptime)
    explore(fresh_databases, templates[backend], new_clock, settings(max_examples=50))


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_the_engine_keeps_its_promises_in_real_time(
    fresh_databases: Databases, templates: dict[str, str], backend: str
) -> None:
    # Without shrinking: in real time, the same script need not fail twice.
    options = settings(max_examples=4, phases=[Phase.generate])
    explore(fresh_databases, templates[backend], lambda: None, options)
