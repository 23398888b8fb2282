"""Unusual and invalid requests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from power_client import UP, Pcs

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.sampled_from(["on", UP]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("operation", "location", "taskDeadlineMinutes", "xname", "xnames", "components", "controls", "name", "value")
BODIES = st.dictionaries(st.sampled_from(FIELDS), ANYTHING, max_size=4) | ANYTHING


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b"nonsense", "invalid character 'o' in literal null (expecting 'u')"),
        (b"[]", "json: cannot unmarshal array into Go value of type model.TransitionParameter"),
        (b"null", "invalid Operation type "),
        (b"{}", "invalid Operation type "),
        (b'{"operation": "explode"}', "invalid Operation type explode"),
        (
            b'{"operation": "on", "location": [{"xname": 5}]}',
            "json: cannot unmarshal number into Go struct field LocationParameter.location.xname of type string",
        ),
        (
            b'{"operation": "on", "taskDeadlineMinutes": 1.5}',
            "json: cannot unmarshal number 1.5 into Go struct field "
            "TransitionParameter.taskDeadlineMinutes of type int",
        ),
    ],
)
def test_bodies_that_are_refused(pcs: Pcs, body: bytes, detail: str) -> None:
    reply = pcs.ask("POST", "/transitions", body)
    assert (reply.status, reply.media) == (400, "application/problem+json")
    assert reply.json()["detail"] == detail
    assert pcs.ask("GET", "/transitions").json() == {"transitions": []}


def test_names_of_fields_and_operations_in_any_case(pcs: Pcs) -> None:
    reply = pcs.ask("POST", "/transitions", {"OPERATION": "hArD-rEsTaRt", "Location": [{"XNAME": UP}], "other": 1})
    assert reply.json()["operation"] == "Hard-Restart"
    pcs.site.step(1.0)
    assert pcs.task(reply.json()["transitionID"], UP)["taskStatus"] == "in-progress"


@pytest.mark.parametrize("path", ["/transitions", "/power-status", "/power-cap/snapshot"])
@given(body=BODIES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_answered(pcs: Pcs, path: str, body: Any) -> None:
    reply = pcs.ask("POST", path, json.dumps(body).encode())
    assert reply.status in (200, 400)
    patched = pcs.ask("PATCH", "/power-cap", json.dumps(body).encode())
    assert patched.status in (200, 400)
    pcs.site.step(1.0)
    assert pcs.ask("GET", "/transitions").status == 200
    assert pcs.ask("GET", "/power-cap").status == 200


@given(body=st.binary(max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bytes_are_answered(pcs: Pcs, body: bytes) -> None:
    assert pcs.ask("POST", "/transitions", body).status == 400
    assert pcs.ask("POST", "/power-status", body).status in (200, 400)


def test_paths_without_a_version(pcs: Pcs) -> None:
    plain = Pcs(pcs.site)
    plain._base = ""
    assert plain.ask("GET", "/transitions").json() == {"transitions": []}
    assert plain.ask("GET", "/").body == b"hms-power-control"


def test_a_slash_too_many_is_a_redirect(pcs: Pcs) -> None:
    reply = pcs.ask("GET", "/transitions/")
    assert (reply.status, dict(reply.headers)["Location"]) == (301, "/v1/transitions")
    assert pcs.ask("GET", "/nowhere").status == 404
    assert pcs.ask("PUT", "/transitions").status == 405


def test_health(pcs: Pcs) -> None:
    assert pcs.ask("GET", "/liveness").status == 204
    assert pcs.ask("GET", "/readiness").status == 204
    assert pcs.ask("GET", "/health").json() == {
        "KvStore": "connected, responsive",
        "DistLocking": "connected, responsive",
        "StateManager": "connected, responsive",
        "Vault": "connected, responsive",
        "TaskRunner": "connected, responsive, local mode",
    }
    pcs.break_("service-restart", "smd")
    assert pcs.ask("GET", "/readiness").status == 503
    assert pcs.ask("GET", "/health").json()["StateManager"] == "connected, not responsive"
