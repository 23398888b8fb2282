"""Inventory that comes from files of a repository: hosts in INI or YAML, ``group_vars`` and ``host_vars``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import MAX_FILE_VALUES, AnsibleError, estimate_values
from csm_emulator.services.cfs.jobs.repositories import Repository

ROOT = "/etc/ansible/hosts"
_YAML = (".yml", ".yaml", ".json")
_IGNORED = (".md", ".txt", ".cfg", ".py", ".pyc", ".ini~", ".orig", ".rpm", ".retry", ".rst")

_MOST_CHILDREN = 500
"""Groups inside of groups."""


@dataclass(slots=True)
class Found:
    """What files say; plain data."""

    groups: dict[str, dict[str, None]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    host_vars: dict[str, dict[str, Any]] = field(default_factory=dict)
    group_vars: dict[str, dict[str, Any]] = field(default_factory=dict)
    _links: int = 0

    def add(self, group: str, host: str, given: dict[str, Any]) -> None:
        self.groups.setdefault(group, {})[host] = None
        if given:
            self.host_vars.setdefault(host, {}).update(given)

    def add_child(self, group: str, child: str) -> None:
        """What is beyond the most is left out."""
        if self._links < _MOST_CHILDREN:
            self._links += 1
            self.children.setdefault(group, []).append(child)

    def flattened(self) -> dict[str, list[str]]:
        """Groups with the hosts of their children."""
        names = dict.fromkeys((*self.groups, *self.children))
        return {name: list(self._members(name)) for name in names if name != "all"}

    def _members(self, name: str) -> dict[str, None]:
        found: dict[str, None] = {}
        waiting, seen = [name], {name}
        while waiting:
            group = waiting.pop()
            found |= self.groups.get(group, {})
            new = [child for child in reversed(self.children.get(group, ())) if child not in seen]
            waiting += new
            seen |= set(new)
        return found


def read_hosts(repository: Repository) -> Found:
    """Raises ``Silent`` and ``Paused``. A file that cannot be read is left out, as Ansible does with a warning."""
    found = Found()
    reading = repository.reading(ROOT)
    for path in sorted(repository.paths):
        folder, name = posixpath.split(path)
        about_vars = path.startswith(("group_vars/", "host_vars/"))
        if name.startswith(".") or name.endswith(_IGNORED) or (folder and not about_vars):
            continue
        text = repository.read(path) or ""
        if about_vars:
            _read_vars(found, path, _loaded(reading, path, text))
        elif path.endswith(_YAML):
            _read_groups(found, _loaded(reading, path, text))
        elif estimate_values(text) <= MAX_FILE_VALUES:
            _read_ini(found, text)
    repository.end_reading(ROOT)
    return found


def _read_vars(found: Found, path: str, held: Any) -> None:
    kind, _, rest = path.partition("/")
    owner = rest.partition("/")[0]
    for ending in _YAML:
        owner = owner.removesuffix(ending)
    if isinstance(held, dict):
        known = found.group_vars if kind == "group_vars" else found.host_vars
        known[owner] = {**known.get(owner, {}), **held}


def _loaded(reading: LayerReader, path: str, text: str) -> Any:
    try:
        return reading.load(text, posixpath.join(ROOT, path))
    except AnsibleError:
        return None


def _read_groups(found: Found, held: Any) -> None:
    if isinstance(held, dict):
        for group, body in held.items():
            _read_group(found, str(group), body)


def _read_group(found: Found, group: str, body: Any, depth: int = 0) -> None:
    if not isinstance(body, dict) or depth > 20:
        return
    for host, given in _pairs(body.get("hosts")):
        found.add(group, host, given)
    for child, inner in _pairs(body.get("children")):
        found.add_child(group, child)
        _read_group(found, child, inner, depth + 1)
    if isinstance(body.get("vars"), dict):
        found.group_vars[group] = {**found.group_vars.get(group, {}), **body["vars"]}


def _pairs(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(value, dict):
        for key, held in value.items():
            yield str(key), dict(held) if isinstance(held, dict) else {}


def _read_ini(found: Found, text: str) -> None:
    group, kind = "ungrouped", ""
    for raw in text.splitlines():
        line = raw.split("#")[0].split(" ;")[0].strip()
        if not line or line.startswith(";"):
            continue
        if line.startswith("[") and line.endswith("]"):
            group, _, kind = line[1:-1].partition(":")
            found.groups.setdefault(group, {})
        elif kind == "children":
            found.add_child(group, line)
        elif kind == "vars":
            key, _, value = line.partition("=")
            found.group_vars.setdefault(group, {})[key.strip()] = value.strip()
        else:
            name, *rest = line.split()
            pairs = (word.partition("=") for word in rest)
            found.add(group, name, {key: value for key, sign, value in pairs if sign})
