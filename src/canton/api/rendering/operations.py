"""Renders operations and plans, which several nouns answer with."""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy.engine import Connection, RowMapping

from canton.api.auth.attribution import AttributedText, AttributionFilter
from canton.api.rendering.documents import Body, Instant
from canton.api.rendering.responses import Answer
from canton.domain.json_types import Json
from canton.domain.nodeset.nodeset import fold
from canton.domain.operation import UNDER_WAY, OperationState, StepState
from canton.domain.timestamps import to_text
from canton.store.operations import lists as operation_lists

DIGEST_PATTERN = "^sha256:[0-9a-f]{64}$"
ID_PATTERN = "^op_[0-9a-f]{16,40}$"
# The text of a name or an address has no control characters.
TEXT_PATTERN = r"^[^\x00-\x1f\x7f]{1,300}$"
Digest = Annotated[str, Field(pattern=DIGEST_PATTERN)]


class StepCounts(Body):
    """The number of steps by state; skipped steps count only in the total."""

    total: int
    done: int
    failed: int
    under_way: int
    pending: int


class Operation(Body):
    """A change that takes time, carried out by a worker."""

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    kind: str
    summary: str
    tenant: str | None
    actor: AttributedText
    reason: AttributedText
    plan: Digest
    state: OperationState
    nodes: Annotated[str, Field(description="A nodeset, folded.")]
    steps: StepCounts
    attention: Annotated[
        dict[str, Any] | None,
        Field(description="Why the operation needs a decision of a person, and the possible decisions."),
    ]
    cancel_requested_by: AttributedText
    worker: Annotated[
        str | None,
        Field(description="The host and process of the worker; null for callers with roles only in a tenant."),
    ]
    created_at: Instant
    ended_at: Instant | None


class ListedPlan(Body):
    """A plan without its steps."""

    digest: Digest
    kind: str
    summary: str
    tenant: str | None
    nodes: Annotated[str, Field(description="A nodeset, folded.")]
    created_at: Instant


class Plan(ListedPlan):
    """A plan: the steps that would be done, and the versions of what it was computed from."""

    steps: list[dict[str, Any]]
    inputs: Annotated[dict[str, int], Field(description="The version of every object that the plan was computed from.")]


@lru_cache(maxsize=128)
def _folded(nodes: str) -> str:
    """The folded nodeset, cached: folding is the slowest part of a list, and most operations are on the same few sets.

    With 10,000 nodes each, the cache takes 25 MiB.
    """
    return fold(json.loads(nodes))


def render_operation(row: RowMapping, steps: Counter[str], attribution: AttributionFilter) -> dict[str, Json]:
    plain = ("id", "kind", "summary", "tenant", "actor", "reason", "plan", "state", "attention", "worker")
    document = {
        **{name: row[name] for name in plain},
        "nodes": _folded(row["nodes"]),
        "steps": {
            "total": steps.total(),
            "done": steps[StepState.DONE],
            "failed": steps[StepState.FAILED],
            "under_way": sum(steps[state] for state in UNDER_WAY),
            "pending": steps[StepState.PENDING],
        },
        "cancel_requested_by": row["cancel_by"],
        "created_at": to_text(row["created_at"]),
        "ended_at": maybe_text(row["ended_at"]),
    }
    return attribution(document, row["tenant"])


def render_listed_plan(row: RowMapping) -> dict[str, Json]:
    plain = {name: row[name] for name in ("digest", "kind", "summary", "tenant")}
    return {**plain, "nodes": _folded(row["nodes"]), "created_at": to_text(row["created_at"])}


def render_plan(row: RowMapping) -> dict[str, Json]:
    body = json.loads(row["body"])
    facts = {name: body[name] for name in ("kind", "summary", "tenant", "steps", "inputs")}
    return {**render_listed_plan(row), **facts}


def accepted(connection: Connection, operation_id: str, attribution: AttributionFilter) -> Answer:
    """The answer with the operation, as it is in this transaction."""
    row = operation_lists.show(connection, operation_id, None)
    steps = operation_lists.count_steps(connection, [operation_id])[operation_id]
    return Answer(render_operation(row, steps, attribution), 202, location=f"/v1/operations/{operation_id}")


def maybe_text(instant: int | None) -> str | None:
    return None if instant is None else to_text(instant)
