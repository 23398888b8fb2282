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
    """Whether CFS accepts the name: its own expression, of two characters at least."""
    return _NAME.fullmatch(name) is not None and not keyword.iskeyword(name)


class HsmGroups:
    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def all_groups(self) -> tuple[Groups, list[str]]:
        """All groups of the machine, and the names that Ansible does not accept."""
        groups: Groups = {}
        invalid_names: list[str] = []
        for kind in (GROUPS, PARTITIONS):
            for group in _checked(self._hsm.groups(kind)):
                self._add(groups, invalid_names, group.name, group.members)
        return self._with_roles(groups, "type=node"), invalid_names

    def groups_of(self, xnames: Sequence[str]) -> tuple[Groups, list[str]]:
        """All groups with those of these nodes that are members, and the names that Ansible does not accept."""
        query = "&".join(f"id={quote(xname)}" for xname in xnames)
        groups: Groups = {}
        invalid_names: list[str] = []
        for name in (*_checked(self._hsm.group_names(GROUPS)), *_checked(self._hsm.group_names(PARTITIONS))):
            self._add(groups, invalid_names, str(name), [])
        for membership in _checked(self._hsm.memberships(query)):
            for name in (*membership.get("groupLabels", ()), membership.get("partitionName", "")):
                if name in groups:
                    groups[name].append(membership["id"])
        return self._with_roles(groups, f"type=node&{query}"), invalid_names

    def _add(self, groups: Groups, invalid_names: list[str], name: str, members: Sequence[str]) -> None:
        if valid_group_name(name):
            groups[name] = [str(member) for member in members]
        else:
            invalid_names.append(name)

    def _with_roles(self, groups: Groups, query: str) -> Groups:
        roles: Groups = {}
        for component in _checked(self._hsm.components(query)):
            role = ""
            if "Role" in component:
                role = str(component["Role"])
                roles.setdefault(role, []).append(component["ID"])
            if "SubRole" in component:
                roles.setdefault(f"{role}_{component['SubRole']}", []).append(component["ID"])
        return groups | roles


def _checked(response: HsmResponse[list[T]]) -> list[T]:
    if not response.ok:
        raise HsmUnavailable(f"{response.status} Server Error for url: http://cray-smd{response.path}")
    return response.value()
