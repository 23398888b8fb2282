"""Groups and roles in the administration API."""

from __future__ import annotations

import json
from collections.abc import Sequence

from csm_emulator.records import Json, Record
from csm_emulator.services.keycloak.admin.responses import (
    NO_CONTENT,
    Denied,
    body_of,
    flag,
    internal_error,
    json_view,
    page_of,
    whole_number,
    wrong_form,
)
from csm_emulator.services.keycloak.realm.groups import Group, Groups
from csm_emulator.services.keycloak.realm.realm import origin
from csm_emulator.services.keycloak.realm.roles import Role
from csm_emulator.services.keycloak.responses import SECURITY_HEADERS
from csm_emulator.transport.call import Call, Reply, utf8
from csm_emulator.transport.routes import Handler

ADMIN = "/keycloak/admin/realms/shasta"
_ONE = f"{ADMIN}/groups/{{group}}"
_MAPPINGS = f"{_ONE}/role-mappings/realm"
_MAX_NAME_LENGTH = 255
_ACCESS = dict.fromkeys(("view", "viewMembers", "manageMembers", "manage", "manageMembership"), True)


class AdminGroups:
    def __init__(self, groups: Groups, roles: dict[str, Role]) -> None:
        self._groups = groups
        self._roles = roles

    def table(self) -> Sequence[tuple[str, str, Handler]]:
        return [
            ("GET HEAD", f"{ADMIN}/groups", self._list),
            ("POST", f"{ADMIN}/groups", self._create),
            ("GET HEAD", _ONE, lambda call: json_view(_listed_view(self._group(call), brief=False))),
            ("DELETE", _ONE, self._delete),
            ("GET HEAD", _MAPPINGS, self._list_mapped_roles),
            ("POST", _MAPPINGS, self._add_roles),
            ("DELETE", _MAPPINGS, self._remove_roles),
            ("GET HEAD", f"{ADMIN}/roles", self._list_roles),
            ("GET HEAD", f"{ADMIN}/roles/{{role}}", self._role),
        ]

    def _group(self, call: Call) -> Group:
        return group_of(self._groups, call, "Could not find group by id")

    def _list(self, call: Call) -> Reply:
        matches = search(call, self._groups.all())
        brief = flag(call, "briefRepresentation", default=True)
        return json_view([_listed_view(group, brief=brief) for group in page_of(call, matches)])

    def _create(self, call: Call) -> Reply:
        text = _name(body_of(call, dict).get("name"))
        if not text.strip():
            raise Denied(400, "Group name is missing", field="errorMessage")
        if any(group.name == text for group in self._groups.all()):
            raise Denied(409, f"Top level group named '{text}' already exists.", field="errorMessage")
        if len(text) > _MAX_NAME_LENGTH:
            raise internal_error()
        location = f"{origin(call)}{ADMIN}/groups/{self._groups.make(text).id}"
        return Reply(201, headers=(("Location", location), *SECURITY_HEADERS))

    def _delete(self, call: Call) -> Reply:
        self._groups.drop(self._group(call))
        return NO_CONTENT

    def _list_mapped_roles(self, call: Call) -> Reply:
        group_roles = self._group(call).roles
        return json_view([role.view(brief=True) for name, role in self._roles.items() if name in group_roles])

    def _add_roles(self, call: Call) -> Reply:
        group = self._group(call)
        roles = self._role_names(body_of(call, list))
        self._groups.give(group, tuple(dict.fromkeys((*group.roles, *roles))))
        return NO_CONTENT

    def _remove_roles(self, call: Call) -> Reply:
        """Removes the named roles, or all when the request has no body."""
        group = self._group(call)
        roles = self._role_names(body_of(call, list)) if call.body else list(group.roles)
        self._groups.give(group, tuple(role for role in group.roles if role not in roles))
        return NO_CONTENT

    def _role_names(self, entries: list[Json]) -> list[str]:
        """The names of the roles. Each is given by its name and its id; raises ``Denied`` for an unknown one."""
        if not all(isinstance(entry, dict) for entry in entries):
            raise wrong_form()
        roles = [self._roles.get(str(entry.get("name"))) for entry in entries]
        names = [role.name for role, entry in zip(roles, entries, strict=True) if role and role.id == entry.get("id")]
        if len(names) < len(entries):
            raise Denied(404, "Role not found")
        return names

    def _list_roles(self, call: Call) -> Reply:
        """Without ``search``, ``first`` and ``max`` count only if both are given."""
        text, roles = call.first("search").lower(), list(self._roles.values())
        first, most = whole_number(call, "first"), whole_number(call, "max")
        if text:
            roles = [role for role in roles if text in role.name.lower() or text in role.description.lower()]
        page = page_of(call, roles) if text or (first is not None and most is not None) else roles
        brief = flag(call, "briefRepresentation", default=True)
        return json_view([role.view(brief=brief) for role in page])

    def _role(self, call: Call) -> Reply:
        role = self._roles.get(call.args["role"])
        if role is None:
            raise Denied(404, "Could not find role")
        return json_view(role.view(brief=False))


def _name(value: Json) -> str:
    """Numbers and booleans are names too. Half a surrogate pair, which no token can carry, becomes U+FFFD."""
    if isinstance(value, list | dict):
        raise wrong_form()
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value)
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


def group_view(group: Group, *, brief: bool) -> Record:
    more = {"attributes": {}, "realmRoles": list(group.roles), "clientRoles": {}}
    return {"id": group.id, "name": group.name, "path": f"/{group.name}", "subGroups": [], **({} if brief else more)}


def _listed_view(group: Group, *, brief: bool) -> Record:
    return {**group_view(group, brief=brief), "subGroupCount": 0, "access": _ACCESS}
