"""Options, versions, health, and the answers of every Flask service to invalid requests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from csm_emulator.transport.call import JSON
from service_client import GARBAGE, Service, reopen
from services.bos.bos_client import UP, Bos

WRITING = [
    ("PUT", "/sessiontemplates/t"),
    ("PATCH", "/sessiontemplates/t"),
    ("POST", "/sessions"),
    ("PATCH", "/sessions/s"),
    ("PUT", "/components"),
    ("PATCH", "/components"),
    ("PUT", f"/components/{UP}"),
    ("PATCH", f"/components/{UP}"),
    ("POST", "/applystaged"),
    ("PATCH", "/options"),
]


def test_options(bos: Bos) -> None:
    options_before = bos.get("/options")
    assert (options_before["polling_frequency"], options_before["component_actual_state_ttl"]) == (15, "4h")
    assert len(options_before) == 20
    options = bos.do("PATCH", "/options", {"max_boot_wait_time": 60, "strange": "x"})
    assert options == {**options_before, "max_boot_wait_time": 60, "strange": "x"}
    assert bos.get("/options") == {**options_before, "max_boot_wait_time": 60}
    assert Bos(reopen(bos.site)).get("/options")["max_boot_wait_time"] == 60


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"polling_frequency": -1}, "-1 is less than the minimum of 0 - 'polling_frequency'"),
        ({"hsm_read_timeout": 9}, "9 is less than the minimum of 10 - 'hsm_read_timeout'"),
        ({"component_actual_state_ttl": "5m"}, "'5m' does not match '^[1-9][0-9]*[hHdDwW]$' - "),
        ({"logging_level": "loud"}, "'loud' does not match"),
        ({"clear_stage": 1}, "1 is not of type 'boolean' - 'clear_stage'"),
        ({}, "{} should be non-empty"),
    ],
)
def test_options_that_are_not_right(bos: Bos, body: Any, message: str) -> None:
    status, detail = bos.refusal("PATCH", "/options", body)
    assert (status, detail[: len(message)]) == (400, message)


def test_how_often_operators_look_is_an_option(bos: Bos) -> None:
    bos.options(polling_frequency=1)
    bos.template()
    bos.session("shutdown", name="s", limit="none")
    bos.step(2)
    assert bos.state("s") == "complete"
    bos.options(polling_frequency=0)
    bos.session("shutdown", name="t", limit="none")
    bos.step(2)
    assert bos.state("t") == "complete"


def test_a_change_of_options_keeps_what_was_planned(bos: Bos) -> None:
    bos.template()
    bos.session("shutdown", name="s", limit="none")
    bos.options(polling_frequency=3600)
    bos.step(60)
    assert bos.state("s") == "pending"
    bos.options(polling_frequency=15)
    bos.step(15)
    assert bos.state("s") == "complete"


def test_versions_and_health(bos: Bos) -> None:
    root = Service(bos.site, "bos", "")
    (version,) = root.get("/")
    assert version["links"] == [{"rel": "self", "href": "/"}]
    versions = root.get("/v2")
    assert (versions["major"], [link["rel"] for link in versions["links"]]) == ("2", ["self", "versions"])
    assert root.get("/v2/version") == versions
    assert root.get("/v2/healthz") == {"apiStatus": "ok", "dbStatus": "ok"}


FITTING = {"/components": b"[]", "/options": GARBAGE[-1]}
"""An empty list is a list of components, and options may have any name."""


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_garbage(bos: Bos, method: str, path: str) -> None:
    for body in GARBAGE:
        reply = bos.ask(method, path, body)
        if body == FITTING.get(path):
            assert reply.status == 200
            continue
        assert reply.status in (400, 404), reply.body
        assert reply.media == "application/problem+json"
        assert reply.json()["status"] == reply.status


@pytest.mark.parametrize(("method", "path"), WRITING)
def test_bodies_have_to_say_that_they_are_json(shared_bos: Bos, method: str, path: str) -> None:
    for media in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
        reply = shared_bos.ask(method, path, b"{}", {"content-type": media})
        assert (reply.status, reply.json()["title"]) == (415, "Unsupported Media Type")
        assert reply.json()["detail"] == f"Invalid Content-type ({media}), expected JSON data"


def test_paths_and_methods_that_are_not_there(bos: Bos) -> None:
    for path in ("/nothing", "/components/", "/sessions/a/b", "/sessions/s/status/x"):
        assert bos.refusal("GET", path)[0] == 404
    reply = bos.ask("POST", "/components", {})
    assert (reply.status, reply.json()["title"]) == (405, "Method Not Allowed")
    assert dict(reply.headers)["Allow"] == "GET, HEAD, OPTIONS, PATCH, PUT"


def test_names_in_any_writing(bos: Bos) -> None:
    """Every JSON value comes back unchanged."""
    name = "k\u00f6ln \u2603"
    assert bos.do("PUT", "/components/k%C3%B6ln%20%E2%98%83", {"error": "\ud800 \U0001f600"})["id"] == name
    reopened_bos = Bos(reopen(bos.site))
    assert reopened_bos.component_of("k%C3%B6ln%20%E2%98%83")["error"] == "\ud800 \U0001f600"
    text = reopened_bos.ask("GET", "/components/k%C3%B6ln%20%E2%98%83").body
    assert b"\\ud800" in text
    assert json.loads(text)["id"] == name


def test_answers_are_written_as_flask_writes_them(bos: Bos) -> None:
    reply = bos.ask("GET", "/healthz")
    assert (reply.body, reply.media) == (b'{\n  "apiStatus": "ok",\n  "dbStatus": "ok"\n}\n', JSON)
