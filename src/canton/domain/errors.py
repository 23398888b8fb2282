"""The one error tree.

    CantonError
    ├── Invalid                 the request is malformed                  400
    │   ├── InvalidXname
    │   ├── InvalidNid
    │   ├── InvalidNodeset
    │   ├── NodesetTooLarge
    │   ├── InvalidTransition
    │   ├── InvalidPlan
    │   ├── InvalidSetting
    │   ├── InvalidRequest
    │   ├── InvalidCursor
    │   ├── InvalidMachine
    │   ├── ReasonRequired
    │   ├── ClientTooOld
    │   ├── ClientTooNew
    │   ├── TooLarge                                                      413
    │   ├── WrongMediaType                                                415
    │   └── HeadersTooLarge                                               431
    ├── NotAuthenticated        the request carries no token              401
    │   ├── TokenInvalid
    │   └── TokenExpired
    ├── Forbidden               the caller may not do this                403
    │   └── ApprovalRequired
    ├── NotFound                the object does not exist                 404
    │   ├── NoSuchRoute
    │   ├── MethodNotAllowed                                              405
    │   ├── UnknownNodes
    │   ├── UnknownGroup
    │   ├── UnknownOperation
    │   ├── UnknownPlan
    │   ├── UnknownSite
    │   ├── UnknownTenant
    │   ├── UnknownBinding
    │   ├── UnknownServiceAccount
    │   ├── UnknownToken
    │   └── UnknownApproval
    ├── Conflict                the state differs from what is assumed     409
    │   ├── NodesClaimed
    │   ├── PlanMoved
    │   ├── IdempotencyKeyReused
    │   ├── WrongState
    │   ├── AlreadyExists
    │   ├── NotEmpty
    │   ├── QuotaExceeded
    │   ├── ApprovalNotUsable
    │   └── VersionMismatch                                               412
    ├── Unavailable             a service we need does not answer now     503
    │   ├── DatabaseUnavailable
    │   ├── LeaseLost
    │   ├── IssuerUnavailable
    │   ├── TooBusy
    │   ├── TimedOut
    │   └── TooManyRequests                                               429
    ├── StepFailure             a step did not reach its goal             502
    │   ├── TemporaryFailure
    │   └── PermanentFailure
    └── NeedsHuman              Canton refuses to guess                   500
        ├── AuditBroken
        ├── SchemaMismatch
        ├── InvariantBroken
        ├── UnknownStepKind
        └── Defect

A leaf fixes its stable code, HTTP status, exit code and what a caller may do about it. The message, written
where the error is raised, names the object, what was expected, what is there and what to do next; ``details``
carries the same facts for programs. Both are sent to clients, so neither names a host, a path of the server or
a driver's own message: those are the ``cause``, which only the server's log has.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:  # every command imports this module, and few need to hash anything
    from canton.domain.json_types import Json, JsonObject


class Remedy(StrEnum):
    """What solves the problem: try again unchanged, change the request, or ask a person."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    HUMAN = "human"


class CantonError(Exception):
    """Every error that Canton raises on purpose."""

    code: ClassVar[str]
    status: ClassVar[int]
    exit_code: ClassVar[int]
    remedy: ClassVar[Remedy]

    def __init__(self, message: str, *, cause: str = "", **details: Json) -> None:
        super().__init__(message)
        self.message = message
        self.details: JsonObject = details
        self.cause = cause
        """Addresses, paths and a driver's own message: for the server's log and command line, never for a response."""

    @property
    def with_cause(self) -> str:
        return f"{self.message} ({self.cause})" if self.cause else self.message


class Invalid(CantonError):
    """The request is malformed."""

    code, status, exit_code, remedy = "invalid", 400, 2, Remedy.PERMANENT


class InvalidXname(Invalid):
    """A name is not an xname, or not one of the required type."""

    code = "invalid-xname"


class InvalidNid(Invalid):
    """A text is not a nid, the site's number for a node."""

    code = "invalid-nid"


class InvalidNodeset(Invalid):
    """A text is not a nodeset, such as `x1000c0s[0-3]b0n[0-1]`."""

    code = "invalid-nodeset"


class NodesetTooLarge(Invalid):
    """A nodeset unfolds to more nodes than Canton accepts in one request."""

    code = "nodeset-too-large"


class InvalidTransition(Invalid):
    """This event is not possible in the node's state; the message lists the possible ones."""

    code = "invalid-transition"


class InvalidPlan(Invalid):
    """A plan cannot be carried out as it is written."""

    code = "invalid-plan"


class InvalidSetting(Invalid):
    """A setting is missing, unknown or not of its type."""

    code = "invalid-setting"


class InvalidRequest(Invalid):
    """A field, parameter or header of the request is missing, unknown or not of its type; `details` lists them."""

    code = "invalid-request"


class InvalidCursor(Invalid):
    """The cursor in `after` is not one that this list gave, or belongs to another sort or filter."""

    code = "invalid-cursor"


class InvalidMachine(Invalid):
    """A topology, an SLS dump, a saved state or a fault is not one that the emulator can run."""

    code = "invalid-machine"


class ReasonRequired(Invalid):
    """This change is recorded with its reason, and the request has none."""

    code = "reason-required"


class ClientTooOld(Invalid):
    """The client is more than one minor version older than the server."""

    code = "client-too-old"


class ClientTooNew(Invalid):
    """The client is more than one minor version newer than the server."""

    code = "client-too-new"


