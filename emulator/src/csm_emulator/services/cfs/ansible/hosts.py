"""Hosts and groups, and the patterns that choose among them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

_TERM = re.compile(r"(?:\[[^\[\]]*\]|[^,:])+")
"""What stands in brackets belongs to one term, signs and all."""
_WILD = re.compile(r"[*?\[]")
MOST_WILD = 50
"""Terms that are held against every host."""


@dataclass(frozen=True)
class Inventory:
    groups: Mapping[str, Sequence[str]]
    """Members of each group, without ``all``."""
    host_vars: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    group_vars: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(host for members in self.groups.values() for host in members))

    @cached_property
    def groups_of(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for group, members in self.groups.items():
            for host in members:
                found.setdefault(host, []).append(group)
        return {host: tuple(sorted(groups)) for host, groups in found.items()}


def terms(pattern: str) -> list[str]:
    """Each once, in order."""
    return [term for term in dict.fromkeys(term.strip() for term in _TERM.findall(pattern)) if term]


def is_too_wild(pattern: str) -> bool:
    return sum(_WILD.search(term) is not None for term in terms(pattern)) > MOST_WILD


def choose(inventory: Inventory, pattern: str) -> tuple[list[str], list[str]]:
    """Hosts of a pattern such as ``a:&b:!c``, in the inventory's order, and the terms that name nobody."""
    taken: set[str] = set()
    unmatched: list[str] = []
    said = terms(pattern)
    plain = [term for term in said if term[0] not in "!&"]
    for term in plain or ["all"]:
        found = _members(inventory, term)
        if not found and term not in inventory.groups and term != "all":
            unmatched.append(term)
        taken |= found
    for term in said:
        if term[0] == "&":
            taken &= _members(inventory, term[1:])
    for term in said:
        if term[0] == "!":
            taken -= _members(inventory, term[1:])
    return [host for host in inventory.hosts if host in taken], unmatched


def _members(inventory: Inventory, term: str) -> set[str]:
    if term in ("all", "*"):
        return set(inventory.hosts)
    if term in inventory.groups:
        return set(inventory.groups[term])
    if term in inventory.groups_of:
        return {term}
    if not _WILD.search(term):
        return set()
    of_groups = {host for group in inventory.groups if fnmatchcase(group, term) for host in inventory.groups[group]}
    return of_groups | {host for host in inventory.hosts if fnmatchcase(host, term)}
