"""The words for how far an operation and its steps have come."""

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
    """``acting`` is written before a device is called: whoever finds it knows only that it may have been."""

    PENDING = "pending"
    ACTING = "acting"
    WAITING = "waiting"
    HOLDING = "holding"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


UNDER_WAY = frozenset({StepState.ACTING, StepState.WAITING, StepState.HOLDING})