class TooLarge(Invalid):
    """The body of the request is larger than this server accepts."""

    code, status = "too-large", 413


class WrongMediaType(Invalid):
    """The body is not JSON, or is not declared as JSON."""

    code, status = "wrong-media-type", 415


class HeadersTooLarge(Invalid):
    """The request has more headers than this server accepts."""

    code, status = "headers-too-large", 431


class NotAuthenticated(CantonError):
    """The request carries no token, so the caller is not known."""

    code, status, exit_code, remedy = "not-authenticated", 401, 4, Remedy.PERMANENT


class TokenInvalid(NotAuthenticated):
    """The token is malformed, forged, revoked, from an unknown issuer or meant for another service."""

    code = "token-invalid"


class TokenExpired(NotAuthenticated):
    """The token has expired; get a new one."""

    code = "token-expired"


class Forbidden(CantonError):
    """The caller may not do this to the object, which it may see."""

    code, status, exit_code, remedy = "forbidden", 403, 4, Remedy.PERMANENT


class ApprovalRequired(Forbidden):
    """Policy wants a second person for this change; the message names the approval that waits for one."""

    code = "approval-required"


class NotFound(CantonError):
    """The object does not exist, or the caller may not see it."""

    code, status, exit_code, remedy = "not-found", 404, 3, Remedy.PERMANENT


class NoSuchRoute(NotFound):
    """The API has nothing at this address."""

    code = "no-such-route"


class MethodNotAllowed(NotFound):
    """The address exists, but does not accept this method."""

    code, status, exit_code = "method-not-allowed", 405, 2


class UnknownNodes(NotFound):
    """Some of the nodes do not exist."""

    code = "unknown-nodes"


class UnknownGroup(NotFound):
    """A nodeset names a group that does not exist."""

    code = "unknown-group"


class UnknownOperation(NotFound):
    """No operation has this identifier."""

    code = "unknown-operation"


class UnknownPlan(NotFound):
    """No plan has this digest."""

    code = "unknown-plan"


class UnknownSite(NotFound):
    """No site has this name, or the caller may not see it."""

    code = "unknown-site"


class UnknownTenant(NotFound):
    """No tenant has this name, or the caller may not see it."""

    code = "unknown-tenant"


class UnknownBinding(NotFound):
    """No binding has this identifier, or the caller may not see it."""

    code = "unknown-binding"


class UnknownServiceAccount(NotFound):
    """No service account has this identifier, or the caller may not see it."""

    code = "unknown-service-account"


class UnknownToken(NotFound):
    """The service account has no token with this identifier."""

    code = "unknown-token"


class UnknownApproval(NotFound):
    """No approval has this identifier, or the caller may not see it."""

    code = "unknown-approval"


class Conflict(CantonError):
    """The state differs from what is assumed in the request."""

    code, status, exit_code, remedy = "conflict", 409, 5, Remedy.PERMANENT


class NodesClaimed(Conflict):
    """An open operation holds some of the nodes; the message names it and its purpose."""

    code, remedy = "nodes-claimed", Remedy.TEMPORARY


class PlanMoved(Conflict):
    """The state of the system changed since the plan was reviewed; make a new plan and review it."""

    code = "plan-moved"


class IdempotencyKeyReused(Conflict):
    """The idempotency key was used before, with another request."""

    code = "idempotency-key-reused"


class WrongState(Conflict):
    """The object exists, but its state does not allow this request."""

    code = "wrong-state"


class AlreadyExists(Conflict):
    """Another object has this name, or had it: names of tenants are never used again."""

    code = "already-exists"


class NotEmpty(Conflict):
    """Objects still belong to the one that should be deleted; `details` counts them."""

    code = "not-empty"


class QuotaExceeded(Conflict):
    """The tenant would exceed its quota."""

    code = "quota-exceeded"


class ApprovalNotUsable(Conflict):
    """The approval is for another request or another person, is not granted, was used, or has expired."""

    code = "approval-not-usable"


class VersionMismatch(Conflict):
    """The object changed since it was read: its version is not the one that the request names."""

    code, status = "version-mismatch", 412


class Unavailable(CantonError):
    """A service we need does not answer now."""

    code, status, exit_code, remedy = "unavailable", 503, 8, Remedy.TEMPORARY


class DatabaseUnavailable(Unavailable):
    """The database does not answer."""

    code = "database-unavailable"


class LeaseLost(Unavailable):
    """Another worker took the operation over; this one has stopped."""

    code = "lease-lost"


class IssuerUnavailable(Unavailable):
    """The token may be good, but its issuer's keys cannot be read now to verify it."""

    code = "issuer-unavailable"


class TooBusy(Unavailable):
    """The server is handling as many requests as it can; try again shortly."""

    code = "too-busy"


class TimedOut(Unavailable):
    """The request took longer than this server allows; with an idempotency key it is safe to repeat."""

    code = "timed-out"


class TooManyRequests(Unavailable):
    """The caller sends more requests than this server accepts from one caller; `Retry-After` says when to try again."""

    code, status = "too-many-requests", 429


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
    """A rule that must hold in every state does not; the message lists the violations."""

    code = "invariant-broken"


class UnknownStepKind(NeedsHuman):
    """An open operation has a step of a kind that this version does not know."""

    code = "unknown-step-kind"


class Defect(NeedsHuman):
    """An error in Canton itself; its log has the trace under the request's id."""

    code = "defect"
