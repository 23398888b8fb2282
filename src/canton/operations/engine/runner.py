"""One leased operation: start what can run, record what came of it, come to rest.

Every write shows the fence first. Whatever interrupts a drive (the database, a lost lease, the end of the
process) is left to whoever takes the operation next: there is one way to recover, and it is to look again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from sqlalchemy.engine import Connection

from canton.domain.data import JsonObject
from canton.domain.errors import PermanentFailure
from canton.domain.operation import OperationState, StepState
from canton.operations.engine import device_calls as calls
from canton.operations.engine.completion import Attribution, announce, settle
from canton.operations.engine.journal_writer import JournalWriter, WriteTransaction
from canton.operations.engine.judge import LONGEST_TEXT, Jitter, Moment, describe, judge, judge_act
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
    """What a drive works with; shared by all drives of a worker."""

    kinds: Kinds
    write: WriteTransaction
    slot: Callable[[str], AbstractAsyncContextManager[None]]
    """A place among the calls under way on a device."""
    jitter: Jitter
    parallel: int
    stopping: Callable[[], bool]


def load(connection: Connection, lease: Lease, hands: DriveResources) -> Drive:
    """The drive of a leased operation, from its rows as they are now."""
    lease.cancel_by = leases.hold(connection, lease.operation, lease.fence).cancel_by
    operation = journal.find(connection, lease.operation)
    plan = from_json(plans.find(connection, operation.plan))
    rows = [_possibly_sent(row, lease.now_at_latest()) for row in journal.steps(connection, operation.id)]
    board = make_schedule(plan, rows, operation.state)
    return Drive(lease, operation, plan, board, hands)


def _possibly_sent(row: StepRow, now: int) -> StepRow:
    """A row as a successor must take it: whoever wrote the intent may have sent its request until its lease ended."""
    return replace(row, acted_at=now) if row.state is StepState.ACTING else row


def hand_back(connection: Connection, lease: Lease) -> None:
    """Give up a lease before its time; the operation is due at once."""
    leases.hold(connection, lease.operation, lease.fence)
    leases.release(connection, lease.operation, None)
    doorbell.ring(connection)


def require_attention(connection: Connection, lease: Lease, defect: Exception) -> None:
    """A defect of ours would happen again with every take: leave the operation to a person, not to a loop."""
    leases.hold(connection, lease.operation, lease.fence)
    operation = journal.find(connection, lease.operation)
    reason = "interrupted by a defect of Canton; the worker's log says where"
    # In ASCII: what broke the drive may be a text that the database cannot keep.
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
    because = Attribution("canton", operation.reason)
    action = f"operation.{OperationState.NEEDS_ATTENTION}"
    announce(connection, operation.id, operation.tenant, action, because, attention)


class Drive:
    def __init__(
        self, lease: Lease, operation: journal.Operation, plan: Plan, board: StepSchedule, hands: DriveResources
    ) -> None:
        self.lease = lease
        self.operation = operation
        self.plan = plan
        self.board = board
        self.hands = hands
        self._batch_sizes = {name: kind.pace.batch for name, kind in hands.kinds.items()}
        self._pen = JournalWriter(lease, operation.tenant, hands.write)
        self._parallel = asyncio.Semaphore(hands.parallel)
        self._running: set[asyncio.Task[None]] = set()
        self._news: asyncio.Future[None] | None = None

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
        if self.hands.stopping():
            return
        cancelled = self.lease.cancel_by is not None
        for batch in self.board.start(self.lease.now(), self._batch_sizes, cancelled=cancelled):
            self._running.add(asyncio.create_task(self._attempt(batch)))

    async def _collect(self) -> None:
        """Wait until a batch is over or a step that waits is due; write outcomes that nothing else takes along."""
        cancelled = self.lease.cancel_by is not None
        timer = None if self.hands.stopping() else self.board.next_timer(cancelled=cancelled)
        due = None if timer is None else (timer - self.lease.now()) / SECOND
        timeout = min((wait for wait in (due, self._pen.patience) if wait is not None), default=None)
        self._news = asyncio.get_running_loop().create_future()
        done, _ = await asyncio.wait(
            {*self._running, self._news},
            timeout=None if timeout is None else max(0.0, timeout),
            return_when=asyncio.FIRST_COMPLETED,
        )
        for one in done:
            self._running -= {one}
            one.result()
        if self._pen.patience is not None and self._pen.patience <= 0:
            await self._pen.write()

    async def _attempt(self, batch: Sequence[Step]) -> None:
        try:
            async with self.hands.slot(batch[0].device), self._parallel:
                if not self.hands.stopping():
                    await self._look_and_act(self.hands.kinds[batch[0].kind], batch)
        finally:
            self.board.finish(step.n for step in batch)

    async def _look_and_act(self, kind: StepKind, batch: Sequence[Step]) -> None:
        asked = {step.n: Call(self.operation.id, self.lease.fence, step, self.lease.require) for step in batch}
        before = {n: self.board.rows[n] for n in asked}
        looked_at = self.lease.now()
        seen = await calls.observe(kind, list(asked.values()))
        moment = self._moment(looked_at)
        rows = [judge(step, before[step.n], kind.pace, seen[step.n], moment) for step in batch]
        self._note(rows)

        acting = [row for row in rows if row.state is StepState.ACTING]
        if not acting:
            return
        if len(acting) < len(rows) and self._news is not None and not self._news.done():
            self._news.set_result(None)  # what waited for the others in the batch need not wait for our act
        await self._pen.write()
        acting = self._withdraw(before, acting)
        if acting:
            await self._act_and_read_back(kind, asked, acting)

    def _withdraw(self, before: Mapping[int, StepRow], acting: list[StepRow]) -> list[StepRow]:
        """A cancel may come to our knowledge with the very intents: those that it withholds are taken back."""
        if self.lease.cancel_by is None:
            return acting
        withheld = {row.n for row in acting if self.board.withholds(before[row.n])}
        self._note([before[n] for n in withheld])
        return [row for row in acting if row.n not in withheld]

    async def _act_and_read_back(self, kind: StepKind, asked: Mapping[int, Call], acting: Sequence[StepRow]) -> None:
        self.lease.require()
        acted_on = [asked[row.n] for row in acting]
        answers, certain = await calls.act(kind, acted_on)
        looked_at = self.lease.now()
        seen = await calls.observe(kind, acted_on)
        moment = self._moment(looked_at)
        self._note(
            [
                judge_act(
                    asked[row.n].step,
                    replace(row, acted_at=None) if certain and row.n in answers else row,
                    kind.pace,
                    seen[row.n],
                    answers.get(row.n),
                    moment,
                )
                for row in acting
            ]
        )

    def _moment(self, looked_at: int) -> Moment:
        now = self.lease.now()
        # The clock may have been set back meanwhile.
        return Moment(now, self.hands.jitter, min(looked_at, now), self.lease.now_at_latest())

    def _note(self, rows: Sequence[StepRow]) -> None:
        for row in rows:
            before = self.board.rows[row.n]
            if row.cause is not None and row.cause != before.cause:
                log.warning(
                    "step %d, %s %s: %s (%s)", row.n, row.kind, row.target, (row.error or {}).get("message"), row.cause
                )
            self._pen.note(before, row)
            self.board.update(row)

    async def _rest(self) -> bool:
        """Leave the operation where it can stay; False when there is a reason to go on."""
        heard = self.lease.cancel_by
        if heard is not None:
            self._note(self.board.withdrawn())
        rest = RestingState(due_at=self.lease.now()) if self.hands.stopping() else self.board.rest(heard)

        def come_to_rest(connection: Connection, held: leases.LeaseState) -> Sequence[outbox.Event]:
            if held.cancel_by != heard:
                return ()
            if rest.state is None:
                leases.release(connection, self.operation.id, rest.due_at)
                if self.hands.stopping():
                    doorbell.ring(connection)
                return ()
            because = Attribution("canton", self.operation.reason)
            return [settle(connection, self.operation, self.plan, rest.state, because, rest.attention)]

        await self._pen.write(come_to_rest)
        return self.lease.cancel_by == heard
