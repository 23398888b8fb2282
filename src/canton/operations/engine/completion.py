"""Ends an operation, or brings it to rest: its state, nodes, claims, audit record and event in one transaction.

Lock order in every transaction of Canton: operation, steps, claims and nodes, audit head, stream. Claims and nodes
come in either order: only the holder of a node's claim moves it, so a rival waits at the claim and holds no node.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from canton.domain.errors import Invalid, InvalidTransition
from canton.domain.json_types import JsonObject, storable
from canton.domain.lifecycle import NodeEvent, NodeState, must_have_tenant, next_state
from canton.domain.node import Node
from canton.domain.operation import ENDED, OperationState
from canton.operations.plan.plan import LifecycleChange, Plan
from canton.store import audit, outbox
from canton.store.inventory import nodes
from canton.store.operations import claims, journal

# The outcome in the audit, beside "done", "unchanged", "refused" and the codes of errors that other changes have there.
# The end of an operation is its own outcome: done, undone, cancelled, abandoned.
OUTCOMES = {
    "operation.queued": "started",
    "operation.running": "started",
    "operation.undoing": "started",
    "operation.cancel-requested": "started",
    "operation.needs_attention": "failed",
}


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who or what brings an operation to a state, and why.

    ``context`` is added to the audit record: the request, and the rule by which policy allowed it.
    """

    actor: str
    reason: str
    context: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        if storable([self.actor, self.reason]) != [self.actor, self.reason]:
            raise Invalid("the reason holds characters that cannot be kept, such as NUL; write it without them")


def finish_or_rest(
    connection: Connection,
    operation: journal.Operation,
    plan: Plan,
    state: OperationState,
    attribution: Attribution,
    attention: JsonObject | None = None,
) -> outbox.Event:
    """Bring an operation that this transaction has locked to ``state``; the caller appends the returned event last."""
    journal.set_state(connection, operation.id, state, attention)
    if state in ENDED:
        journal.skip_pending(connection, operation.id)
        _end_lifecycle_changes(connection, plan, state)
        claims.release(connection, operation.id)
    return _record(connection, operation.id, operation.tenant, f"operation.{state}", attribution, attention)


def announce(
    connection: Connection,
    operation_id: str,
    tenant: str | None,
    action: str,
    attribution: Attribution,
    details: JsonObject | None = None,
) -> None:
    """Append an audit record and an event of the tenant."""
    event = _record(connection, operation_id, tenant, action, attribution, details)
    outbox.append(connection, tenant or outbox.PROVIDER, [event])


def _record(
    connection: Connection,
    operation_id: str,
    tenant: str | None,
    action: str,
    attribution: Attribution,
    details: JsonObject | None,
) -> outbox.Event:
    body = dict(details or {})
    audit.append(
        connection,
        actor=attribution.actor,
        action=action,
        subject=operation_id,
        reason=attribution.reason,
        details={
            **body,
            **attribution.context,
            "outcome": OUTCOMES.get(action, action.removeprefix("operation.")),
            **({"tenant": tenant} if tenant else {}),
        },
    )
    return outbox.Event(kind=action, subject=operation_id, body={"reason": attribution.reason, **body})


def start_lifecycle_changes(connection: Connection, plan: Plan) -> None:
    """Apply the life-cycle events of the operation's start; an impossible one raises InvalidTransition."""
    changes = {change.node: change for change in plan.moves if change.start}
    for node in nodes.find(connection, sorted(changes), lock=True):
        change = changes[node.xname]
        _put(connection, node, next_state(node.state, change.start or NodeEvent.ABANDON), change.tenant)


def _end_lifecycle_changes(connection: Connection, plan: Plan, state: OperationState) -> None:
    """Apply the life-cycle events of the operation's end; after an abandoned one, nodes in between are in doubt."""
    changes = {change.node: change for change in plan.moves}
    for node in nodes.find(connection, plan.nodes, lock=True):
        change = changes.get(node.xname, LifecycleChange(node.xname))
        events = {OperationState.DONE: change.done, OperationState.ABANDONED: NodeEvent.ABANDON}
        event = events.get(state, change.undone)
        if event is not None:
            _put(connection, node, _next_or_doubt(node.state, event), change.tenant)


def _next_or_doubt(state: NodeState, event: NodeEvent) -> NodeState:
    """The next state; if the event is not possible any more, as for a node in doubt, the state after ABANDON."""
    try:
        return next_state(state, event)
    except InvalidTransition:
        return next_state(state, NodeEvent.ABANDON)


def _put(connection: Connection, node: Node, state: NodeState, tenant: str | None) -> None:
    owner = (node.tenant or tenant) if must_have_tenant(state) else None
    if (state, owner) != (node.state, node.tenant):
        nodes.put(connection, node.xname, state, owner)
