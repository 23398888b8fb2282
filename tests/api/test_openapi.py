"""The API's description is generated, complete, and its examples match its schemas."""

from __future__ import annotations

import gzip
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.openapi.utils import get_openapi
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from api.conftest import Api
from canton.admin.openapi import document, missing_examples
from canton.api.rendering import openapi as published

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture(scope="module")
def text() -> str:
    return document()


@pytest.fixture(scope="module")
def spec(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document


def operations(spec: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in spec["paths"].items():
        for method in METHODS & set(methods):
            yield f"{method.upper()} {path}", methods[method]


def mistakes(spec: dict[str, Any], schema: dict[str, Any], value: object) -> list[ValidationError]:
    """References in a schema are to the document, so it is validated as a part of one."""
    whole = {**schema, "components": spec["components"]}
    return list(Draft202012Validator(whole).iter_errors(value))


def test_the_description_is_the_same_every_time(text: str) -> None:
    assert document() == text


def test_every_reference_leads_somewhere(text: str, spec: dict[str, Any]) -> None:
    references = set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', text))
    assert text.count('"$ref"') == text.count('"#/components/schemas/')
    assert references - set(spec["components"]["schemas"]) == set()


def test_every_schema_is_valid(spec: dict[str, Any]) -> None:
    for schema in spec["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_answer_of_success_has_an_example(spec: dict[str, Any]) -> None:
    assert missing_examples(spec) == []


def test_every_example_is_as_its_schema_says(spec: dict[str, Any]) -> None:
    wrong = [
        f"{name} {status}: {mistake.json_path} {mistake.message}"
        for name, operation in operations(spec)
        for status, answer in operation["responses"].items()
        for content in answer.get("content", {}).values()
        if "example" in content
        for mistake in mistakes(spec, content.get("schema", {}), content["example"])
    ]
    assert wrong == []


def test_an_example_that_is_not_as_its_schema_says_is_noticed(spec: dict[str, Any]) -> None:
    content = spec["paths"]["/v1/tenants/{name}"]["get"]["responses"]["200"]["content"]["application/json"]
    assert mistakes(spec, content["schema"], content["example"]) == []
    assert mistakes(spec, content["schema"], {**content["example"], "version": "one"})
    assert mistakes(spec, content["schema"], {**content["example"], "surprise": 1})


def test_every_operation_is_explained(spec: dict[str, Any]) -> None:
    unexplained = [
        name for name, operation in operations(spec) if not (operation.get("summary") and operation.get("description"))
    ]
    assert unexplained == []


def test_every_parameter_is_explained(spec: dict[str, Any]) -> None:
    unexplained = [
        f"{name}: {parameter['name']}"
        for name, operation in operations(spec)
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    ]
    assert unexplained == []


def test_every_operation_has_a_name_of_its_own(spec: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(spec)]
    assert len(names) == len(set(names))


def test_it_is_published_once_written_with_a_tag(api: Api) -> None:
    plain = api.get("/openapi.json")
    assert (plain.status, plain.headers["content-type"]) == (200, "application/json")
    assert api.get("/openapi.json", If_None_Match=plain.headers["etag"]).status == 304


def test_it_is_written_and_packed_once_however_many_ask(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = Counter[str]()

    def counting(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **keywords: Any) -> Any:
            calls[name] += 1
            return work(*arguments, **keywords)

        return counted

    # In that module only: the rest of the server writes JSON too.
    monkeypatch.setattr(published, "get_openapi", counting("description", get_openapi))
    monkeypatch.setattr(published, "json", SimpleNamespace(dumps=counting("write", json.dumps)))
    monkeypatch.setattr(published, "gzip", SimpleNamespace(compress=counting("pack", gzip.compress)))
    with ThreadPoolExecutor(8) as crowd:
        texts = set(crowd.map(lambda _: api.get("/openapi.json").text, range(50)))
    assert len(texts) == 1
    assert calls == {"description": 1, "write": 1, "pack": 1}


def test_it_is_made_once_also_where_a_method_is_not_offered(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an answer names the methods that are; it needs no token and is written in a thread."""
    second = threading.Event()
    calls: list[int] = []

    def slow(**keywords: Any) -> dict[str, Any]:
        calls.append(1)
        # Others would come in meanwhile.
        if len(calls) > 1:
            second.set()
        second.wait(1)
        return get_openapi(**keywords)

    monkeypatch.setattr(published, "get_openapi", slow)
    with ThreadPoolExecutor(8) as crowd:
        answers = list(crowd.map(lambda _: api.call("DELETE", "/v1/nodes"), range(8)))
    assert {answer.status for answer in answers} == {405}
    assert len(calls) == 1
