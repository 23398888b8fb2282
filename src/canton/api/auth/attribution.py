"""The fields that say who did something and why: only for callers who may read the audit of the tenant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

from pydantic import Field

from canton.domain.json_types import Json
from canton.store.listing import Visible

PERMISSION = "audit.read"
FIELDS = frozenset({"actor", "reason", "cancel_requested_by", "granted_by", "created_by"})
AttributedText = Annotated[
    str | None, Field(description=f"Null if the caller does not hold {PERMISSION} in the tenant.")
]
"""The type of such a field in an answer."""
AttributionFilter: TypeAlias = Callable[[dict[str, Json], str | None], dict[str, Json]]


def attribution_filter(readable: Visible) -> AttributionFilter:
    """A function that sets these fields to null in a document of a tenant whose audit is not ``readable``.

    The worker, with its host and process, is shown only to callers who may read every tenant's audit.
    """

    def render(document: dict[str, Json], tenant: str | None) -> dict[str, Json]:
        if readable is None:
            return document
        hidden = {"worker"} if tenant in readable else {"worker", *FIELDS}
        return {name: None if name in hidden else value for name, value in document.items()}

    return render
