"""Errors as RFC 9457 problems, and an HTML page for every code."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from canton.api.rendering import patterns
from canton.domain import errors
from canton.domain.errors import (
    CantonError,
    Defect,
    InvalidRequest,
    MethodNotAllowed,
    NoSuchRoute,
    Remedy,
    WrongMediaType,
)
from canton.domain.json_types import Json, storable

MEDIA_TYPE = "application/problem+json"
# At most this many characters of an unknown field's name are repeated in the answer.
LONGEST_NAME = 64
log = logging.getLogger("canton.api")

CODES: Mapping[str, type[CantonError]] = {
    cls.code: cls
    for cls in vars(errors).values()
    if isinstance(cls, type) and issubclass(cls, CantonError) and cls is not CantonError
}


def to_problem(error: CantonError, request: str) -> dict[str, Json]:
    title = inspect.getdoc(type(error)) or error.code
    return {
        "type": f"/problems/{error.code}",
        "title": title.splitlines()[0],
        "status": error.status,
        "detail": error.message,
        "code": error.code,
        "remedy": error.remedy,
        "request": request,
        "details": storable(error.details),
    }


def response(error: CantonError, request: str) -> Response:
    body = json.dumps(to_problem(error, request), ensure_ascii=False)
    return Response(body, error.status, headers=_headers(error), media_type=MEDIA_TYPE)


def _headers(error: CantonError) -> dict[str, str]:
    if error.status == 401:
        # RFC 6750 §3.1: a request without any token gets no error code.
        challenge = 'Bearer realm="canton"'
        return {
            "WWW-Authenticate": challenge
            if error.code == "not-authenticated"
            else f'{challenge}, error="invalid_token"'
        }
    if error.status in (429, 503):
        return {"Retry-After": str(error.details.get("retry_after", 1))}
    if isinstance(error, MethodNotAllowed):
        return {"Allow": str(error.details.get("allowed", ""))}
    return {}


async def respond(scope: Scope, receive: Receive, send: Send, error: CantonError) -> None:
    """Answer with a problem from middleware, before there is a route."""
    await response(error, scope.get("state", {}).get("request_id", "-"))(scope, receive, send)


def request_id(request: Request) -> str:
    return str(getattr(request.state, "request_id", "-"))


def install(app: FastAPI) -> None:
    """Turn every failure of a request into a problem."""

    @app.exception_handler(CantonError)
    def canton_error(request: Request, error: CantonError) -> Response:
        if error.cause:
            log.warning("%s", error.with_cause)
        return response(error, request_id(request))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> Response:
        return response(_invalid(error), request_id(request))

    @app.exception_handler(HTTPException)
    def http_error(request: Request, error: HTTPException) -> Response:
        return response(_from_http(request, error), request_id(request))

    @app.exception_handler(Exception)
    def defect(request: Request, error: Exception) -> Response:
        log.error("a request failed by a defect", exc_info=error)
        message = "Canton failed on this request because of a defect in Canton; report it with the request id"
        return response(Defect(message), request_id(request))

    @app.get("/problems/{code}", include_in_schema=False)
    def page(code: str) -> HTMLResponse:
        cls = CODES.get(code)
        if cls is None:
            raise NoSuchRoute(f'there is no problem "{code}"; docs/reference/errors.md lists them')
        return HTMLResponse(problem_page(cls))


def problem_page(cls: type[CantonError]) -> str:
    meaning = escape(inspect.getdoc(cls) or "")
    helps = {
        Remedy.TEMPORARY: "Try the same again a little later.",
        Remedy.PERMANENT: "Change the request; the detail of the problem says how.",
        Remedy.HUMAN: "A person has to look; give them the request id.",
    }
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{cls.code}</title>'
        f"<h1>{cls.code}</h1><p>{meaning}</p>"
        f"<p>HTTP status {cls.status}, exit code {cls.exit_code} of the command line.</p>"
        f"<p>{helps[cls.remedy]}</p></html>"
    )


def _invalid(error: RequestValidationError) -> CantonError:
    mistakes = list(_mistakes(error.errors()))
    shown = "; ".join(f"{each['where']}: {each['what']}" for each in mistakes[:5])
    more = f"; and {len(mistakes) - 5} more" if len(mistakes) > 5 else ""
    return InvalidRequest(f"the request is not valid: {shown}{more}. Correct it and send it again", errors=mistakes)


def _mistakes(mistakes: Any) -> Iterator[dict[str, Json]]:
    for mistake in mistakes:
        yield {"where": ".".join(str(part)[:LONGEST_NAME] for part in mistake["loc"]), "what": what_is_wrong(mistake)}


def what_is_wrong(mistake: Any) -> str:
    """One mistake of a request in words; pydantic's own message would show the pattern."""
    if mistake["type"] == "extra_forbidden":
        return "there is no such field"
    if mistake["type"] == "string_pattern_mismatch":
        return f"must be {patterns.words(mistake['ctx']['pattern']) or 'as GET /openapi.json describes it'}"
    return str(mistake["msg"])


def _from_http(request: Request, error: HTTPException) -> CantonError:
    where = f"{request.method} {request.url.path}"
    if error.status_code == 405:
        allowed = _allowed_methods(request) or (error.headers or {}).get("Allow", "")
        return MethodNotAllowed(f"{where} is not possible; this address takes {allowed}", allowed=allowed)
    if error.status_code == 415:
        return WrongMediaType(f"{where} takes JSON; send Content-Type: application/json")
    if error.status_code == 400:
        return InvalidRequest(f"{where} could not be read: {error.detail}; send valid JSON in UTF-8")
    return NoSuchRoute(f"there is no route {request.url.path}; GET /openapi.json lists the routes")


def _allowed_methods(request: Request) -> str:
    """All methods of this path; Starlette's router names only those of the first matching route."""
    paths = request.app.openapi()["paths"]
    for path in sorted(paths, key=lambda template: template.count("{")):
        if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", path), request.url.path):
            return ", ".join(method.upper() for method in paths[path])
    return ""
