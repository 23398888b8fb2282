"""Bodies and parameters as connexion reads them."""

from __future__ import annotations

import pytest

from csm_emulator.dialects.connexion import (
    Parameter,
    Refused,
    answering,
    bad_request,
    json_reply,
    not_found,
    problem,
    read_body,
    read_json,
    read_parameters,
    wrong_method,
)
from csm_emulator.dialects.json_schema import Schema
from csm_emulator.transport.call import Call, Reply

OBJECT: Schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}}}}
AS_JSON = {"content-type": "application/json"}


def refusal(call: Call, schema: Schema) -> tuple[int, str, str]:
    reply = answering(lambda call_: json_reply(read_body(call_, schema)))(call)
    assert reply.media == "application/problem+json"
    problem = reply.json()
    assert (problem["status"], problem["type"]) == (reply.status, "about:blank")
    return reply.status, problem["title"], problem["detail"]


@pytest.mark.parametrize(
    ("body", "headers", "problem"),
    [
        (b"", {}, (400, "Bad Request", "None is not of type 'object'")),
        (b"", AS_JSON, (400, "Bad Request", "None is not of type 'object'")),
        (b"{", AS_JSON, (400, "Bad Request", "Request body is not valid JSON")),
        (b"null", AS_JSON, (400, "Bad Request", "Request body is not valid JSON")),
        (b"\xff", AS_JSON, (400, "Bad Request", "Request body is not valid JSON")),
        (b"[" * 100_000, AS_JSON, (400, "Bad Request", "Request body is not valid JSON")),
        (b"{}", {}, (415, "Unsupported Media Type", "Invalid Content-type (), expected JSON data")),
        (b"[]", AS_JSON, (400, "Bad Request", "[] is not of type 'object'")),
        (b'{"a": {"b": "c"}}', AS_JSON, (400, "Bad Request", "'c' is not of type 'integer' - 'a.b'")),
    ],
)
def test_bodies(body: bytes, headers: dict[str, str], problem: tuple[int, str, str]) -> None:
    assert refusal(Call("POST", "/", headers=headers, body=body), OBJECT) == problem


@pytest.mark.parametrize(
    "media", ["application/json", "application/json; charset=utf-8", "application/merge-patch+json"]
)
def test_what_counts_as_json(media: str) -> None:
    call = Call("POST", "/", headers={"content-type": media}, body=b'{"a": {"b": 1}}')
    assert read_body(call, OBJECT) == {"a": {"b": 1}}
    assert read_json(Call("POST", "/")) is None


def test_nesting_that_is_too_deep_to_tell() -> None:
    body = b"[" * 900 + b"]" * 900
    status, _, _ = refusal(Call("POST", "/", headers=AS_JSON, body=body), OBJECT)
    assert status == 400


@pytest.mark.parametrize(("commas", "status"), [(200_000, 200), (200_001, 413)])
def test_bodies_of_more_parts_than_a_machine_has_are_refused(commas: int, status: int) -> None:
    call = Call("POST", "/", headers=AS_JSON, body=b"[0" + b",0" * commas + b"]")
    reply = answering(lambda call_: json_reply(len(read_body(call_, {"type": "array"}))))(call)
    assert reply.status == status


PARAMETERS = (
    Parameter("count", {"type": "integer", "minimum": 1}),
    Parameter("part", {"type": "number"}),
    Parameter("flag", {"type": "boolean"}),
    Parameter("names", {"type": "array", "items": {"type": "integer"}}),
    Parameter("id", {"type": "string", "maxLength": 3}, "path", required=True),
    Parameter("X-Who", {"type": "string", "pattern": "^[a-z]+$"}, "header"),
)


def test_parameters() -> None:
    query = (("count", "7"), ("count", "8"), ("part", "1.5"), ("flag", "True"), ("names", "1"), ("names", "2"))
    call = Call("GET", "/", (*query, ("other", "x")), {"x-who": "me"}, args={"id": "abc"})
    assert read_parameters(call, PARAMETERS) == {
        "count": 8,
        "part": 1.5,
        "flag": True,
        "names": [1, 2],
        "id": "abc",
        "X-Who": "me",
    }


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (Call("GET", "/", (("count", "x"),)), "Wrong type, expected 'integer' for query parameter 'count'"),
        (Call("GET", "/", (("flag", "1"),)), "Wrong type, expected 'boolean' for query parameter 'flag'"),
        (
            Call("GET", "/", (("count", "0"),)),
            "0 is less than the minimum of 1\n\nFailed validating 'minimum' in schema:\n"
            "    {'type': 'integer', 'minimum': 1}\n\nOn instance:\n    0",
        ),
        (Call("GET", "/"), "Missing path parameter 'id'"),
        (Call("GET", "/", headers={"x-who": "ME"}, args={"id": "a"}), "'ME' does not match '^[a-z]+$'\n\nFailed"),
    ],
)
def test_parameters_that_are_refused(call: Call, problem: str) -> None:
    with pytest.raises(Refused) as refused:
        read_parameters(call, PARAMETERS)
    assert refused.value.reply.status == 400
    assert refused.value.reply.json()["detail"].startswith(problem)


def test_problems() -> None:
    assert problem(409, "T", "d", instance="i").json() == {
        "type": "about:blank",
        "title": "T",
        "detail": "d",
        "status": 409,
        "instance": "i",
    }
    assert not_found(Call("GET", "/")).json()["title"] == "Not Found"
    assert dict(wrong_method(Call("GET", "/"), ["POST"]).headers) == {"Allow": "OPTIONS, POST"}


def test_a_refusal_becomes_the_answer() -> None:
    def refuse(_: Call) -> Reply:
        raise Refused(bad_request("d"))

    assert answering(refuse)(Call("GET", "/")).json()["detail"] == "d"
    assert answering(lambda _: Reply(204))(Call("GET", "/")).status == 204


def test_long_answers_are_not_indented() -> None:
    assert json_reply([1, 2]).body == b"[\n  1,\n  2\n]\n"
    long = json_reply({"b": ["x" * 1000] * 20, "a": 1}).body
    assert long.count(b"\n") == 1
    assert long.index(b'"a"') < long.index(b'"b"')
