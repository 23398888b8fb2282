"""The records that a tenant sees and may change."""

from __future__ import annotations

import pytest

from services.bos.bos_client import BLUE, DOWN, LOOK, OTHER, UP, UP_TOO, Bos, StubbedServices, tapms

AS_BLUE = {"cray-tenant-name": "blue"}


@pytest.fixture(autouse=True)
def tenants(stubs: StubbedServices) -> None:
    stubs.answer("tapms", tapms(blue=(UP, DOWN), green=(OTHER,)))


def test_templates_and_sessions_of_a_name_live_side_by_side(bos: Bos) -> None:
    for tenant in ("", "blue", "green"):
        bos.template(tenant=tenant)
        bos.session("shutdown", tenant=tenant, name="s")
        assert bos.do("GET", "/sessiontemplates/t", tenant=tenant)["tenant"] == (tenant or None)
        assert bos.session_of("s", tenant)["tenant"] == (tenant or None)
    for path in ("/sessiontemplates", "/sessions"):
        assert sorted(str(record["tenant"]) for record in bos.get(path)) == ["None", "blue", "green"]
        assert [record["tenant"] for record in bos.do("GET", path, tenant="blue")] == ["blue"]


def test_what_belongs_to_others_is_not_there(bos: Bos) -> None:
    bos.template()
    bos.session("shutdown", name="s")
    for path, message in (
        ("/sessiontemplates/t", "Session template for tenant 'blue' 't' does not exist"),
        ("/sessions/s", "Session for tenant 'blue' 's' does not exist"),
        ("/sessions/s/status", "Session for tenant 'blue' 's' does not exist"),
    ):
        reply = bos.ask("GET", path, headers=AS_BLUE)
        assert (reply.status, reply.json()["detail"]) == (404, message)
    reply = bos.ask("POST", "/sessions", {"template_name": "t", "operation": "boot"}, AS_BLUE)
    assert (reply.status, reply.json()["detail"]) == (400, "Session Template Name invalid: t")


def test_a_second_session_of_a_name_for_a_tenant(bos: Bos) -> None:
    bos.template(tenant="blue")
    bos.session("shutdown", tenant="blue", name="s")
    body = {"template_name": "t", "operation": "shutdown", "name": "s"}
    reply = bos.ask("POST", "/sessions", body, AS_BLUE)
    assert (reply.status, reply.json()["detail"]) == (409, "Session 's' already exists for tenant 'blue'")


def test_components_of_a_tenant(bos: Bos) -> None:
    assert [component["id"] for component in bos.do("GET", "/components", tenant="blue")] == [UP, DOWN]
    assert [component["id"] for component in bos.do("GET", f"/components?ids={UP},{OTHER}", tenant="blue")] == [UP]
    assert bos.ask("GET", f"/components/{UP}", headers=AS_BLUE).status == 200
    for method, body in (("GET", None), ("PATCH", {"error": "e"}), ("DELETE", None)):
        assert bos.ask(method, f"/components/{OTHER}", body, AS_BLUE).status == 404
    both = [{"id": UP, "error": "e"}, {"id": OTHER, "error": "e"}]
    reply = bos.ask("PATCH", "/components", both, AS_BLUE)
    assert (reply.status, reply.json()["detail"]) == (404, f"Component '{OTHER}' does not exist")
    components = bos.do("PATCH", "/components?skip_bad_ids=true", both, "blue")
    assert [component["id"] for component in components] == [UP]
    assert bos.component_of(OTHER)["error"] == ""


def test_a_patch_by_session_reaches_own_nodes(bos: Bos) -> None:
    bos.do("PATCH", "/components", {"patch": {"session": "s"}, "filters": {"ids": ",".join(BLUE)}})
    patch = {"patch": {"error": "e"}, "filters": {"session": "s"}}
    assert [component["id"] for component in bos.do("PATCH", "/components", patch, "blue")] == [UP, DOWN]


def test_a_tenant_that_is_not_there(bos: Bos) -> None:
    unknown_tenant = {"cray-tenant-name": "missing"}
    for method, path, body, message in (
        ("PUT", "/sessiontemplates/t", {"boot_sets": {"a": bos.boot_set()}}, "The provided tenant does not exist"),
        ("POST", "/sessions", {"template_name": "t", "operation": "boot"}, "The provided tenant does not exist"),
        ("GET", "/components", None, "Data not found for tenant missing"),
        ("GET", f"/components/{UP}", None, "Data not found for tenant missing"),
        ("POST", "/applystaged", {"xnames": []}, "Data not found for tenant missing"),
    ):
        reply = bos.ask(method, path, body, unknown_tenant)
        assert (reply.status, reply.json()["title"], reply.json()["detail"]) == (400, "Invalid tenant", message)


def test_without_tapms_only_those_without_a_tenant_are_served(bos: Bos, stubs: StubbedServices) -> None:
    bos.template()
    stubs.take_down("tapms")
    assert bos.ask("GET", "/components", headers=AS_BLUE).status == 500
    assert bos.ask("POST", "/sessions", {"template_name": "t", "operation": "boot"}, AS_BLUE).status == 500
    assert bos.ask("GET", "/components").status == 200
    assert bos.ask("GET", "/sessions", headers=AS_BLUE).status == 200


def test_an_administrator_deletes_only_what_has_no_tenant(bos: Bos) -> None:
    bos.template()
    bos.template(tenant="blue")
    bos.session("shutdown", name="a")
    bos.session("shutdown", name="b", tenant="blue")
    bos.do("DELETE", "/sessions")
    assert [session["name"] for session in bos.get("/sessions")] == ["b"]
    bos.do("DELETE", "/sessions", tenant="blue")
    assert bos.get("/sessions") == []


def test_a_tenants_session_ends_when_its_own_nodes_are_done(bos: Bos) -> None:
    bos.template(tenant="blue")
    name = bos.session("shutdown", tenant="blue", limit=DOWN)
    bos.step(LOOK)
    bos.patch(UP_TOO, enabled=True, session=name)
    bos.step(3 * LOOK)
    assert bos.session_of(name, "blue")["status"]["status"] == "complete"
    assert bos.do("GET", f"/sessions/{name}/status", tenant="blue")["managed_components_count"] == 1


def test_a_name_that_is_too_long(bos: Bos) -> None:
    reply = bos.ask("GET", "/components", headers={"cray-tenant-name": "x" * 128})
    assert reply.status == 400
    assert "is too long" in reply.json()["detail"]
