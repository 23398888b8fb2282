"""Power caps by NID, and the service itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from power_client import BMC, DOWN, UP
from service_client import Service

GET, SET, CAPABILITIES = "/get_power_cap", "/set_power_cap", "/get_power_cap_capabilities"
CONTROL = "Node Power Limit"
POSTS = (GET, SET, CAPABILITIES, "/xname_on", "/xname_off", "/xname_reinit", "/get_xname_status")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([UP, DOWN, 1000]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
BODIES = st.dictionaries(st.sampled_from(["nids", "xnames", "nid", "controls", "filter", "force"]), ANYTHING) | ANYTHING


def nid(capmc: Service, node: str) -> int:
    place = capmc.site.machine.place(node)
    assert place is not None
    return place.nid


def set_cap(capmc: Service, number: int, *values: int, name: str = CONTROL) -> dict[str, Any]:
    controls = [{"name": name, "val": value} for value in values]
    return dict(capmc.ask("POST", SET, {"nids": [{"nid": number, "controls": controls}]}).json())


def test_a_cap_is_read_back(capmc: Service) -> None:
    number = nid(capmc, UP)
    assert set_cap(capmc, number, 500) == {"e": 0, "err_msg": "", "nids": None}
    assert capmc.ask("POST", GET, {"nids": [number, number]}).json() == {
        "e": 0,
        "err_msg": "",
        "nids": [{"nid": number, "controls": [{"name": CONTROL, "val": 500}]}],
    }
    assert capmc.site.machine.caps.read(UP) == 500


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([100], f"Control ({CONTROL}) value (100) is less than minimum (350)"),
        ([1000], f"Control ({CONTROL}) value (1000) is greater than maximum (925)"),
        ([500, 600], f"Duplicate control specified: {CONTROL}"),
        ([], "Invalid command, 'control' is not an object"),
    ],
)
def test_caps_that_are_refused(capmc: Service, values: list[int], message: str) -> None:
    number = nid(capmc, UP)
    assert set_cap(capmc, number, *values) == {
        "e": 22,
        "err_msg": "No supported power capping controls",
        "nids": [{"nid": number, "e": 22, "err_msg": message}],
    }
    assert capmc.site.machine.caps.read(UP) == 0


def test_unknown_nids(capmc: Service) -> None:
    wrong = [{"nid": 77, "e": 22, "err_msg": "Undefined NID"}]
    for path in (GET, CAPABILITIES):
        assert capmc.ask("POST", path, {"nids": [77]}).json() == {
            "e": 22,
            "err_msg": "Invalid argument",
            "nids": wrong,
        }
    assert set_cap(capmc, 77, 500)["nids"] == wrong


def test_a_controller_that_does_not_answer(capmc: Service) -> None:
    capmc.break_("bmc-unreachable", BMC)
    number = nid(capmc, UP)
    assert capmc.ask("POST", GET, {"nids": [number]}).json() == {
        "e": 52,
        "err_msg": "Invalid exchange",
        "nids": [{"nid": number, "e": -1, "err_msg": "Error getting power cap from NID"}],
    }


def test_capabilities_are_by_kind_of_node(capmc: Service) -> None:
    groups = capmc.ask("POST", CAPABILITIES, {}).json()
    group = next(group for group in groups["groups"] if nid(capmc, UP) in group["nids"])
    assert len(group["nids"]) == 8
    assert group["controls"] == [{"name": CONTROL, "desc": CONTROL, "max": 925, "min": 350}]
    assert (group["host_limit_max"], group["host_limit_min"], group["static"]) == (925, 350, 0)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        (GET, b"", "no request"),
        (SET, b"{}", "no NIDs"),
        (CAPABILITIES, b"", "Bad Request: JSON: EOF"),
        (CAPABILITIES, b'{"nids": [-1]}', "invalid nids: [-1]"),
        (GET, b'{"nids": "x"}', "json: cannot unmarshal string into Go struct field NidlistRequest.nids of type []int"),
    ],
)
def test_what_is_refused(capmc: Service, path: str, body: bytes, message: str) -> None:
    reply = capmc.ask("POST", path, body)
    assert (reply.status, reply.json()) == (400, {"e": 400, "err_msg": message})


@pytest.mark.parametrize("path", POSTS)
def test_wrong_methods(capmc: Service, path: str) -> None:
    reply = capmc.ask("PATCH", path)
    assert (reply.status, reply.json()) == (405, {"e": 405, "err_msg": "(PATCH) Not Allowed"})
    assert dict(reply.headers)["Allow"] == "POST"


@given(body=BODIES, path=st.sampled_from(POSTS))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_answered(capmc: Service, path: str, body: Any) -> None:
    reply = capmc.ask("POST", path, json.dumps(body).encode())
    assert reply.status in (200, 400, 404)
    assert "e" in reply.json()


def test_health(capmc: Service) -> None:
    assert capmc.ask("GET", "/liveness").status == 204
    assert capmc.ask("GET", "/readiness").status == 204
    assert capmc.ask("GET", "/health").json()["readiness"] == "Ready"
    capmc.break_("service-restart", "smd")
    health = capmc.ask("GET", "/health").json()
    assert (health["readiness"], health["hsm"]) == ("Service Degraded", "HSM queries result in error")
