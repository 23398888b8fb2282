"""Operations and plans as answers show them: more than one noun answers with them."""

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
from canton.domain.data import Json
from canton.domain.instants import to_text
from canton.domain.nodeset.nodeset import fold
from canton.domain.operation import UNDER_WAY, OperationState, StepState
from canton.store.operations import lists as operation_lists

DIGEST_PATTERN = "^sha256:[0-9a-f]{64}$"
ID_PATTERN = "^op_[0-9a-f]{16,40}$"
# Of a name or an address: what no database can keep, or nobody can read, is in none of them.
TEXT_PATTERN = r"^[^\x00-\x1f\x7f]{1,300}$"
Digest = Annotated[str, Field(pattern=DIGEST_PATTERN)]


class StepCounts(Body):
    """How far it has come; steps that were skipped are in the total alone."""

    total: int
    done: int
    failed: int
    under_way: int
    pending: int


class Operation(Body):
    """Work that takes time, carried out by a worker."""

    id: Annotated[str, Field(pattern=ID_PATTERN)]
    kind: str
    summary: str
    tenant: str | None
    actor: AttributedText
    reason: AttributedText
    plan: Digest
    state: OperationState
    nodes: Annotated[str, Field(description="Folded.")]
    steps: StepCounts
    attention: Annotated[dict[str, Any] | None, Field(description="Why it needs a person, and what they can do.")]
    cancel_requested_by: AttributedText
    worker: Annotated[str | None, Field(description="Its host and process; null for a tenant's roles.")]
    created_at: Instant
    ended_at: Instant | None


class ListedPlan(Body):
    """What would be done, without the steps."""

    digest: Digest
    kind: str
    summary: str
    tenant: str | None
    nodes: Annotated[str, Field(description="Folded.")]
    created_at: Instant


class Plan(ListedPlan):
    """What would be done, and from what that was computed."""

    steps: list[dict[str, Any]]
    inputs: Annotated[dict[str, int], Field(description="The version of everything that it was made from.")]


@lru_cache(maxsize=128)
def _folded(nodes: str) -> str:
    """Kept for some: to fold takes longer than all else in a list, and most operations are on the same few sets.

    Of 10,000 nodes each, these are 25 MiB.
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
    """The operation as this transaction leaves it."""
    row = operation_lists.show(connection, operation_id, None)
    steps = operation_lists.count_steps(connection, [operation_id])[operation_id]
    return Answer(render_operation(row, steps, attribution), 202, location=f"/v1/operations/{operation_id}")


def maybe_text(instant: int | None) -> str | None:
    return None if instant is None else to_text(instant)
