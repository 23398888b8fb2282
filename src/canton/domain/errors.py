"""The one error tree.

    CantonError
    ├── Invalid                 the request is malformed                  400
    │   ├── InvalidXname
    │   ├── InvalidNid
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
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:  # every command imports this module, and few need to hash anything
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
    """The request is malformed."""

    code, status, exit_code, remedy = "invalid", 400, 2, Remedy.PERMANENT


class InvalidXname(Invalid):
    """A name is not an xname, or not one of the type that is wanted here."""

    code = "invalid-xname"


class InvalidNid(Invalid):
    """A text is not a nid, the site's number for a node."""

    code = "invalid-nid"


class InvalidNodeset(Invalid):
    """A text is not a nodeset, such as `x1000c0s[0-3]b0n[0-1]`."""

    code = "invalid-nodeset"


class NodesetTooLarge(Invalid):
    """A nodeset unfolds to more nodes than Canton takes in one request."""

    code = "nodeset-too-large"


class InvalidTransition(Invalid):
    """A node in this state cannot take this event; the message names those it can."""

    code = "invalid-transition"


class InvalidPlan(Invalid):
    """A plan cannot be carried out as it is written."""

    code = "invalid-plan"


class InvalidSetting(Invalid):
    """A setting is missing, unknown or not of its type."""

    code = "invalid-setting"


class NotFound(CantonError):
    """The thing named is not there, or not the caller's to see."""

    code, status, exit_code, remedy = "not-found", 404, 3, Remedy.PERMANENT


class UnknownNodes(NotFound):
    """Some of the nodes named are not known."""

    code = "unknown-nodes"


class UnknownGroup(NotFound):
    """A nodeset names a group that is not known."""

    code = "unknown-group"


class UnknownOperation(NotFound):
    """No operation has this identifier."""

    code = "unknown-operation"


class UnknownPlan(NotFound):
    """No plan has this digest."""

    code = "unknown-plan"


class Conflict(CantonError):
    """The world is not as the request assumes."""

    code, status, exit_code, remedy = "conflict", 409, 5, Remedy.PERMANENT


class NodesClaimed(Conflict):
    """An open operation holds some of the nodes; the message names it and its purpose."""

    code, remedy = "nodes-claimed", Remedy.TEMPORARY


class PlanMoved(Conflict):
    """The world changed since the plan was reviewed; make a new plan and review that."""

    code = "plan-moved"


class IdempotencyKeyReused(Conflict):
    """The idempotency key was used before, with another request."""

    code = "idempotency-key-reused"


class WrongState(Conflict):
    """The thing exists, but its state does not allow what was asked."""

    code = "wrong-state"


class Unavailable(CantonError):
    """Something we need does not answer now."""

    code, status, exit_code, remedy = "unavailable", 503, 8, Remedy.TEMPORARY


class DatabaseUnavailable(Unavailable):
    """The database does not answer."""

    code = "database-unavailable"


class LeaseLost(Unavailable):
    """Another worker took the operation over; this one has stopped."""

    code = "lease-lost"


class StepFailure(CantonError):
    """A step did not reach its goal."""

    code, status, exit_code, remedy = "step-failure", 502, 1, Remedy.PERMANENT


class TemporaryFailure(StepFailure):
    """A step failed in a way that may pass; the engine tries again later."""

    code, remedy = "temporary-failure", Remedy.TEMPORARY


class PermanentFailure(StepFailure):
    """A step failed in a way that trying again does not help."""

    code = "permanent-failure"


class NeedsHuman(CantonError):
    """Canton refuses to guess."""

    code, status, exit_code, remedy = "needs-human", 500, 1, Remedy.HUMAN


class AuditBroken(NeedsHuman):
    """The hash chain of the audit does not add up: a row was changed or is missing."""

    code = "audit-broken"


class SchemaMismatch(NeedsHuman):
    """The database's schema is not the one this version of Canton works with."""

    code = "schema-mismatch"


class InvariantBroken(NeedsHuman):
    """A rule that must hold in every state does not; the message lists what was found."""

    code = "invariant-broken"


class UnknownStepKind(NeedsHuman):
    """An open operation has a step of a kind that this version does not know."""

    code = "unknown-step-kind"
