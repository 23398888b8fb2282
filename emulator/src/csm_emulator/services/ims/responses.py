"""Responses of IMS: Flask's JSON, and RFC 7807 without a type, as python-httpproblem writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TypeVar

from csm_emulator.dialects.connexion import MOST_COMMAS, PROBLEM, Refused
from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Call, Reply

Value = TypeVar("Value")
_VALID_ID = "Requested resource does not exist. Re-run request with valid ID."
_NO_INPUT = (
    "No input provided. Determine the specific information that is missing or invalid and "
    "then re-run the request with valid information."
)
_INVALID = (
    "Input data was understood, but failed validation. Re-run request with valid input values "
    "for the fields indicated in the response."
)
_CONFLICT = (
    "Requested resource exists, but cannot be patched due to a patch conflict. Re-run request with valid input values."
)
_PAGE_NOT_FOUND = (
    "The requested URL was not found on the server. If you entered the URL manually please check your "
    "spelling and try again."
)
_METHOD_NOT_ALLOWED = "The method is not allowed for the requested URL."
_NOT_UNDERSTOOD = "The browser (or proxy) sent a request that this server could not understand."
_NO_JSON = "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."


def jsonify(value: Json) -> Reply:
    """JSON as Flask's ``jsonify`` writes it: compact, names sorted."""
    return Reply(200, json.dumps(value, separators=(",", ":"), sort_keys=True).encode() + b"\n", JSON)


def restful_json(value: Json, status: int = 201) -> Reply:
    """JSON as Flask-RESTful writes it."""
    return Reply(status, json.dumps(value).encode() + b"\n", JSON)


def no_content() -> Reply:
    return Reply(204, b"", JSON)


def _title(status: int) -> str:
    """The phrase of a status. Status 422 is special, because newer Python versions than the service's renamed it."""
    return "Unprocessable Entity" if status == 422 else HTTPStatus(status).phrase


def problem(status: int, detail: str = "", title: str = "", **more: Json) -> Refused:
    body: dict[str, Json] = {"status": status, "title": title or _title(status)}
    if detail:
        body["detail"] = detail
    return Refused(Reply(status, json.dumps({**body, **more}).encode(), PROBLEM))


def invalid(errors: Json) -> Refused:
    return problem(422, _INVALID, errors=errors)


def unknown_id() -> Refused:
    return problem(404, _VALID_ID)


def find_record(table: Mapping[str, Value], call: Call) -> Value:
    """The record whose id is in the path; raises ``Refused`` (404)."""
    record = table.get(call.args["id"])
    if record is None:
        raise unknown_id()
    return record


def conflict() -> Refused:
    return problem(409, _CONFLICT)


def internal_error() -> Refused:
    """The 500 response where the real service's code raises an exception that it does not catch."""
    return Refused(restful_json({"message": "Internal Server Error"}, 500))


def page_not_found(_: Call) -> Reply:
    return problem(404, _PAGE_NOT_FOUND).reply


def method_not_allowed(_: Call, allowed: object) -> Reply:  # noqa: ARG001 (the shape of every such function)
    """Flask-RESTful merges the problem into its own message."""
    return restful_json(
        {"message": _METHOD_NOT_ALLOWED, "status": 405, "title": "Method Not Allowed", "detail": _METHOD_NOT_ALLOWED},
        405,
    )


def read_body(call: Call) -> Json:
    """The body as Flask's ``get_json`` reads it; a value that is false in Python counts as no input (400)."""
    media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON and not (media_type.startswith("application/") and media_type.endswith("+json")):
        raise Refused(restful_json({"message": _NO_JSON}, 415))
    if call.body.count(b",") > MOST_COMMAS:
        raise problem(413, f"The request body has more than {MOST_COMMAS} parts.", "Payload Too Large")
    try:
        body = call.json()
    except ValueError:
        raise Refused(restful_json({"message": _NOT_UNDERSTOOD}, 400)) from None
    except RecursionError:
        raise internal_error() from None
    if not body:
        raise problem(400, _NO_INPUT)
    return body
