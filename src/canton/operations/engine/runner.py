"""Drives one leased operation: starts the steps that can run, records their results, and brings it to rest.

Every write checks the fence first. If a drive is interrupted (by the database, a lost lease, the end of the process),
the next worker that takes the operation recovers in the only way there is: by observing the devices again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from sqlalchemy.engine import Connection

from canton.domain.errors import PermanentFailure
from canton.domain.json_types import JsonObject
from canton.domain.operation import OperationState, StepState
from canton.operations.engine import device_calls as calls
from canton.operations.engine.completion import Attribution, announce, finish_or_rest
from canton.operations.engine.journal_writer import JournalWriter, WriteTransaction
from canton.operations.engine.judge import LONGEST_TEXT, DecisionTime, Jitter, describe, judge, judge_act
from canton.operations.engine.lease import Lease
from canton.operations.engine.schedule import RestingState, StepSchedule, choices, make_schedule
from canton.operations.engine.step_kind import Call, Kinds, StepKind
from canton.operations.plan.plan import Plan, Step, from_json
from canton.store import doorbell, outbox
from canton.store.audit import cut
from canton.store.database import SECOND
from canton.store.operations import journal, leases, plans
from canton.store.operations.journal import StepRow

log = logging.getLogger("canton.worker")


@dataclass(frozen=True, slots=True)
class DriveResources:
    """The resources of a drive, shared by all drives of a worker."""

    kinds: Kinds
    write: WriteTransaction
    slot: Callable[[str], AbstractAsyncContextManager[None]]
    """Limits the calls under way on a device; entered for each call."""
    jitter: Jitter
    parallel: int
    stopping: Callable[[], bool]


def load(connection: Connection, lease: Lease, resources: DriveResources) -> Drive:
    """The drive of a leased operation, from its current rows."""
    lease.cancel_by = leases.hold(connection, lease.operation, lease.fence).cancel_by
    operation = journal.find(connection, lease.operation)
    plan = from_json(plans.find(connection, operation.plan))
    rows = [_possibly_sent(row, lease.latest_now()) for row in journal.steps(connection, operation.id)]
    schedule = make_schedule(plan, rows, operation.state)
    return Drive(lease, operation, plan, schedule, resources)


def _possibly_sent(row: StepRow, now: int) -> StepRow:
    """The row for a successor: the worker that wrote the intent may have sent its request until its lease ended."""
    return replace(row, acted_at=now) if row.state is StepState.ACTING else row


def hand_back(connection: Connection, lease: Lease) -> None:
    """Release a lease before it ends; the operation is due at once."""
    leases.hold(connection, lease.operation, lease.fence)
    leases.release(connection, lease.operation, None)
    doorbell.ring(connection)


def require_attention(connection: Connection, lease: Lease, defect: Exception) -> None:
    """After a defect in Canton, which would happen again: bring the operation to ``needs_attention``."""
    leases.hold(connection, lease.operation, lease.fence)
    operation = journal.find(connection, lease.operation)
    reason = "interrupted by a defect of Canton; the worker's log says where"
    # In ASCII: the text of the error may hold characters that the database cannot store.
    journal.fail_under_way(
        connection, operation.id, describe(PermanentFailure(reason)), cut(f"{defect!a}", LONGEST_TEXT)
    )
    attention: JsonObject = {
        "reason": reason,
        "stopped_before": [],
        "failed": [],
        "choices": choices(operation.state),
    }
    journal.set_state(connection, operation.id, OperationState.NEEDS_ATTENTION, attention)
    attribution = Attribution("canton", operation.reason)
    action = f"operation.{OperationState.NEEDS_ATTENTION}"
    announce(connection, operation.id, operation.tenant, action, attribution, attention)


class Drive:
    def __init__(
        self, lease: Lease, operation: journal.Operation, plan: Plan, schedule: StepSchedule, resources: DriveResources
    ) -> None:
        self.lease = lease
        self.operation = operation
        self.plan = plan
        self.schedule = schedule
        self.resources = resources
        self._batch_sizes = {name: kind.limits.batch for name, kind in resources.kinds.items()}
        self._writer = JournalWriter(lease, operation.tenant, resources.write)
        self._parallel = asyncio.Semaphore(resources.parallel)
        self._running: set[asyncio.Task[None]] = set()
        self._wake_up: asyncio.Future[None] | None = None

    async def run(self) -> None:
        try:
            while True:
                self._start()
                if self._running:
                    await self._collect()
                elif await self._rest():
                    return
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def _start(self) -> None:
        if self.resources.stopping():
            return
        cancelled = self.lease.cancel_by is not None
        for batch in self.schedule.start(self.lease.earliest_now(), self._batch_sizes, cancelled=cancelled):
            self._running.add(asyncio.create_task(self._attempt(batch)))

    async def _collect(self) -> None:
        """Wait until a batch ends or a waiting step is due; write outcomes that have waited long enough."""
        cancelled = self.lease.cancel_by is not None
        timer = None if self.resources.stopping() else self.schedule.next_timer(cancelled=cancelled)
        due = None if timer is None else (timer - self.lease.earliest_now()) / SECOND
        timeout = min((wait for wait in (due, self._writer.seconds_until_write) if wait is not None), default=None)
        self._wake_up = asyncio.get_running_loop().create_future()
        finished, _ = await asyncio.wait(
            {*self._running, self._wake_up},
            timeout=None if timeout is None else max(0.0, timeout),
            return_when=asyncio.FIRST_COMPLETED,
        )
        for task in finished:
            self._running -= {task}
            task.result()
        if self._writer.seconds_until_write is not None and self._writer.seconds_until_write <= 0:
            await self._writer.write()

    async def _attempt(self, batch: Sequence[Step]) -> None:
        try:
            async with self.resources.slot(batch[0].device), self._parallel:
                if not self.resources.stopping():
                    await self._observe_and_act(self.resources.kinds[batch[0].kind], batch)
        finally:
            self.schedule.finish(step.n for step in batch)

    async def _observe_and_act(self, kind: StepKind, batch: Sequence[Step]) -> None:
        step_calls = {step.n: Call(self.operation.id, self.lease.fence, step, self.lease.require) for step in batch}
        previous = {n: self.schedule.rows[n] for n in step_calls}
        observed_at = self.lease.earliest_now()
        observed = await calls.observe(kind, list(step_calls.values()))
        decision_time = self._decision_time(observed_at)
        rows = [judge(step, previous[step.n], kind.limits, observed[step.n], decision_time) for step in batch]
        self._note(rows)

        acting = [row for row in rows if row.state is StepState.ACTING]
        if not acting:
            return
        if len(acting) < len(rows) and self._wake_up is not None and not self._wake_up.done():
            # Wake the loop: steps that depend on the other steps of the batch need not wait for this act.
            self._wake_up.set_result(None)
        await self._writer.write()
        acting = self._withdraw(previous, acting)
        if acting:
            await self._act_and_read_back(kind, step_calls, acting)

    def _withdraw(self, previous: Mapping[int, StepRow], acting: list[StepRow]) -> list[StepRow]:
        """A cancel may arrive with the write of the intents: take those back that it withholds."""
        if self.lease.cancel_by is None:
            return acting
        withheld = {row.n for row in acting if self.schedule.withholds(previous[row.n])}
        self._note([previous[n] for n in withheld])
        return [row for row in acting if row.n not in withheld]

    async def _act_and_read_back(
        self, kind: StepKind, step_calls: Mapping[int, Call], acting: Sequence[StepRow]
    ) -> None:
        self.lease.require()
        acted_on = [step_calls[row.n] for row in acting]
        answers, certain = await calls.act(kind, acted_on)
        observed_at = self.lease.earliest_now()
        observed = await calls.observe(kind, acted_on)
        decision_time = self._decision_time(observed_at)
        self._note(
            [
                judge_act(
                    step_calls[row.n].step,
                    replace(row, acted_at=None) if certain and row.n in answers else row,
                    kind.limits,
                    observed[row.n],
                    answers.get(row.n),
                    decision_time,
                )
                for row in acting
            ]
        )

    def _decision_time(self, observed_at: int) -> DecisionTime:
        now = self.lease.earliest_now()
        # The clock may have been set back meanwhile.
        return DecisionTime(now, self.resources.jitter, min(observed_at, now), self.lease.latest_now())

    def _note(self, rows: Sequence[StepRow]) -> None:
        for row in rows:
            previous = self.schedule.rows[row.n]
            if row.cause is not None and row.cause != previous.cause:
                log.warning(
                    "step %d, %s %s: %s (%s)", row.n, row.kind, row.target, (row.error or {}).get("message"), row.cause
                )
            self._writer.note(previous, row)
            self.schedule.update(row)

    async def _rest(self) -> bool:
        """Bring the operation to rest; False if it has to go on, because it was cancelled meanwhile."""
        cancel_by = self.lease.cancel_by
        if cancel_by is not None:
            self._note(self.schedule.reset_unacted())
        resting_state = (
            RestingState(due_at=self.lease.earliest_now())
            if self.resources.stopping()
            else self.schedule.rest(cancel_by)
        )

        def come_to_rest(connection: Connection, lease_state: leases.LeaseState) -> Sequence[outbox.Event]:
            if lease_state.cancel_by != cancel_by:
                return ()
            if resting_state.state is None:
                leases.release(connection, self.operation.id, resting_state.due_at)
                if self.resources.stopping():
                    doorbell.ring(connection)
                return ()
            attribution = Attribution("canton", self.operation.reason)
            return [
                finish_or_rest(
                    connection, self.operation, self.plan, resting_state.state, attribution, resting_state.attention
                )
            ]

        await self._writer.write(come_to_rest)
        return self.lease.cancel_by == cancel_by
