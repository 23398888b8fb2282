"""Routes with a body: it is read once the caller is authenticated, and parsed and validated once, in a thread.

FastAPI would read and parse it before any dependency, on the event loop. Here the token comes first. A body beyond its
first part is read only for a caller who holds the permission of the route in some tenant or at the provider.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any, get_type_hints

from fastapi.exceptions import RequestValidationError
from fastapi.params import Depends
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from canton.api.auth.caller import identify
from canton.api.middleware import bodies
from canton.api.mutations.changes import ChangeDependency
from canton.domain.errors import CantonError, InvalidRequest, TooLarge, WrongMediaType
from canton.domain.json_types import Json, storable

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
# An import of 20,000 nodes has 120,000. Each costs up to 300 bytes while it is parsed.
MOST_VALUES = 200_000
MOST_MISTAKES = 100


class Route(APIRoute):
    """The class of every route that takes a body."""

    def get_route_handler(self) -> Handler:
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        change_dependency = _change_dependency(self.endpoint)
        body_type = TypeAdapter[Any](self.body_field.field_info.annotation or object)

        async def read_first(request: Request) -> Response:
            caller = await run_in_threadpool(identify, request)
            body = bodies.request_body(request)
            if not body.complete:
                await change_dependency.require_anywhere(request, caller)
            raw = await body.read(bodies.Sender(caller.accounting_key, caller.is_bound_in(None)))
            if not raw:
                return await handle(request)
            caller.charge(size=len(raw))
            _require_json(request)
            async with body.turn_to_parse():
                document, request.state.document = await run_in_threadpool(_parse, raw, body_type)
            raw.clear()
            return await handle(_ParsedRequest(request, document))

        return read_first


class _ParsedRequest(Request):
    """A request whose body is already parsed: FastAPI gets the document instead of parsing it."""

    def __init__(self, request: Request, document: object) -> None:
        super().__init__(request.scope, request.receive)
        self._document = document

    async def body(self) -> bytes:
        return b"read"

    async def json(self) -> object:
        return self._document


def _change_dependency(endpoint: Callable[..., Any]) -> ChangeDependency:
    for hint in get_type_hints(endpoint, include_extras=True).values():
        for note in getattr(hint, "__metadata__", ()):
            if isinstance(note, Depends) and isinstance(note.dependency, ChangeDependency):
                return note.dependency
    raise TypeError(f"{endpoint.__name__} takes a body and so needs a dependency change(…): only changes have one")


def _require_json(request: Request) -> None:
    header = Message()
    header["content-type"] = request.headers.get("content-type", "")
    kind = header.get_content_subtype()
    if header.get_content_maintype() != "application" or (kind != "json" and not kind.endswith("+json")):
        raise WrongMediaType(f"{request.method} {request.url.path} takes JSON; send Content-Type: application/json")


def _parse(raw: bytearray, body_type: TypeAdapter[Any]) -> tuple[Any, Json]:
    """The validated document, and the same as plain data for the digest and for approvals."""
    # Every value but the first follows one of these characters. Too many are refused before they are parsed.
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > MOST_VALUES:
        raise TooLarge(f"the body holds more than {MOST_VALUES} values; send less at a time")
    try:
        document = body_type.validate_json(raw)
        return document, storable(body_type.dump_python(document, exclude_unset=True))
    except ValidationError as error:
        raise _mistakes(error) from error
    except (TypeError, ValueError, RecursionError) as error:
        # NaN, which JSON does not have, and texts that are no UTF-8.
        raise InvalidRequest("the body is not JSON; send valid JSON in UTF-8") from error


def _mistakes(error: ValidationError) -> CantonError | RequestValidationError:
    count = error.error_count()
    if count > MOST_MISTAKES:
        return InvalidRequest(f"the body has {count} mistakes; compare it with GET /openapi.json", count=count)
    errors = error.errors(include_url=False, include_input=False)
    return RequestValidationError([{**mistake, "loc": ("body", *mistake["loc"])} for mistake in errors])
