"""Groups and roles, as an administrator sees and changes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from csm_emulator.records import Json
from csm_emulator.services.keycloak.admin.responses import (
    DONE,
    Denied,
    body_of,
    broken,
    cut,
    flag,
    shown,
    unparsed,
    whole,
)
from csm_emulator.services.keycloak.realm.groups import Group, Groups
from csm_emulator.services.keycloak.realm.realm import origin
from csm_emulator.services.keycloak.realm.roles import Role
from csm_emulator.services.keycloak.responses import SAFE
from csm_emulator.transport.call import Call, Reply, utf8
from csm_emulator.transport.routes import Handler

ADMIN = "/keycloak/admin/realms/shasta"
_ONE = f"{ADMIN}/groups/{{group}}"
_MAPPINGS = f"{_ONE}/role-mappings/realm"
_LONGEST = 255
_ACCESS = dict.fromkeys(("view", "viewMembers", "manageMembers", "manage", "manageMembership"), True)


class AdminGroups:
    def __init__(self, groups: Groups, roles: dict[str, Role]) -> None:
        self._groups = groups
        self._roles = roles

    def table(self) -> Sequence[tuple[str, str, Handler]]:
        return [
            ("GET HEAD", f"{ADMIN}/groups", self._list),
            ("POST", f"{ADMIN}/groups", self._make),
            ("GET HEAD", _ONE, lambda call: shown(_listed(self._group(call), brief=False))),
            ("DELETE", _ONE, self._drop),
            ("GET HEAD", _MAPPINGS, self._mapped),
            ("POST", _MAPPINGS, self._map),
            ("DELETE", _MAPPINGS, self._unmap),
            ("GET HEAD", f"{ADMIN}/roles", self._list_roles),
            ("GET HEAD", f"{ADMIN}/roles/{{role}}", self._role),
        ]

    def _group(self, call: Call) -> Group:
        return group_of(self._groups, call, "Could not find group by id")

    def _list(self, call: Call) -> Reply:
        found = search(call, self._groups.all())
        brief = flag(call, "briefRepresentation", default=True)
        return shown([_listed(group, brief=brief) for group in cut(call, found)])

    def _make(self, call: Call) -> Reply:
        text = _name(body_of(call, dict).get("name"))
        if not text.strip():
            raise Denied(400, "Group name is missing", field="errorMessage")
        if any(group.name == text for group in self._groups.all()):
            raise Denied(409, f"Top level group named '{text}' already exists.", field="errorMessage")
        if len(text) > _LONGEST:
            raise broken()
        where = f"{origin(call)}{ADMIN}/groups/{self._groups.make(text).id}"
        return Reply(201, headers=(("Location", where), *SAFE))

    def _drop(self, call: Call) -> Reply:
        self._groups.drop(self._group(call))
        return DONE

    def _mapped(self, call: Call) -> Reply:
        given = self._group(call).roles
        return shown([role.written(brief=True) for name, role in self._roles.items() if name in given])

    def _map(self, call: Call) -> Reply:
        group = self._group(call)
        named = self._named(body_of(call, list))
        self._groups.give(group, tuple(dict.fromkeys((*group.roles, *named))))
        return DONE

    def _unmap(self, call: Call) -> Reply:
        """All of them, when none is named."""
        group = self._group(call)
        named = self._named(body_of(call, list)) if call.body else list(group.roles)
        self._groups.give(group, tuple(role for role in group.roles if role not in named))
        return DONE

    def _named(self, asked: list[Json]) -> list[str]:
        """Each by its name and its id."""
        if not all(isinstance(one, dict) for one in asked):
            raise unparsed()
        found = [self._roles.get(str(one.get("name"))) for one in asked]
        named = [role.name for role, one in zip(found, asked, strict=True) if role and role.id == one.get("id")]
        if len(named) < len(asked):
            raise Denied(404, "Role not found")
        return named

    def _list_roles(self, call: Call) -> Reply:
        """Without a search both ``first`` and ``max`` must be said, or neither counts."""
        text, found = call.first("search").lower(), list(self._roles.values())
        first, most = whole(call, "first"), whole(call, "max")
        if text:
            found = [role for role in found if text in role.name.lower() or text in role.description.lower()]
        shorter = cut(call, found) if text or (first is not None and most is not None) else found
        brief = flag(call, "briefRepresentation", default=True)
        return shown([role.written(brief=brief) for role in shorter])

    def _role(self, call: Call) -> Reply:
        role = self._roles.get(call.args["role"])
        if role is None:
            raise Denied(404, "Could not find role")
        return shown(role.written(brief=False))


def _name(told: Json) -> str:
    """Numbers and truth values are names as well. Half a pair of surrogates, which no token could say, is U+FFFD."""
    if isinstance(told, list | dict):
        raise unparsed()
    text = told if isinstance(told, str) else "" if told is None else json.dumps(told)
    return utf8(text).decode()


def group_of(groups: Groups, call: Call, missing: str) -> Group:
    group = groups.get(call.args["group"])
    if group is None:
        raise Denied(404, missing)
    return group


def search(call: Call, groups: Sequence[Group]) -> Sequence[Group]:
    text = call.first("search")
    if flag(call, "exact", default=False) and text:
        return [group for group in groups if group.name == text]
    return [group for group in groups if text.lower() in group.name.lower()]


def written(group: Group, *, brief: bool) -> dict[str, Any]:
    more = {"attributes": {}, "realmRoles": list(group.roles), "clientRoles": {}}
    return {"id": group.id, "name": group.name, "path": f"/{group.name}", "subGroups": [], **({} if brief else more)}


def _listed(group: Group, *, brief: bool) -> dict[str, Any]:
    return {**written(group, brief=brief), "subGroupCount": 0, "access": _ACCESS}
