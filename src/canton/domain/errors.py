"""The one error tree.

    CantonError
    ├── Invalid                 the request is malformed                  400
    │   ├── InvalidXname
    │   ├── InvalidNodeset
    │   ├── NodesetTooLarge
    │   ├── InvalidTransition
    │   ├── InvalidPlan
    │   └── InvalidSetting
    ├── NotFound                the thing named is not there              404
    │   ├── UnknownNodes
    │   ├── UnknownGroup
    │   ├── UnknownOperation
    │   └── UnknownPlan
    ├── Conflict                the world is not as the request assumes   409
    │   ├── NodesClaimed
    │   ├── PlanMoved
    │   ├── IdempotencyKeyReused
    │   └── WrongState
    ├── Unavailable             something we need does not answer now     503
    │   ├── DatabaseUnavailable
    │   └── LeaseLost
    ├── StepFailure             a step did not reach its goal             502
    │   ├── TemporaryFailure
    │   └── PermanentFailure
    └── NeedsHuman              Canton refuses to guess                   500
        ├── AuditBroken
        ├── SchemaMismatch
        ├── InvariantBroken
        └── UnknownStepKind

A leaf fixes its stable code, HTTP status, exit code and what a caller may do about it. The message, written
where the error is raised, names the object, what was wanted, what was found and what to do next; ``details``
carries the same facts for programs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from canton.domain.data import Json, JsonObject


class Remedy(StrEnum):
    """What helps: try again unchanged, change the request, or ask a person."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    HUMAN = "human"


class CantonError(Exception):
    """Every error that Canton raises on purpose."""

    code: ClassVar[str]
    status: ClassVar[int]
    exit_code: ClassVar[int]
    remedy: ClassVar[Remedy]

    def __init__(self, message: str, **details: Json) -> None:
        super().__init__(message)
        self.message = message
        self.details: JsonObject = details


class Invalid(CantonError):
    code, status, exit_code, remedy = "invalid", 400, 2, Remedy.PERMANENT


class InvalidXname(Invalid):
    code = "invalid-xname"


class InvalidNodeset(Invalid):
    code = "invalid-nodeset"


class NodesetTooLarge(Invalid):
    code = "nodeset-too-large"


class InvalidTransition(Invalid):
    code = "invalid-transition"


class InvalidPlan(Invalid):
    code = "invalid-plan"


class InvalidSetting(Invalid):
    code = "invalid-setting"


class NotFound(CantonError):
    code, status, exit_code, remedy = "not-found", 404, 3, Remedy.PERMANENT


class UnknownNodes(NotFound):
    code = "unknown-nodes"


class UnknownGroup(NotFound):
    code = "unknown-group"


class UnknownOperation(NotFound):
    code = "unknown-operation"


class UnknownPlan(NotFound):
    code = "unknown-plan"


class Conflict(CantonError):
    code, status, exit_code, remedy = "conflict", 409, 5, Remedy.PERMANENT


class NodesClaimed(Conflict):
    code, remedy = "nodes-claimed", Remedy.TEMPORARY


class PlanMoved(Conflict):
    code = "plan-moved"


class IdempotencyKeyReused(Conflict):
    code = "idempotency-key-reused"


class WrongState(Conflict):
    code = "wrong-state"


class Unavailable(CantonError):
    code, status, exit_code, remedy = "unavailable", 503, 8, Remedy.TEMPORARY


class DatabaseUnavailable(Unavailable):
    code = "database-unavailable"


class LeaseLost(Unavailable):
    code = "lease-lost"


class StepFailure(CantonError):
    code, status, exit_code, remedy = "step-failure", 502, 1, Remedy.PERMANENT


class TemporaryFailure(StepFailure):
    code, remedy = "temporary-failure", Remedy.TEMPORARY


class PermanentFailure(StepFailure):
    code = "permanent-failure"


class NeedsHuman(CantonError):
    code, status, exit_code, remedy = "needs-human", 500, 1, Remedy.HUMAN


class AuditBroken(NeedsHuman):
    code = "audit-broken"


class SchemaMismatch(NeedsHuman):
    code = "schema-mismatch"


class InvariantBroken(NeedsHuman):
    code = "invariant-broken"


class UnknownStepKind(NeedsHuman):
    code = "unknown-step-kind"
