"""From plan to operation: one transaction stores the operation, its steps, claims, audit row, event and key.

Before the commit nothing exists; after it any worker can carry the operation out. A caller that lost the answer
repeats the call with the same key and gets the same operation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from canton.domain.errors import Conflict, NodesClaimed, PlanMoved
from canton.domain.json_types import Json, JsonObject, canonical, digest
from canton.domain.nodeset.nodeset import NodeSet, check_known
from canton.operations.engine.completion import Attribution, announce, start_lifecycle_changes
from canton.operations.plan.plan import Plan, check, from_json, moved_inputs, refuse_if_moved, to_json
from canton.store import doorbell, idempotency, identifiers, versions
from canton.store.database import Database
from canton.store.inventory import nodes
from canton.store.operations import claims, journal, plans
from canton.store.operations.journal import StepRow


@dataclass(frozen=True, slots=True)
class Submission:
    """Who submits a plan, and why.

    ``request`` is the request before planning: the same key with another request is a mistake. ``reviewed`` is the
    digest of a reviewed plan, which the plan must still equal. ``by_provider``: a role at the provider allowed it, so
    the tenant of the nodes cannot intervene.
    """

    actor: str
    reason: str
    request: Json
    key: str | None = None
    reviewed: str | None = None
    by_provider: bool = False
    context: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    operation: str
    created: bool
    """False when the same request had been submitted before."""


def dry_run(database: Database, plan: Plan) -> Plan:
    """Store the plan, so that an execution can be bound to its digest; the oldest unused plans are deleted."""
    with database.write() as connection:
        _keep(connection, check(plan))
        plans.forget_excess(connection, plan.kind, plan.tenant)
    return plan


def _keep(connection: Connection, plan: Plan) -> str:
    """Store the plan; returns its digest."""
    facts = plans.PlanFacts(plan.kind, plan.tenant, plan.summary)
    document = to_json(plan)
    plan_digest = digest(document)
    plans.put(connection, plan_digest, canonical(document), facts)
    return plan_digest


def submit(database: Database, plan: Plan, submission: Submission) -> Receipt:
    """Make ``plan`` an operation, or raise and leave nothing behind."""
    try:
        with database.write() as connection:
            return _repeated(connection, submission) or submit_within(connection, plan, submission)
    except _KeyTakenConcurrently:
        with database.read() as connection:
            receipt = _repeated(connection, submission)
        if receipt is None:
            raise
        return receipt


class _KeyTakenConcurrently(Conflict):
    """Another transaction stored the same key between our read and our write."""


def _repeated(connection: Connection, submission: Submission) -> Receipt | None:
    if submission.key is None:
        return None
    remembered = idempotency.repeated(connection, submission.actor, submission.key, digest(submission.request))
    return None if remembered is None else Receipt(str(remembered.operation), created=False)


def submit_within(connection: Connection, plan: Plan, submission: Submission) -> Receipt:
    """As part of the caller's transaction, which must end soon: it has locked the audit and the tenant's events."""
    check(plan)
    attribution = Attribution(submission.actor, submission.reason, submission.context)
    if submission.reviewed is not None:
        refuse_if_moved(from_json(plans.find(connection, submission.reviewed)), plan)
    _refuse_unknown_nodes(connection, plan)
    operation_id = identifiers.fresh("op")
    plan_digest = _keep(connection, plan)
    journal.insert(
        connection,
        {
            "id": operation_id,
            "kind": plan.kind,
            "tenant": plan.tenant,
            "actor": submission.actor,
            "by_provider": int(submission.by_provider),
            "reason": submission.reason,
            "plan": plan_digest,
            "step_kinds": plan.step_kinds,
        },
    )
    _remember(connection, submission, operation_id)
    _claim(connection, plan, operation_id)
    _refuse_moved_inputs(connection, plan)
    start_lifecycle_changes(connection, plan)
    journal.insert_steps(connection, operation_id, (StepRow(s.n, s.kind, s.target) for s in plan.steps))
    announce(connection, operation_id, plan.tenant, "operation.queued", attribution, {"plan": plan_digest})
    doorbell.ring(connection)
    return Receipt(operation_id, created=True)


def _refuse_unknown_nodes(connection: Connection, plan: Plan) -> None:
    xnames = {node.xname for node in nodes.hold(connection, plan.nodes)}
    check_known(NodeSet(frozenset(plan.nodes)), xnames)


def _refuse_moved_inputs(connection: Connection, plan: Plan) -> None:
    """Raise PlanMoved if rows that the plan was made from have changed; they are locked until the transaction ends.

    Called after the claims, which let only one of two rivals through; otherwise both would lock these rows and wait
    for each other.
    """
    moved = moved_inputs(plan.inputs, versions.current(connection, plan.inputs))
    if moved:
        raise PlanMoved(
            f"the state has changed since the plan was made: {'; '.join(moved)}. Make the plan again",
            current=plan.digest,
            moved=moved,
        )


def _remember(connection: Connection, submission: Submission, operation_id: str) -> None:
    """Called before the claims: of two equal requests at once, the second must find the first by its key."""
    if submission.key is None:
        return
    if not idempotency.begin(connection, submission.actor, submission.key, digest(submission.request)):
        raise _KeyTakenConcurrently(f'the idempotency key "{submission.key}" was used at the same moment; try again')
    idempotency.finish(connection, submission.actor, submission.key, operation=operation_id)


def _claim(connection: Connection, plan: Plan, operation_id: str) -> None:
    in_the_way = claims.take(connection, operation_id, plan.summary, plan.nodes)
    if in_the_way:
        first = in_the_way[0]
        more = f" and {len(in_the_way) - 1} more" if len(in_the_way) > 1 else ""
        raise NodesClaimed(
            f"{first.node}{more} held by operation {first.operation} ({first.purpose}) since {_clock(first.since)}; "
            f"wait for it, or see: canton operation show {first.operation}",
            claims=[
                {"node": c.node, "operation": c.operation, "purpose": c.purpose, "since": c.since} for c in in_the_way
            ],
        )


def _clock(instant: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(instant / 1_000_000))
