"""What IMS answers: Flask's JSON, and RFC 7807 without a type, as python-httpproblem writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TypeVar

from csm_emulator.dialects.connexion import MOST_COMMAS, PROBLEM, Refused
from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Call, Reply

Kept = TypeVar("Kept")
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
_NO_PAGE = (
    "The requested URL was not found on the server. If you entered the URL manually please check your "
    "spelling and try again."
)
_NO_METHOD = "The method is not allowed for the requested URL."
_NOT_UNDERSTOOD = "The browser (or proxy) sent a request that this server could not understand."
_NO_JSON = "Did not attempt to load JSON data because the request Content-Type was not 'application/json'."


def shown(value: Json) -> Reply:
    """As ``jsonify`` writes it: compact, by name."""
    return Reply(200, json.dumps(value, separators=(",", ":"), sort_keys=True).encode() + b"\n", JSON)


def written(value: Json, status: int = 201) -> Reply:
    """As Flask-RESTful writes it."""
    return Reply(status, json.dumps(value).encode() + b"\n", JSON)


def done() -> Reply:
    return Reply(204, b"", JSON)


def _title(status: int) -> str:
    """Newer Pythons than the service's call 422 otherwise."""
    return "Unprocessable Entity" if status == 422 else HTTPStatus(status).phrase


def problem(status: int, detail: str = "", title: str = "", **more: Json) -> Refused:
    body: dict[str, Json] = {"status": status, "title": title or _title(status)}
    if detail:
        body["detail"] = detail
    return Refused(Reply(status, json.dumps({**body, **more}).encode(), PROBLEM))


def invalid(errors: Json) -> Refused:
    return problem(422, _INVALID, errors=errors)


def unknown() -> Refused:
    return problem(404, _VALID_ID)


def found(table: Mapping[str, Kept], call: Call) -> Kept:
    """What the id of the path stands for."""
    record = table.get(call.args["id"])
    if record is None:
        raise unknown()
    return record


def conflict() -> Refused:
    return problem(409, _CONFLICT)


def crashed() -> Refused:
    """Where the service's own code raises what nobody catches."""
    return Refused(written({"message": "Internal Server Error"}, 500))


def no_page(_: Call) -> Reply:
    return problem(404, _NO_PAGE).reply


def no_method(_: Call, allowed: object) -> Reply:  # noqa: ARG001 (the shape of every such function)
    """Flask-RESTful lays the problem over its own message."""
    return written({"message": _NO_METHOD, "status": 405, "title": "Method Not Allowed", "detail": _NO_METHOD}, 405)


def body_of(call: Call) -> Json:
    """What Flask's ``get_json`` finds; what counts as nothing in Python is no input."""
    media = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != JSON and not (media.startswith("application/") and media.endswith("+json")):
        raise Refused(written({"message": _NO_JSON}, 415))
    if call.body.count(b",") > MOST_COMMAS:
        raise problem(413, f"The request body has more than {MOST_COMMAS} parts.", "Payload Too Large")
    try:
        body = call.json()
    except ValueError:
        raise Refused(written({"message": _NOT_UNDERSTOOD}, 400)) from None
    except RecursionError:
        raise crashed() from None
    if not body:
        raise problem(400, _NO_INPUT)
    return body
