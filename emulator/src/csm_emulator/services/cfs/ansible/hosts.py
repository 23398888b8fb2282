"""Hosts and groups, and the patterns that select hosts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from csm_emulator.services.cfs.ansible.values import Value

_TERM = re.compile(r"(?:\[[^\[\]]*\]|[^,:])+")
"""A term of a pattern; brackets, with any characters inside, belong to one term."""
_WILDCARD = re.compile(r"[*?\[]")
MAX_WILDCARD_TERMS = 50
"""Wildcard terms in one pattern; each is compared with every host."""


@dataclass(frozen=True)
class Inventory:
    groups: Mapping[str, Sequence[str]]
    """Hosts by group; the group ``all`` is not listed."""
    host_vars: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    group_vars: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)

    @cached_property
    def hosts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(host for members in self.groups.values() for host in members))

    @cached_property
    def groups_of(self) -> Mapping[str, tuple[str, ...]]:
        groups_by_host: dict[str, list[str]] = {}
        for group, members in self.groups.items():
            for host in members:
                groups_by_host.setdefault(host, []).append(group)
        return {host: tuple(sorted(groups)) for host, groups in groups_by_host.items()}


def terms(pattern: str) -> list[str]:
    """The terms of a pattern, each once, in order."""
    return [term for term in dict.fromkeys(term.strip() for term in _TERM.findall(pattern)) if term]


def has_too_many_wildcards(pattern: str) -> bool:
    return sum(_WILDCARD.search(term) is not None for term in terms(pattern)) > MAX_WILDCARD_TERMS


def match_hosts(inventory: Inventory, pattern: str) -> tuple[list[str], list[str]]:
    """Hosts that match a pattern such as ``a:&b:!c``, in the inventory's order, and the terms without any match."""
    selected: set[str] = set()
    unmatched: list[str] = []
    pattern_terms = terms(pattern)
    plain = [term for term in pattern_terms if term[0] not in "!&"]
    for term in plain or ["all"]:
        members = _members(inventory, term)
        if not members and term not in inventory.groups and term != "all":
            unmatched.append(term)
        selected |= members
    for term in pattern_terms:
        if term[0] == "&":
            selected &= _members(inventory, term[1:])
    for term in pattern_terms:
        if term[0] == "!":
            selected -= _members(inventory, term[1:])
    return [host for host in inventory.hosts if host in selected], unmatched


def _members(inventory: Inventory, term: str) -> set[str]:
    if term in ("all", "*"):
        return set(inventory.hosts)
    if term in inventory.groups:
        return set(inventory.groups[term])
    if term in inventory.groups_of:
        return {term}
    if not _WILDCARD.search(term):
        return set()
    of_groups = {host for group in inventory.groups if fnmatchcase(group, term) for host in inventory.groups[group]}
    return of_groups | {host for host in inventory.hosts if fnmatchcase(host, term)}
