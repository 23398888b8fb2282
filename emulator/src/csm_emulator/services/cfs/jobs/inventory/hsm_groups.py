"""Groups that the dynamic inventory takes from HSM: its groups, its partitions, roles and sub-roles."""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import quote

from csm_emulator.clients.hsm import GROUPS, PARTITIONS, HsmClient, HsmResponse

Groups = dict[str, list[str]]
T = TypeVar("T")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]+")


class HsmUnavailable(Exception):
    """HSM answered with an error; the caller tries again."""


def valid_group_name(name: str) -> bool:
    """Two characters at least: the service's own expression."""
    return _NAME.fullmatch(name) is not None and not keyword.iskeyword(name)


class HsmGroups:
    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def everybody(self) -> tuple[Groups, list[str]]:
        """The whole machine, and names that Ansible cannot have."""
        found: Groups = {}
        refused: list[str] = []
        for kind in (GROUPS, PARTITIONS):
            for group in _checked(self._hsm.groups(kind)):
                self._add(found, refused, group.name, group.members)
        return self._with_roles(found, "type=node"), refused

    def only(self, xnames: Sequence[str]) -> tuple[Groups, list[str]]:
        """What holds of these; groups that none of them is in are empty."""
        asked = "&".join(f"id={quote(xname)}" for xname in xnames)
        found: Groups = {}
        refused: list[str] = []
        for name in (*_checked(self._hsm.group_names(GROUPS)), *_checked(self._hsm.group_names(PARTITIONS))):
            self._add(found, refused, str(name), [])
        for membership in _checked(self._hsm.memberships(asked)):
            for name in (*membership.get("groupLabels", ()), membership.get("partitionName", "")):
                if name in found:
                    found[name].append(membership["id"])
        return self._with_roles(found, f"type=node&{asked}"), refused

    def _add(self, found: Groups, refused: list[str], name: str, members: Sequence[str]) -> None:
        if valid_group_name(name):
            found[name] = [str(member) for member in members]
        else:
            refused.append(name)

    def _with_roles(self, found: Groups, query: str) -> Groups:
        roles: Groups = {}
        for component in _checked(self._hsm.components(query)):
            role = ""
            if "Role" in component:
                role = str(component["Role"])
                roles.setdefault(role, []).append(component["ID"])
            if "SubRole" in component:
                roles.setdefault(f"{role}_{component['SubRole']}", []).append(component["ID"])
        return found | roles


def _checked(response: HsmResponse[list[T]]) -> list[T]:
    if not response.ok:
        raise HsmUnavailable(f"{response.status} Server Error for url: http://cray-smd{response.path}")
    return response.value()
