"""The states of operations and of their steps."""

from __future__ import annotations

from enum import StrEnum


class OperationState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    UNDOING = "undoing"
    NEEDS_ATTENTION = "needs_attention"
    DONE = "done"
    UNDONE = "undone"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


DRIVEN = frozenset({OperationState.QUEUED, OperationState.RUNNING, OperationState.UNDOING})
ENDED = frozenset({OperationState.DONE, OperationState.UNDONE, OperationState.CANCELLED, OperationState.ABANDONED})


class StepState(StrEnum):
    """``acting`` is written before a device is called: after a crash it means that the call may have happened."""

    PENDING = "pending"
    ACTING = "acting"
    WAITING = "waiting"
    HOLDING = "holding"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


UNDER_WAY = frozenset({StepState.ACTING, StepState.WAITING, StepState.HOLDING})
