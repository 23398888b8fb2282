"""Groups that the dynamic inventory takes from HSM: its groups, its partitions, roles and sub-roles."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from urllib.parse import quote

from csm_emulator.records import Json
from csm_emulator.transport.mesh import Mesh

Groups = dict[str, list[str]]
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]+")


class HsmSilent(Exception):
    """HSM answers with a status that one tries again after."""


def valid_group_name(name: str) -> bool:
    """Two characters at least: the service's own expression."""
    return _NAME.fullmatch(name) is not None and not keyword.iskeyword(name)


class HsmGroups:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def everybody(self) -> tuple[Groups, list[str]]:
        """The whole machine, and names that Ansible cannot have."""
        found: Groups = {}
        refused: list[str] = []
        for kind, word in (("groups", "label"), ("partitions", "name")):
            for group in self._ask(kind):
                self._add(found, refused, str(group[word]), group["members"]["ids"])
        return self._with_roles(found, "State/Components?type=node"), refused

    def only(self, xnames: Sequence[str]) -> tuple[Groups, list[str]]:
        """What holds of these; groups that none of them is in are empty."""
        asked = "&".join(f"id={quote(xname)}" for xname in xnames)
        found: Groups = {}
        refused: list[str] = []
        for name in (*self._ask("groups/labels"), *self._ask("partitions/names")):
            self._add(found, refused, str(name), [])
        for membership in self._ask(f"memberships?{asked}"):
            for name in (*membership.get("groupLabels", ()), membership.get("partitionName")):
                if name in found:
                    found[name].append(membership["id"])
        return self._with_roles(found, f"State/Components?type=node&{asked}"), refused

    def _add(self, found: Groups, refused: list[str], name: str, members: Sequence[str]) -> None:
        if valid_group_name(name):
            found[name] = [str(member) for member in members]
        else:
            refused.append(name)

    def _with_roles(self, found: Groups, path: str) -> Groups:
        roles: Groups = {}
        for component in self._ask(path)["Components"]:
            role = ""
            if "Role" in component:
                role = str(component["Role"])
                roles.setdefault(role, []).append(component["ID"])
            if "SubRole" in component:
                roles.setdefault(f"{role}_{component['SubRole']}", []).append(component["ID"])
        return found | roles

    def _ask(self, path: str) -> Json:
        reply = self._mesh.ask("smd", "GET", f"/hsm/v2/{path}")
        if not reply.ok:
            raise HsmSilent(f"{reply.status} Server Error for url: http://cray-smd/hsm/v2/{path}")
        return reply.json()
