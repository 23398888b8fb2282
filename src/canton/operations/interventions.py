"""Interventions: cancel an operation, and, when it needs attention, retry, undo or abandon it.

Each is part of the caller's transaction and writes its own audit row; the engine then carries it out like everything
else, so an undo survives a crash as a plan does.
"""

from __future__ import annotations

from sqlalchemy.engine import Connection

from canton.domain.errors import WrongState
from canton.domain.operation import DRIVEN, OperationState
from canton.operations.engine.completion import Attribution, announce, finish_or_rest
from canton.operations.plan.plan import Plan, from_json, undo_steps
from canton.store import doorbell, outbox
from canton.store.operations import journal, plans
from canton.store.operations.journal import Operation, StepRow


def cancel(connection: Connection, operation_id: str, attribution: Attribution) -> None:
    """Ask the operation to stop at the next safe point; what is under way is finished first.

    One that moves nodes between owners has none: they would be left in quarantine with the owner's system running.
    """
    operation = journal.find(connection, operation_id, lock=True)
    if operation.state not in DRIVEN - {OperationState.UNDOING}:
        raise _wrong_state(operation, "cancelled", "queued or running")
    if any(change.start for change in _plan(connection, operation).moves):
        raise WrongState(
            f"operation {operation_id} ({operation.kind}) cannot be cancelled: its nodes would be left between two "
            "owners, perhaps switched on. Wait until it is done; if it needs attention, retry or abandon it",
            operation=operation_id,
            state=operation.state,
        )
    journal.set_cancel(connection, operation_id, attribution.actor)
    announce(connection, operation_id, operation.tenant, "operation.cancel-requested", attribution)
    doorbell.ring(connection)


def retry(connection: Connection, operation_id: str, attribution: Attribution) -> None:
    """Try the failed steps again, in the direction (forward or undo) in which they failed."""
    operation = _needing_attention(connection, operation_id, "retried")
    undoing = any(row.n < 0 for row in journal.steps(connection, operation_id))
    journal.reset_failed(connection, operation_id, undoing=undoing)
    journal.set_cancel(connection, operation_id, None)
    _resume(connection, operation, OperationState.UNDOING if undoing else OperationState.RUNNING, attribution)


def undo(connection: Connection, operation_id: str, attribution: Attribution) -> None:
    """Undo, in reverse order, every step that may have changed something and has an undo."""
    operation = _needing_attention(connection, operation_id, "undone")
    rows = journal.steps(connection, operation_id)
    if any(row.n < 0 for row in rows):
        raise WrongState(
            f"operation {operation_id} is already being undone and a step of that failed; retry or abandon it: "
            f"canton operation retry {operation_id}, or canton operation abandon {operation_id} --reason '…'",
            operation=operation_id,
        )
    # The last act may still take effect, and the undo step has to wait for that.
    acted = {row.n: row.acted_at for row in rows if row.acts}
    reverse_steps = undo_steps(_plan(connection, operation), frozenset(acted))
    journal.skip_pending(connection, operation_id)
    undo_rows = (StepRow(s.n, s.kind, s.target, acted_at=acted[-s.n]) for s in reverse_steps)
    journal.insert_steps(connection, operation_id, undo_rows)
    journal.set_cancel(connection, operation_id, None)
    _resume(connection, operation, OperationState.UNDOING, attribution)


def abandon(connection: Connection, operation_id: str, attribution: Attribution) -> None:
    """End it without undoing, and release its nodes; nodes between two owners go to quarantine."""
    operation = _needing_attention(connection, operation_id, "abandoned")
    event = finish_or_rest(connection, operation, _plan(connection, operation), OperationState.ABANDONED, attribution)
    outbox.append(connection, operation.tenant or outbox.PROVIDER, [event])


def _needing_attention(connection: Connection, operation_id: str, participle: str) -> Operation:
    operation = journal.find(connection, operation_id, lock=True)
    if operation.state is not OperationState.NEEDS_ATTENTION:
        raise _wrong_state(operation, participle, "in need of attention")
    return operation


def _wrong_state(operation: Operation, participle: str, needed: str) -> WrongState:
    return WrongState(
        f"operation {operation.id} is {operation.state} and cannot be {participle}: it would have to be {needed}",
        operation=operation.id,
        state=operation.state,
    )


def _plan(connection: Connection, operation: Operation) -> Plan:
    return from_json(plans.find(connection, operation.plan))


def _resume(connection: Connection, operation: Operation, state: OperationState, attribution: Attribution) -> None:
    journal.set_state(connection, operation.id, state)
    announce(connection, operation.id, operation.tenant, f"operation.{state}", attribution)
    doorbell.ring(connection)
