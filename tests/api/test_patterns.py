"""A mistake in a request is explained in words: no pattern of the API's description reaches a person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from api.conftest import Api
from canton.api.rendering import patterns

METHODS = {"get", "post", "put", "patch", "delete"}
# A character that no pattern allows.
WRONG = "\x01é"
IN_HEADERS = "é é"


@pytest.fixture
def spec(api: Api) -> dict[str, Any]:
    document: dict[str, Any] = api.get("/openapi.json").json
    return document


def written_patterns(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        for value in part.values():
            yield from written_patterns(value)
    elif isinstance(part, list):
        for value in part:
            yield from written_patterns(value)


def requests(spec: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any] | None, dict[str, str]]]:
    """Requests with a value that breaks the pattern, for each parameter and each body field with a pattern."""
    for path, methods in spec["paths"].items():
        for method in METHODS & set(methods):
            parameters = methods[method].get("parameters", [])
            for parameter in parameters:
                if not list(written_patterns(parameter["schema"])):
                    continue
                broken = {parameter["name"]: WRONG} if parameter["in"] == "path" else {}
                query = f"?{parameter['name']}={quote(WRONG)}" if parameter["in"] == "query" else ""
                headers = {parameter["name"]: IN_HEADERS} if parameter["in"] == "header" else {}
                yield method.upper(), _filled(path, broken) + query, None, headers
            content = methods[method].get("requestBody", {}).get("content", {}).get("application/json")
            if content:
                name = content["schema"].get("$ref", "").rpartition("/")[2]
                model = spec["components"]["schemas"].get(name, content["schema"])
                for field, schema in model.get("properties", {}).items():
                    if list(written_patterns(schema)):
                        yield method.upper(), _filled(path, {}), {field: WRONG}, {}


def _filled(path: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: quote(values.get(match[1], "psi")), path)


def test_every_pattern_has_words(spec: dict[str, Any]) -> None:
    assert [pattern for pattern in written_patterns(spec) if not patterns.words(pattern)] == []


def test_no_problem_shows_a_pattern(admin: Api, spec: dict[str, Any]) -> None:
    every = set(written_patterns(spec))
    explained = set()
    for method, path, body, headers in requests(spec):
        reply = admin.call(method, path, body, reason="a test", **headers)
        assert reply.status in (400, 404), (method, path, reply.text)
        problem = reply.json
        texts = [problem["detail"], *(it["what"] for it in problem["details"].get("errors", []))]
        assert [text for text in texts if any(pattern in text for pattern in every) or "pattern" in text] == []
        explained |= {words for pattern in every if (words := patterns.words(pattern) or "") in problem["detail"]}
    assert len(explained) > len(every) / 2, "most of them were broken by one of the requests"


def test_a_name_that_is_refused_is_explained(admin: Api) -> None:
    refusal = admin.post("/v1/tenants", {"name": "Paul Scherrer"}).json
    assert refusal["detail"] == (
        "the request is not valid: body.name: must be a lower-case name of 2 to 32 letters, digits and dashes that "
        "begins with a letter and does not end with a dash. Correct it and send it again"
    )
