"""Roles through the API: built-in roles and a site's own, in pages, and only for callers with a role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.conftest import Api, serving
from canton.api.rendering.documents import Items
from canton.api.services import Services
from canton.api.v1.roles import Role
from canton.policy.permissions import PERMISSIONS
from canton.policy.roles import BUILTIN, custom
from tokens import Mint

pytestmark = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)


@pytest.fixture
def api(services: Services, tokens: Mint) -> Iterator[Api]:
    own = custom("night-shift", "tenant", "starts and stops", ["node.read", "node.power"])
    with serving(replace(services, roles={**BUILTIN, own.name: own}), tokens) as running:
        yield running


def test_every_role_is_listed_with_what_it_holds(admin: Api) -> None:
    reply = admin.get("/v1/roles")
    Items[Role].model_validate_json(reply.text)
    roles = {role["name"]: role for role in reply.json["items"]}
    assert list(roles) == sorted([*BUILTIN, "night-shift"])
    assert roles["night-shift"] == {
        "name": "night-shift",
        "scope": "tenant",
        "description": "starts and stops",
        "permissions": ["node.power", "node.read"],
        "builtin": False,
    }
    assert roles["provider-admin"]["permissions"] == sorted(PERMISSIONS)
    assert roles["provider-admin"]["builtin"] is True


def test_a_caller_with_a_role_sees_all_roles_and_a_stranger_none(admin: Api) -> None:
    viewer = admin.as_("ann", "canton-tenant-viewer:psi")
    assert viewer.get("/v1/roles").json == admin.get("/v1/roles").json
    assert admin.as_("eve").get("/v1/roles").json == {"items": [], "next": None}


@pytest.mark.parametrize("sort", ["name", "-name"])
def test_pages_follow_each_other(admin: Api, sort: str) -> None:
    names: list[str] = []
    cursor = ""
    for _ in range(4):
        page = admin.get(f"/v1/roles?limit=3&sort={sort}&fields=name{cursor}").json
        assert all(list(role) == ["name"] for role in page["items"])
        names += [role["name"] for role in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&after={page['next']}"
    assert names == sorted([*BUILTIN, "night-shift"], reverse=sort.startswith("-"))
