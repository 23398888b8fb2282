"""What can go wrong between a client and a server, as branches of the one error tree.

CantonError
├── Problem             the server's answer; also the leaf that its code names
├── Unavailable
│   ├── Unreachable     no answer, or none that is Canton's                    exit 8
│   └── WaitTimeout     waiting ended before the work did; the work goes on    exit 6
├── Forbidden
│   └── ReadOnly        this client promised to change nothing                 exit 4
└── NeedsHuman
    └── Incompatible    client and server are too far apart                    exit 1
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from canton.domain import errors
from canton.domain.errors import CantonError, Forbidden, NeedsHuman, Unavailable

if TYPE_CHECKING:
    from canton.domain.json_types import JsonObject


class Unreachable(Unavailable):
    """The server does not answer, or what answers is not Canton."""

    code = "unreachable"


class WaitTimeout(Unavailable):
    """The time to wait is over; the work on the server goes on."""

    code, exit_code = "wait-timeout", 6


class ReadOnly(Forbidden):
    """The client was told to change nothing."""

    code = "read-only"


class Incompatible(NeedsHuman):
    """Client and server differ by more than one minor version."""

    code = "incompatible-version"


class Problem(CantonError):
    """What the server answered, with its request id; ``except UnknownTenant`` catches it as well."""

    request: str = ""

    @property
    def approval(self) -> str | None:
        """The approval that waits for a second person, if that is the problem."""
        approval = self.details.get("approval")
        return approval if isinstance(approval, str) else None


def problem(status: int, body: object, request: str) -> Problem:
    """The problem that an answer states; one without a code is judged by its status."""
    document: Mapping[str, object] = body if isinstance(body, Mapping) else {}
    code = document.get("code")
    detail = str(document.get("detail") or document.get("title") or f"the server answered with HTTP status {status}")
    details = document.get("details")
    facts = cast("JsonObject", details) if isinstance(details, Mapping) else {}
    error = _kind(code if isinstance(code, str) else "", status)(detail)
    error.details = {str(name): value for name, value in facts.items()}
    error.request = str(document.get("request") or request)
    return error


@cache
def _kind(code: str, status: int) -> type[Problem]:
    leaf = _by_code().get(code)
    if leaf is not None:
        return cast("type[Problem]", type(leaf.__name__, (Problem, leaf), {"__doc__": leaf.__doc__}))
    general = _by_status(status)
    names: dict[str, object] = {"code": code or general.code, "status": status, "__doc__": general.__doc__}
    return cast("type[Problem]", type("Problem", (Problem, general), names))


def _by_code() -> dict[str, type[CantonError]]:
    return {kind.code: kind for kind in _kinds()}


def _by_status(status: int) -> type[CantonError]:
    """The branch for a status: its own, or the one of its hundred."""
    general = {kind.status: kind for kind in _kinds() if kind.__base__ is CantonError}
    if status in general:
        return general[status]
    return errors.Invalid if status < 500 else errors.NeedsHuman


def _kinds() -> Iterator[type[CantonError]]:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, CantonError) and kind is not CantonError:
            yield kind
