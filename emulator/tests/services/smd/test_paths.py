"""Paths and methods as gorilla/mux handles them, and SMD's service information."""

from __future__ import annotations

import pytest

from services.smd.hsm_client import COMPONENTS, Hsm


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("OPTIONS", COMPONENTS, "GET,POST,DELETE"),
        ("HEAD", f"{COMPONENTS}/x0", "GET,PUT,DELETE"),
        ("OPTIONS", f"{COMPONENTS}/BulkStateData", "GET,PUT,DELETE,PATCH"),
        ("OPTIONS", "/groups/labels", "GET,GET,DELETE,PATCH"),
        ("OPTIONS", "/groups/", "GET,POST"),
        ("PATCH", "/memberships", "GET"),
        ("OPTIONS", "/Subscriptions/SCN", "POST,DELETE"),
        ("OPTIONS", "/Subscriptions/SCN/1", "GET,GET,PUT,PATCH,DELETE"),
    ],
)
def test_methods_that_are_not_allowed(hsm: Hsm, method: str, path: str, allowed: str) -> None:
    assert hsm.refusal(method, path) == (405, f"allow {allowed}")
    assert ("Allow", allowed) in hsm.ask(method, path).headers


@pytest.mark.parametrize(
    ("method", "path"), [("PATCH", COMPONENTS), ("POST", f"{COMPONENTS}/x0"), ("PUT", "/groups"), ("GET", "/nothing")]
)
def test_most_wrong_methods_are_not_found_as_mux_has_it(hsm: Hsm, method: str, path: str) -> None:
    reply = hsm.ask(method, path)
    assert (reply.status, reply.body) == (404, b"404 page not found\n")
    assert ("X-Content-Type-Options", "nosniff") in reply.headers


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/groups/?tag=x", "/hsm/v2/groups?tag=x"),
        ("//groups", "/hsm/v2/groups"),
        ("/groups/../groups", "/hsm/v2/groups"),
    ],
)
def test_paths_that_are_not_clean_are_sent_on(hsm: Hsm, path: str, where: str) -> None:
    reply = hsm.ask("GET", path)
    assert (reply.status, dict(reply.headers)["Location"]) == (301, where)


def test_words_of_operations_are_names_where_no_operation_fits(hsm: Hsm) -> None:
    assert hsm.refusal("GET", f"{COMPONENTS}/BulkStateData") == (404, "no such xname.")
    assert hsm.refusal("GET", f"{COMPONENTS}/ByNID/Query") == (400, "a required argument was not an integer")
    assert hsm.refusal("DELETE", "/groups/labels") == (404, "no such group.")


def test_health_and_enumerations_of_smd(hsm: Hsm) -> None:
    assert hsm.read("/service/ready") == {"code": 0, "message": "HSM is healthy"}
    assert hsm.ask("GET", "/service/liveness").status == 204
    values = hsm.read("/service/values")
    assert list(values) == ["Arch", "Class", "Flag", "NetType", "Role", "SubRole", "State", "Type"]
    assert hsm.read("/service/values/class") == {"Class": ["River", "Mountain", "Hill"]}
    assert {"Node", "NodeBMC", "INVALID"} <= set(values["Type"])
