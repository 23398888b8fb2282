"""The engine against a simple model: random plans, devices that misbehave, crashes and people who intervene.

Time is virtual on SQLite: nothing sleeps, the clock jumps to the next timer. On PostgreSQL, whose clock is its own,
a few examples run in real and very short times. The model knows two things: what each device must show once nobody
works on it any more, and that no device may be told what it already shows or is about to show.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy.engine import Connection

from canton.domain import invariants
from canton.domain.data import JsonObject
from canton.domain.errors import LeaseLost, NodesClaimed, PermanentFailure, StepFailure, TemporaryFailure, WrongState
from canton.domain.lifecycle import NodeEvent
from canton.domain.operation import DRIVEN, ENDED, UNDER_WAY, OperationState, StepState
from canton.operations import lease as lease_module
from canton.operations.drive import Hands, load
from canton.operations.endings import Because
from canton.operations.interventions import abandon, cancel, retry, undo
from canton.operations.kinds import Call, Pace, register
from canton.operations.lease import Lease
from canton.operations.pen import Pen
from canton.operations.plan import Move, Plan, Step, Undo
from canton.store import audit, claims, journal, leases, nodes, outbox
from canton.store.database import SECOND, Database, open_database
from databases import Databases
from machine import TENANT, add_nodes, add_tenant, order, rows

T = TypeVar("T")
Op, S = OperationState, StepState
KIND = "put/1"
BOB = Because("bob", "a person's decision")
NAMES = tuple(f"x1000c0s{n}b0n0" for n in range(5))


@dataclass(frozen=True)
class Times:
    """All times of a run, in seconds. Every act shows within the time that the engine gives it."""

    unit: float
    late_units: int

    @property
    def pace(self) -> Pace:
        unit = self.unit
        return Pace(
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
    """Where a loop would sleep, time jumps."""

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
    """What each target shows, and how it will misbehave; the harm that was done to it is counted, not raised."""

    now: Callable[[], float]
    late: float
    values: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    soon: list[tuple[float, str, int]] = field(default_factory=list)
    acts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    on_look: dict[str, list[StepFailure]] = field(default_factory=lambda: defaultdict(list))
    on_act: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    harm: list[str] = field(default_factory=list)

    def catch_up(self, *, everything: bool = False) -> None:
        for when, target, value in list(self.soon):
            if everything or when <= self.now():
                self.values[target] = value
                self.soon.remove((when, target, value))

    def look(self, calls: Sequence[Call]) -> dict[int, JsonObject | StepFailure]:
        self.catch_up()
        return {
            call.step.n: self.on_look[call.step.target].pop(0)
            if self.on_look[call.step.target]
            else {"value": self.values[call.step.target]}
            for call in calls
        }

    def act(self, calls: Sequence[Call]) -> dict[int, StepFailure]:
        self.catch_up()
        refused: dict[int, StepFailure] = {}
        lost: StepFailure | None = None
        for call in calls:
            target, value = call.step.target, int(str(call.step.goal["value"]))
            if self.values[target] == value or any(each[1:] == (target, value) for each in self.soon):
                self.harm.append(f"{call.key}: {target} was told {value} once more")
            self.acts[call.operation].append(target)
            how = self.on_act[target].pop(0) if self.on_act[target] else "at once"
            match how:
                case "refused":
                    refused[call.step.n] = PermanentFailure("refused")
                case "busy":
                    refused[call.step.n] = TemporaryFailure("busy")
                case "late" | "lost, late":
                    self.soon.append((self.now() + self.late, target, value))
                case "at once" | "lost" | "lost for good":
                    self.values[target] = value
            if how.startswith("lost"):
                lost = PermanentFailure("cut off") if how == "lost for good" else TemporaryFailure("no answer")
        if lost is not None:
            raise lost
        return refused

    def settle(self) -> None:
        """From now on it behaves."""
        self.on_look.clear()
        self.on_act.clear()


WAYS = ("refused", "refused", "busy", "late", "lost", "lost, late", "lost for good", "lost, nothing", "deaf")


@dataclass
class Process:
    """A worker process that may end, lose its lease or be told to stop at one of the points it passes."""

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


class Put:
    """``put/1``: a target shows a value, seen and told by a process that may die on the way."""

    name = KIND

    def __init__(self, device: Device, process: Process, pace: Pace) -> None:
        self.device = device
        self.process = process
        self.pace = pace

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


def troubles(ways: Sequence[str]) -> st.SearchStrategy[dict[str, list[str]]]:
    """For some targets, how the next calls go."""
    return st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(ways), min_size=1, max_size=3), max_size=3)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Steps over some nodes; those over one node come one after the other, and all of them have an undo or none."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
    undoable = {name for name in names if draw(st.integers(0, 3))}
    last: dict[str, int] = {}
    steps: list[Step] = []
    for n in range(1, draw(st.integers(2, 6)) + 1):
        target = draw(st.sampled_from(names))
        needs = set(draw(st.lists(st.integers(1, n - 1), max_size=2))) if n > 1 else set()
        needs |= {last[target]} if target in last else set()
        value = draw(st.integers(1, 3))
        back = draw(st.sampled_from([other for other in range(4) if other != value]))
        steps.append(
            Step(
                n,
                KIND,
                target,
                device=target[-1],
                goal={"value": value},
                needs=tuple(sorted(needs)),
                deadline=draw(st.sampled_from([300.0, 30.0])),
                hold_down=draw(st.sampled_from([0.0, 0.0, 7.0])),
                interruptible=draw(st.booleans()),
                undo=Undo(KIND, {"value": back}) if target in undoable else None,
            )
        )
        last[target] = n
    cleaned = [name for name in names if draw(st.booleans())]
    moves = tuple(Move(name, NodeEvent.CLEAN, NodeEvent.SANITISED, NodeEvent.ABANDON) for name in cleaned)
    return Plan("test", "a test", tuple(steps), tuple(sorted(names)), {}, draw(st.sampled_from([None, TENANT])), moves)


def scaled(plan: Plan, unit: float) -> Plan:
    steps = (replace(s, deadline=s.deadline * unit, hold_down=s.hold_down * unit) for s in plan.steps)
    return replace(plan, steps=tuple(steps))


# What may follow upon what, by driving alone and by a person's decision.
DRIVES = {
    Op.QUEUED: {Op.RUNNING, Op.DONE, Op.CANCELLED, Op.NEEDS_ATTENTION},
    Op.RUNNING: {Op.DONE, Op.CANCELLED, Op.NEEDS_ATTENTION},
    Op.UNDOING: {Op.UNDONE, Op.NEEDS_ATTENTION},
}
DECISIONS: dict[str, tuple[Callable[[Database, str, Because], None], set[OperationState], set[OperationState]]] = {
    "cancel": (cancel, {Op.QUEUED, Op.RUNNING}, {Op.QUEUED, Op.RUNNING}),
    "retry": (retry, {Op.NEEDS_ATTENTION}, {Op.RUNNING, Op.UNDOING}),
    "undo": (undo, {Op.NEEDS_ATTENTION}, {Op.UNDOING}),
    "abandon": (abandon, {Op.NEEDS_ATTENTION}, {Op.ABANDONED}),
}


class Site:
    """What may happen to a site, and what must hold after each of it."""

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
        """What every target that nobody works on must show."""

    def submit(self, plan: Plan, acts: dict[str, list[str]], looks: dict[str, list[str]]) -> None:
        """A plan, and the trouble that its devices will make."""
        for name, ways in acts.items():
            self.device.on_act[name] += ways
        for name, ways in looks.items():
            failures = {"passes": TemporaryFailure("no route"), "stays": PermanentFailure("gone")}
            self.device.on_look[name] += [failures[way] for way in ways]
        plan = scaled(plan, self.times.unit)
        free = not set(plan.nodes) & self.claimed().keys()
        try:
            identity = order(self.database, plan)
        except NodesClaimed:
            assert not free
            return
        assert free
        self.plans[identity], self.states[identity], self.fences[identity] = plan, Op.QUEUED, 0

    def work(self, how: str, points: int) -> None:
        """A worker takes what is due and drives it until it rests, or until something happens to the worker."""
        self.wait(None)
        self.drive(Process(how, points))

    def drive(self, process: Process) -> None:
        with self.database.write() as connection:
            taken = leases.take(connection, "worker", self.times.lease, 4)
        made = [Lease(each.operation, each.fence, self.uptime() + self.times.lease) for each in taken]
        for lease, each in zip(made, taken, strict=True):
            lease.synchronise(each.at)
            assert lease.fence > self.fences[lease.operation]
        self.old_leases += made

        async def everything() -> None:
            process.driving = [asyncio.create_task(self.see_through(lease, process)) for lease in made]
            results = await asyncio.gather(*process.driving, return_exceptions=True)
            for result in results:
                if not isinstance(result, Crash | asyncio.CancelledError | LeaseLost | None):
                    raise result

        self.run(everything())
        if process.stopping:
            with self.database.read() as connection:
                for lease in made:
                    assert journal.find(connection, lease.operation).worker is None, "not handed back"

    async def see_through(self, lease: Lease, process: Process) -> None:
        async def write(change: Callable[[Connection], T]) -> T:
            await asyncio.sleep(0)
            with self.database.write() as connection:
                result = change(connection)
                process.point()  # before the commit
            process.point()
            return result

        kinds = register(Put(self.device, process, self.times.pace))
        hands = Hands(kinds, write, lambda _: nullcontext(), lambda: 0.5, parallel=4, stopping=lambda: process.stopping)
        drive = await write(lambda connection: load(connection, lease, hands))
        await drive.run()

    def wait(self, units: int | None) -> None:
        """Time passes: some of it, or as much as it takes until an operation is due."""
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
            leases.forgive_the_future(connection)

    def decide(self, decision: str, which: int) -> None:
        """About one that asks for it."""
        asking = sorted(identity for identity, state in self.states.items() if state is Op.NEEDS_ATTENTION)
        if asking:
            self.intervene(asking[which % len(asking)], decision)

    def meddle(self, decision: str, which: int) -> None:
        """Whatever state it is in."""
        self.intervene(sorted(self.plans)[which % len(self.plans)], decision)

    def intervene(self, identity: str, decision: str) -> None:
        intervene, before, after = DECISIONS[decision]
        undoing = any(n < 0 for n in rows(self.database, identity))
        allowed = self.states[identity] in before and not (decision == "undo" and undoing)
        try:
            intervene(self.database, identity, BOB)
        except WrongState:
            assert not allowed
            return
        assert allowed
        self.states[identity] = self.state(identity)
        assert self.states[identity] in after
        if decision == "abandon":
            # Whoever gives up lives with what is under way; here it is allowed to land before anybody else comes.
            self.device.catch_up(everything=True)
            self.shows |= {name: self.device.values[name] for name in self.plans[identity].nodes}

    def stale_worker_wakes(self, which: int) -> None:
        if not self.old_leases:
            return
        lease = self.old_leases[which % len(self.old_leases)]
        if self.fence(lease.operation) == lease.fence:
            return
        before = rows(self.database, lease.operation)
        n = min(before)

        async def write(change: Callable[[Connection], T]) -> T:
            with self.database.write() as connection:
                return change(connection)

        async def wake() -> None:
            pen = Pen(lease, None, write)
            pen.note(before[n], replace(before[n], state=S.DONE, acts=99))
            with pytest.raises(LeaseLost):
                await pen.write()

        self.run(wake())
        assert rows(self.database, lease.operation) == before

    def everything_holds(self) -> None:
        self.no_harm_was_done()
        self.the_rules_of_the_domain_hold()
        self.operations_move_as_they_may()
        self.devices_show_what_was_promised()
        self.the_records_are_whole()

    def no_harm_was_done(self) -> None:
        assert self.device.harm == []

    def the_rules_of_the_domain_hold(self) -> None:
        with self.database.read() as connection:
            held = tuple(claims.held(connection, NAMES))
            open_ = [i for i in self.plans if journal.find(connection, i).state not in ENDED]
            world = invariants.World(tuple(nodes.every(connection)), held, frozenset(open_))
        invariants.require(world)
        assert self.claimed() == {name: identity for identity in open_ for name in self.plans[identity].nodes}

    def operations_move_as_they_may(self) -> None:
        for identity, plan in self.plans.items():
            with self.database.read() as connection:
                found = journal.find(connection, identity)
            before = self.states[identity]
            assert found.state is before or found.state in DRIVES.get(before, set()), (before, found.state)
            assert found.fence >= self.fences[identity]
            assert (found.due_at is not None) == (found.state in DRIVEN)
            assert (found.ended_at is not None) == (found.state in ENDED)
            assert (found.attention is not None) == (found.state is Op.NEEDS_ATTENTION)
            self.states[identity], self.fences[identity] = found.state, found.fence
            self.check_steps(identity, plan, found.state)
            if found.state is not before and found.state in ENDED:
                self.check_ending(identity, plan, found.state)

    def check_steps(self, identity: str, plan: Plan, state: OperationState) -> None:
        found = rows(self.database, identity)
        for step in plan.steps:
            if found[step.n].state not in (S.PENDING, S.SKIPPED):
                assert all(found[need].state is S.DONE for need in step.needs)
        for row in found.values():
            if row.state is S.DONE:
                goal = plan.steps[row.n - 1].goal if row.n > 0 else plan.steps[-row.n - 1].undo.goal  # type: ignore[union-attr]
                assert row.evidence == goal
            assert (row.state is S.FAILED) <= (row.error is not None)
        if state in ENDED:
            assert {row.state for row in found.values()} <= {S.DONE, S.FAILED, S.SKIPPED}
        if state is Op.NEEDS_ATTENTION:
            assert not {row.state for row in found.values()} & UNDER_WAY

    def check_ending(self, identity: str, plan: Plan, state: OperationState) -> None:
        """What the devices show when nobody works on them any more."""
        found = rows(self.database, identity)
        if state is Op.CANCELLED:
            assert self.device.acts[identity] == []
        if state is Op.DONE:
            assert {row.state for n, row in found.items() if n > 0} <= {S.DONE}
            self.shows |= {step.target: int(str(step.goal["value"])) for step in plan.steps}
        if state is Op.UNDONE:
            back = {n for n in found if n < 0}
            assert back == {-s.n for s in plan.steps if s.undo and found[s.n].acts}
            self.shows |= {name: self.device.values[name] for name in plan.nodes}
            for step in reversed(plan.steps):
                if -step.n in back and step.undo:
                    self.shows[step.target] = int(str(step.undo.goal["value"]))

    def devices_show_what_was_promised(self) -> None:
        held = self.claimed()
        idle = {name: value for name, value in self.shows.items() if name not in held}
        assert {name: self.device.values[name] for name in idle} == idle
        assert not [each for each in self.device.soon if each[1] in idle], "and nothing is about to change it"

    def the_records_are_whole(self) -> None:
        with self.database.read() as connection:
            audit.verify(connection)
            for stream in (outbox.PROVIDER, TENANT):
                told = outbox.read(connection, stream, 0, 10_000)
                assert [each.seq for each in told] == list(range(1, outbox.last(connection, stream) + 1))

    def everything_comes_to_rest(self) -> None:
        """Once devices behave, every operation ends or asks; and a retry brings each that asks to an end."""
        self.device.settle()
        self.drain()
        assert all(state in ENDED or state is Op.NEEDS_ATTENTION for state in self.states.values())
        for identity, state in self.states.items():
            if state is Op.NEEDS_ATTENTION:
                retry(self.database, identity, BOB)
                self.states[identity] = self.state(identity)
        self.drain()
        assert all(state in ENDED for state in self.states.values()), self.states
        assert self.claimed() == {}
        assert self.device.values == self.shows

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
            return {each.node: each.operation for each in claims.held(connection, NAMES)}

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


def happens(name: str, **arguments: Any) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.just(name), st.fixed_dictionaries(arguments))


which = st.integers(0, 99)
interruptions = st.sampled_from(["crash", "crash", "crash", "cancelled", "stop"])
EVENTS = {
    "submit": happens("submit", plan=plans(), acts=troubles(WAYS), looks=troubles(("passes", "passes", "stays"))),
    "work": happens("work", how=st.just("well"), points=st.just(0)),
    "be interrupted": happens("work", how=interruptions, points=st.integers(1, 20)),
    "decide": happens("decide", decision=st.sampled_from(["undo", "undo", "retry", "abandon"]), which=which),
    "meddle": happens("meddle", decision=st.sampled_from(["cancel", "cancel", "retry", "abandon"]), which=which),
    "wait": happens("wait", units=st.integers(1, 40)),
    "clock": happens("set_the_clock_back", hours=st.integers(1, 3)),
    "stale": happens("stale_worker_wakes", which=which),
}
WEIGHTS = {"submit": 4, "work": 4, "be interrupted": 5, "decide": 4, "meddle": 1, "wait": 1, "clock": 1, "stale": 1}
deck = st.sampled_from([name for name, weight in WEIGHTS.items() for _ in range(weight)])
scripts = st.tuples(EVENTS["submit"], st.lists(deck.flatmap(EVENTS.__getitem__), min_size=15, max_size=25))
Script = tuple[tuple[str, dict[str, Any]], list[tuple[str, dict[str, Any]]]]


def play(site: Site, script: Script) -> None:
    first, others = script
    for name, arguments in (first, *others):
        getattr(site, name)(**arguments)
        site.everything_holds()
    site.everything_comes_to_rest()


def explore(source: Databases, template: str, new_clock: Callable[[], Clock | None], options: settings) -> None:
    @settings(options, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(scripts)
    def property_(script: Script) -> None:
        clock = new_clock()
        with source.copy(template) as url:
            database = open_database(url, clock.database) if clock else open_database(url)
            try:
                with database.write() as connection:
                    add_tenant(connection)
                add_nodes(database, len(NAMES))
                play(Site(database, clock), script)
            finally:
                database.close()

    property_()


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_the_engine_keeps_its_promises(
    fresh_databases: Databases, templates: dict[str, str], backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clocks: list[Clock] = []

    def new_clock() -> Clock:
        clocks.append(Clock())
        return clocks[-1]

    def uptime() -> float:
        return clocks[-1].uptime()

    monkeypatch.setattr(lease_module, "uptime", uptime)
    explore(fresh_databases, templates[backend], new_clock, settings(max_examples=50))


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_the_engine_keeps_its_promises_in_real_time(
    fresh_databases: Databases, templates: dict[str, str], backend: str
) -> None:
    # Without shrinking: in real time, the same script need not fail twice.
    options = settings(max_examples=4, phases=[Phase.generate])
    explore(fresh_databases, templates[backend], lambda: None, options)
