"""Writes step rows in order and under the operation's fence; all pending rows go into one transaction.

An *intent to act* must be in the journal before a device is called, so its caller waits for ``write``. An *outcome*
need not be: if it is lost, the next worker observes the device again and sees the same. Outcomes are therefore written
together with the next intent, and a chain of steps costs one transaction per step, not two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from sqlalchemy.engine import Connection

from canton.domain.errors import LeaseLost
from canton.domain.json_types import JsonObject
from canton.domain.operation import StepState
from canton.operations.engine.lease import Lease, uptime
from canton.store import outbox
from canton.store.inventory import nodes
from canton.store.operations import journal, leases
from canton.store.operations.journal import StepRow

T = TypeVar("T")
# Seconds for which an outcome waits to be written together with the next intent.
GROUP_COMMIT = 0.05
AlsoWrite: TypeAlias = Callable[[Connection, leases.LeaseState], Sequence[outbox.Event]]


class WriteTransaction(Protocol):
    """Runs a function in a write transaction, off the event loop."""

    async def __call__(self, change: Callable[[Connection], T]) -> T: ...


class JournalWriter:
    def __init__(self, lease: Lease, tenant: str | None, write: WriteTransaction) -> None:
        self._lease = lease
        self._stream = tenant or outbox.PROVIDER
        self._write = write
        self._rows: dict[int, StepRow] = {}
        self._noted_at = 0.0
        self._events: list[outbox.Event] = []
        self._one_at_a_time = asyncio.Lock()
        self._broken = False

    @property
    def seconds_until_write(self) -> float | None:
        """Seconds until the pending rows should be written without an intent; None without pending rows."""
        return GROUP_COMMIT - (uptime() - self._noted_at) if self._rows else None

    def note(self, previous: StepRow, row: StepRow) -> None:
        """Add a row to the next transaction."""
        if not self._rows:
            self._noted_at = uptime()
        self._rows[row.n] = row
        if row.state is not StepState.ACTING and row.state is not previous.state:
            self._events.append(_step_event(self._lease.operation, row))

    async def write(self, also: AlsoWrite | None = None) -> leases.LeaseState | None:
        """Return once all rows noted so far are in the database, together with the changes of ``also``.

        A caller that waits for another write may find its rows written by it. If that write failed, for whatever
        reason, no caller may act on rows that are not stored: every later write raises LeaseLost, and the drive ends.
        """
        async with self._one_at_a_time:
            if self._broken:
                raise LeaseLost(f"operation {self._lease.operation}: a write before this one failed")
            if not self._rows and also is None:
                return None
            rows, events = list(self._rows.values()), self._events
            self._rows, self._events = {}, []
            self._broken = True
            asked_at = uptime()
            lease_state = await self._write(lambda connection: self._transaction(connection, rows, events, also))
            self._broken = False
        self._lease.cancel_by = lease_state.cancel_by
        self._lease.synchronise(lease_state.at, asked_at)
        return lease_state

    def _transaction(
        self,
        connection: Connection,
        rows: Sequence[StepRow],
        events: Sequence[outbox.Event],
        also: AlsoWrite | None,
    ) -> leases.LeaseState:
        lease_state = leases.hold(connection, self._lease.operation, self._lease.fence)
        if rows:
            journal.save(connection, self._lease.operation, rows)
            _update_observations(connection, rows)
        # The events of the steps come before that of the operation.
        last = also(connection, lease_state) if also is not None else ()
        outbox.append(connection, self._stream, [*events, *last])
        return lease_state


def _update_observations(connection: Connection, rows: Sequence[StepRow]) -> None:
    """Store the power that steps observed, so that lists of nodes show it."""
    power = {row.target: str(row.evidence["power"]) for row in rows if row.evidence and "power" in row.evidence}
    if power:
        nodes.observe(connection, power)


def _step_event(operation_id: str, row: StepRow) -> outbox.Event:
    body: JsonObject = {
        "step": row.n,
        "kind": row.kind,
        "target": row.target,
        "state": row.state,
        "error": row.error,
    }
    return outbox.Event(kind="step.changed", subject=operation_id, body=body)
