"""What CSM's Python services (BOS, CFS, IMS) have in common: connexion 2 on Flask.

Handlers raise ``Refused`` where the framework, or the service, answers with a problem; ``answering`` replies it.
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
"""Python takes a second to indent ten thousand records; nobody reads them as they come."""
MOST_COMMAS = 200_000
"""In a body that jsonschema or marshmallow validates: either takes up to 15 µs for each, and every other request waits.
The longest body that BOS takes, 8 MiB of whole components, has 165,000.
"""
_BOOLEANS = {"true": True, "false": False}


class Refused(Exception):
    """Carries the answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def json_reply(value: Json, status: int = 200, media: str = JSON, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """As Flask writes it: names in order, indented, ASCII, a newline at the end."""
    text = json.dumps(value, sort_keys=True)
    if len(text) <= _INDENTED:
        text = json.dumps(value, sort_keys=True, indent=2)
    return Reply(status, text.encode() + b"\n", media, headers)


def no_content() -> Reply:
    """204, with the type that connexion gives to nothing."""
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
    """Flask answers OPTIONS, and HEAD where there is GET, by itself."""
    methods = {*allowed, "OPTIONS", *(["HEAD"] if "GET" in allowed else [])}
    allow = (("Allow", ", ".join(sorted(methods))),)
    return problem(405, "Method Not Allowed", "The method is not allowed for the requested URL.", allow)


def internal_error() -> Reply:
    """What becomes of an exception that nobody caught."""
    return problem(
        500,
        "Internal Server Error",
        "The server encountered an internal error and was unable to complete your request. Either the server is"
        " overloaded or there is an error in the application.",
    )


def answering(handler: Handler) -> Handler:
    return catching(handler, Refused, lambda _, refused: refused.reply)


def read_json(call: Call) -> Json:
    """The body, or None where there is none; refuses what is not JSON, or does not say that it is."""
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
    """The body, when it fits; refuses with 413 what would take many seconds to validate."""
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
    """Or ``path``, or ``header``."""
    required: bool = False


def read_parameters(call: Call, parameters: Iterable[Parameter]) -> Mapping[str, Json]:
    """Those that were given, as what their schemas say they are; others than these are not looked at."""
    found = {}
    for place in ("query", "path", "header"):
        for parameter in parameters:
            if parameter.place == place:
                value = _read_parameter(call, parameter)
                if value is not None:
                    found[parameter.name] = value
    return found


def _read_parameter(call: Call, parameter: Parameter) -> Json:
    given = _given(call, parameter)
    if not given:
        if parameter.required:
            raise Refused(bad_request(f"Missing {parameter.place} parameter '{parameter.name}'"))
        return None
    kind = parameter.schema.get("type", "string")
    try:
        value = _coerced(given, parameter.schema)
    except ValueError:
        detail = f"Wrong type, expected '{kind}' for {parameter.place} parameter '{parameter.name}'"
        raise Refused(bad_request(detail)) from None
    error = first_error(value, parameter.schema)
    if error is not None:
        raise Refused(bad_request(str(error)))
    return value


def _given(call: Call, parameter: Parameter) -> list[str]:
    if parameter.place == "query":
        return call.all(parameter.name)
    values, name = (call.args, parameter.name) if parameter.place == "path" else (call.headers, parameter.name.lower())
    return [values[name]] if name in values else []


def _coerced(given: list[str], schema: Schema) -> Json:
    """Of several, the last counts, unless the parameter is a list."""
    kind, text = schema.get("type", "string"), given[-1]
    if kind == "array":
        return [_coerced([each], schema["items"]) for each in given]
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
