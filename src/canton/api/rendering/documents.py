"""The base of all body models, and the common parts of the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from canton.api.rendering.patterns import MOMENT
from canton.api.rendering.problems import MEDIA_TYPE
from canton.domain.errors import Remedy
from canton.domain.tenant import NAME

T = TypeVar("T")
# \Z would not do: JSON Schema patterns are ECMAScript's.
Instant = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$")]
NAME_PATTERN = f"^{NAME.pattern}$"
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
TenantName = Annotated[str, Path(pattern=NAME_PATTERN, description="The tenant's name.", examples=["psi"])]
Since = Annotated[
    str | None,
    Query(
        pattern=MOMENT, description="Only what happened at or after this instant.", examples=["2026-11-16T12:00:00Z"]
    ),
]
Description = Annotated[str, Field(max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")]


class Body(BaseModel):
    """A model that refuses unknown fields and converts no types: a number in quotes is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Items(Body, Generic[T]):
    """One page of a list."""

    items: list[T]
    next: Annotated[str | None, Field(description="The `after` for the next page; null on the last page.")]


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    remedy: Remedy
    request: str
    details: dict[str, Any]


PROBLEM = "#/components/schemas/Problem"
_PROBLEMS = {
    400: "The request is malformed.",
    401: "The token is missing or not valid.",
    403: "The caller may not do this, or a second person has to approve it.",
    404: "It does not exist, or the caller may not see it.",
    409: "The request conflicts with the current state.",
    412: "The object was changed after the version in If-Match.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    431: "There are too many headers.",
    429: "The caller sends too many requests; try again later.",
    503: "The server or the database is busy or not available; try again.",
}
_READ_STATUSES = (400, 401, 404, 429, 431, 503)
_LOCATION = {"Location": {"description": "The address of the object.", "schema": {"type": "string"}}}
_TAG = {"ETag": {"description": "The version, for If-Match.", "schema": {"type": "string"}}}


def answers(
    model: Any, status: int = 200, *, change: bool = False, tagged: bool = False
) -> dict[int | str, dict[str, Any]]:
    """The responses of a route, for OpenAPI. Rows are rendered by hand, and tests compare them with these models."""
    problem = {"content": {MEDIA_TYPE: {"schema": {"$ref": PROBLEM}}}}
    expected: dict[str, Any] = {"description": "Success."}
    if model is not None:
        expected["model"] = model
    if tagged:
        expected["headers"] = _TAG
    elif status in (201, 202):
        expected["headers"] = _LOCATION
    responses: dict[int | str, dict[str, Any]] = {status: expected}
    if tagged:
        responses[304] = {"description": "Not modified: the caller has this version."}
    return responses | {
        code: problem | {"description": text} for code, text in _PROBLEMS.items() if change or code in _READ_STATUSES
    }
