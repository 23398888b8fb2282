"""Sites through the API: made, seen, described and removed."""

from __future__ import annotations

from typing import Any

from api.conftest import Api
from api.test_tenants import make, without
from canton.api.rendering.documents import Items
from canton.api.v1.sites import Site
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.store.inventory import nodes


def make_sites(admin: Api, *names: str) -> None:
    for name in names:
        assert admin.post("/v1/sites", {"name": name}).status == 201


def test_a_site_is_made_and_shown(admin: Api) -> None:
    reply = admin.post("/v1/sites", {"name": "alps", "description": "Lugano"})
    assert (reply.status, reply.headers["location"], reply.headers["etag"]) == (201, "/v1/sites/alps", '"1"')
    Site.model_validate_json(reply.text)
    assert admin.get("/v1/sites/alps").json == reply.json
    listing = admin.get("/v1/sites")
    Items[Site].model_validate_json(listing.text)
    assert listing.json == {"items": [reply.json], "next": None}
    assert admin.post("/v1/sites", {"name": "alps"}).code == "already-exists"


def test_a_description_is_changed_once_and_by_who_read_it(admin: Api) -> None:
    make_sites(admin, "alps")
    tag = admin.get("/v1/sites/alps").headers["etag"]
    first = admin.call("PATCH", "/v1/sites/alps", {"description": "one"}, If_Match=tag)
    repeated = admin.call("PATCH", "/v1/sites/alps", {"description": "one"})
    late = admin.call("PATCH", "/v1/sites/alps", {"description": "two"}, If_Match=tag)
    assert (first.status, first.json["version"], first.json["description"]) == (200, 2, "one")
    assert (repeated.status, repeated.headers["canton-unchanged"], repeated.json) == (200, "true", first.json)
    assert (late.status, late.code) == (412, "version-mismatch")
    assert admin.get("/v1/sites/alps", If_None_Match=first.headers["etag"]).status == 304


def test_a_site_with_nodes_is_not_deleted(admin: Api) -> None:
    make_sites(admin, "alps")
    with admin.services.database.write() as connection:
        nodes.add(connection, [Node("x1000c0s0b0n0", 1, NodeState.FREE, None, 1)], site="alps")
    refusal = admin.call("DELETE", "/v1/sites/alps", reason="closed")
    assert (refusal.status, refusal.code, refusal.json["details"]) == (409, "not-empty", {"site": "alps", "nodes": 1})
    assert admin.get("/v1/sites/alps").status == 200


def test_an_empty_site_is_deleted_with_a_reason_and_its_version(admin: Api) -> None:
    make_sites(admin, "alps")
    assert admin.call("DELETE", "/v1/sites/alps").code == "reason-required"
    assert admin.call("DELETE", "/v1/sites/alps", reason="closed", If_Match='"7"').code == "version-mismatch"
    assert admin.call("DELETE", "/v1/sites/alps", reason="closed").status == 204
    assert admin.get("/v1/sites/alps").code == "unknown-site"
    assert admin.get("/v1/sites").json["items"] == []
    make_sites(admin, "alps")


def test_members_of_a_tenant_see_sites_and_change_none(admin: Api) -> None:
    make(admin, "psi")
    make_sites(admin, "alps")
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    assert ann.get("/v1/sites/alps").json == admin.get("/v1/sites/alps").json
    assert [site["name"] for site in ann.get("/v1/sites").json["items"]] == ["alps"]
    for method, path, body in (
        ("POST", "", {"name": "eiger"}),
        ("PATCH", "/alps", {"description": "mine"}),
        ("DELETE", "/alps", None),
    ):
        refusal = ann.call(method, f"/v1/sites{path}", body, reason="x")
        assert (refusal.status, refusal.code, refusal.json["details"]["rule"]) == (403, "forbidden", "not-granted")


def test_to_a_stranger_every_site_is_absent(admin: Api) -> None:
    make_sites(admin, "alps")
    eve = admin.as_("eve")
    assert eve.get("/v1/sites").json == {"items": [], "next": None}
    for method, body in (("GET", None), ("PATCH", {"description": "x"}), ("DELETE", None)):
        reply = eve.call(method, "/v1/sites/alps", body, reason="x")
        absent = eve.call(method, "/v1/sites/none", body, reason="x")
        assert reply.status == absent.status == 404
        assert without(reply.json, "alps") == without(absent.json, "none")


WRONG: tuple[Any, ...] = (
    {"name": "A"},
    {"name": "alps\x00"},
    {"name": "alps", "description": "a\x00b"},
    {"name": "alps", "description": "\ud800"},
    {"name": "alps", "description": "a\nb"},
    {"name": "alps", "nodes": 1},
    {},
    [],
)


def test_a_wrong_site_is_refused_and_nothing_is_made(admin: Api) -> None:
    for body in WRONG:
        refusal = admin.post("/v1/sites", body)
        assert (refusal.status, refusal.code) == (400, "invalid-request"), body
    assert admin.get("/v1/sites").json["items"] == []


def test_sites_come_in_pages(admin: Api) -> None:
    make_sites(admin, "aa", "bb", "cc")
    first = admin.get("/v1/sites?limit=2&sort=-name").json
    second_page = admin.get(f"/v1/sites?limit=2&sort=-name&after={first['next']}").json
    assert [site["name"] for site in first["items"] + second_page["items"]] == ["cc", "bb", "aa"]
    assert second_page["next"] is None
