"""What CSM's Python services (BOS, CFS, IMS) have in common: connexion 2 on Flask.

Handlers raise ``Refused`` with the error response of the framework or the service; ``answering`` returns it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from csm_emulator.dialects.json_schema import Schema, first_error
from csm_emulator.records import Json
from csm_emulator.transport.call import JSON, Call, Reply
from csm_emulator.transport.routes import Handler, catching

PROBLEM = "application/problem+json"
_INDENTED = 16 << 10
"""Longer JSON, in characters, is not indented: Python takes a second to indent 10,000 records."""
MOST_COMMAS = 200_000
"""In a body that jsonschema or marshmallow validates: each comma takes up to 15 µs, while all other requests wait.
The longest body that BOS accepts, 8 MiB of whole components, has 165,000.
"""
_BOOLEANS = {"true": True, "false": False}


class Refused(Exception):
    """The request is refused; ``reply`` is the response."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def json_reply(value: Json, status: int = 200, media: str = JSON, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """JSON as Flask writes it: sorted names, indented, ASCII, with a newline at the end."""
    text = json.dumps(value, sort_keys=True)
    if len(text) <= _INDENTED:
        text = json.dumps(value, sort_keys=True, indent=2)
    return Reply(status, text.encode() + b"\n", media, headers)


def no_content() -> Reply:
    """204, with connexion's Content-Type."""
    return Reply(204, media=JSON)


def problem(
    status: int, title: str, detail: str, headers: Sequence[tuple[str, str]] = (), /, **extension: Json
) -> Reply:
    body = {"type": "about:blank", "title": title, "detail": detail, "status": status, **extension}
    return json_reply(body, status, PROBLEM, headers)


def bad_request(detail: str) -> Reply:
    return problem(400, "Bad Request", detail)


def not_found(_: Call) -> Reply:
    return problem(
        404,
        "Not Found",
        "The requested URL was not found on the server. If you entered the URL manually please check your spelling and"
        " try again.",
    )


def wrong_method(_: Call, allowed: Sequence[str]) -> Reply:
    """405; Flask itself answers OPTIONS, and HEAD if there is GET."""
    methods = {*allowed, "OPTIONS", *(["HEAD"] if "GET" in allowed else [])}
    allow = (("Allow", ", ".join(sorted(methods))),)
    return problem(405, "Method Not Allowed", "The method is not allowed for the requested URL.", allow)


def internal_error() -> Reply:
    """The response after an unhandled exception."""
    return problem(
        500,
        "Internal Server Error",
        "The server encountered an internal error and was unable to complete your request. Either the server is"
        " overloaded or there is an error in the application.",
    )


def answering(handler: Handler) -> Handler:
    return catching(handler, Refused, lambda _, refused: refused.reply)


def read_json(call: Call) -> Json:
    """The body, None if it is empty; raises ``Refused`` if it is not JSON or has another Content-Type."""
    if not call.body:
        return None
    media = call.headers.get("content-type", "")
    if not _says_json(media):
        detail = f"Invalid Content-type ({media}), expected JSON data"
        raise Refused(problem(415, "Unsupported Media Type", detail))
    try:
        value = call.json()
    except (ValueError, RecursionError):
        value = None
    if value is None:
        raise Refused(bad_request("Request body is not valid JSON"))
    return value


def read_body(call: Call, schema: Schema) -> Json:
    """The body; raises ``Refused`` if it violates the schema, with 413 if validating it would take many seconds."""
    if call.body.count(b",") > MOST_COMMAS:
        detail = f"The request body has more than {MOST_COMMAS} parts; send it in several requests."
        raise Refused(problem(413, "Payload Too Large", detail))
    value = read_json(call)
    try:
        error = first_error(value, schema)
    except RecursionError:
        raise Refused(bad_request("Request body is not valid JSON")) from None
    if error is not None:
        where = ".".join(str(step) for step in error.path)
        raise Refused(bad_request(error.message + (f" - '{where}'" if where else "")))
    return value


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    schema: Schema
    place: str = "query"
    """``query``, ``path`` or ``header``."""
    required: bool = False


def read_parameters(call: Call, parameters: Iterable[Parameter]) -> Mapping[str, Json]:
    """The given parameters, converted by their schemas; unknown parameters are ignored."""
    values = {}
    for place in ("query", "path", "header"):
        for parameter in parameters:
            if parameter.place == place:
                value = _read_parameter(call, parameter)
                if value is not None:
                    values[parameter.name] = value
    return values


def _read_parameter(call: Call, parameter: Parameter) -> Json:
    texts = _parameter_texts(call, parameter)
    if not texts:
        if parameter.required:
            raise Refused(bad_request(f"Missing {parameter.place} parameter '{parameter.name}'"))
        return None
    kind = parameter.schema.get("type", "string")
    try:
        value = _coerced(texts, parameter.schema)
    except ValueError:
        detail = f"Wrong type, expected '{kind}' for {parameter.place} parameter '{parameter.name}'"
        raise Refused(bad_request(detail)) from None
    error = first_error(value, parameter.schema)
    if error is not None:
        raise Refused(bad_request(str(error)))
    return value


def _parameter_texts(call: Call, parameter: Parameter) -> list[str]:
    if parameter.place == "query":
        return call.all(parameter.name)
    values, name = (call.args, parameter.name) if parameter.place == "path" else (call.headers, parameter.name.lower())
    return [values[name]] if name in values else []


def _coerced(texts: list[str], schema: Schema) -> Json:
    """The parameter's value; of several the last one counts, unless the parameter is a list."""
    kind, text = schema.get("type", "string"), texts[-1]
    if kind == "array":
        return [_coerced([item], schema["items"]) for item in texts]
    if kind == "integer":
        return int(text)
    if kind == "number":
        return float(text)
    if kind == "boolean":
        if text.lower() not in _BOOLEANS:
            raise ValueError(text)
        return _BOOLEANS[text.lower()]
    return text


def _says_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    main, _, sub = kind.partition("/")
    return main == "application" and (sub == "json" or sub.endswith("+json"))
