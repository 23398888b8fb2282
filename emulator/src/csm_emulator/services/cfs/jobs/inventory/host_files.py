"""Inventory from files of a repository: hosts in INI or YAML, ``group_vars`` and ``host_vars``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field

from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import MAX_FILE_VALUES, AnsibleError, estimate_values
from csm_emulator.services.cfs.ansible.values import Value
from csm_emulator.services.cfs.jobs.repositories import Repository

ROOT = "/etc/ansible/hosts"
_YAML = (".yml", ".yaml", ".json")
_IGNORED = (".md", ".txt", ".cfg", ".py", ".pyc", ".ini~", ".orig", ".rpm", ".retry", ".rst")

_MAX_CHILDREN = 500
"""Links from groups to child groups; further links are ignored."""


@dataclass(slots=True)
class FileInventory:
    """The inventory in a repository's files, as plain data."""

    groups: dict[str, dict[str, None]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    host_vars: dict[str, dict[str, Value]] = field(default_factory=dict)
    group_vars: dict[str, dict[str, Value]] = field(default_factory=dict)
    _links: int = 0

    def add(self, group: str, host: str, variables: dict[str, Value]) -> None:
        self.groups.setdefault(group, {})[host] = None
        if variables:
            self.host_vars.setdefault(host, {}).update(variables)

    def add_child(self, group: str, child: str) -> None:
        """Add a child group; ignored beyond the maximum."""
        if self._links < _MAX_CHILDREN:
            self._links += 1
            self.children.setdefault(group, []).append(child)

    def flattened(self) -> dict[str, list[str]]:
        """Groups with the hosts of their children."""
        names = dict.fromkeys((*self.groups, *self.children))
        return {name: list(self._members(name)) for name in names if name != "all"}

    def _members(self, name: str) -> dict[str, None]:
        hosts: dict[str, None] = {}
        to_visit, visited = [name], {name}
        while to_visit:
            group = to_visit.pop()
            hosts |= self.groups.get(group, {})
            new = [child for child in reversed(self.children.get(group, ())) if child not in visited]
            to_visit += new
            visited |= set(new)
        return hosts


def read_hosts(repository: Repository) -> FileInventory:
    """The inventory of a repository, without unreadable files, which Ansible skips too.

    Raises ``VcsUnavailable`` and ``ReadingPaused``.
    """
    inventory = FileInventory()
    reader = repository.reader(ROOT)
    for path in sorted(repository.paths):
        folder, name = posixpath.split(path)
        is_vars_file = path.startswith(("group_vars/", "host_vars/"))
        if name.startswith(".") or name.endswith(_IGNORED) or (folder and not is_vars_file):
            continue
        text = repository.read(path) or ""
        if is_vars_file:
            _read_vars(inventory, path, _load(reader, path, text))
        elif path.endswith(_YAML):
            _read_groups(inventory, _load(reader, path, text))
        elif estimate_values(text) <= MAX_FILE_VALUES:
            _read_ini(inventory, text)
    repository.end_reader(ROOT)
    return inventory


def _read_vars(inventory: FileInventory, path: str, document: Value) -> None:
    kind, _, relative_path = path.partition("/")
    owner = relative_path.partition("/")[0]
    for ending in _YAML:
        owner = owner.removesuffix(ending)
    if isinstance(document, dict):
        variables = inventory.group_vars if kind == "group_vars" else inventory.host_vars
        variables[owner] = {**variables.get(owner, {}), **document}


def _load(reader: LayerReader, path: str, text: str) -> Value:
    try:
        return reader.load(text, posixpath.join(ROOT, path))
    except AnsibleError:
        return None


def _read_groups(inventory: FileInventory, document: Value) -> None:
    if isinstance(document, dict):
        for group, body in document.items():
            _read_group(inventory, str(group), body)


def _read_group(inventory: FileInventory, group: str, body: Value, depth: int = 0) -> None:
    if not isinstance(body, dict) or depth > 20:
        return
    for host, variables in _pairs(body.get("hosts")):
        inventory.add(group, host, variables)
    for child, inner in _pairs(body.get("children")):
        inventory.add_child(group, child)
        _read_group(inventory, child, inner, depth + 1)
    if isinstance(body.get("vars"), dict):
        inventory.group_vars[group] = {**inventory.group_vars.get(group, {}), **body["vars"]}


def _pairs(value: Value) -> Iterator[tuple[str, dict[str, Value]]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key), dict(item) if isinstance(item, dict) else {}


def _read_ini(inventory: FileInventory, text: str) -> None:
    group, kind = "ungrouped", ""
    for raw in text.splitlines():
        line = raw.split("#")[0].split(" ;")[0].strip()
        if not line or line.startswith(";"):
            continue
        if line.startswith("[") and line.endswith("]"):
            group, _, kind = line[1:-1].partition(":")
            inventory.groups.setdefault(group, {})
        elif kind == "children":
            inventory.add_child(group, line)
        elif kind == "vars":
            key, _, value = line.partition("=")
            inventory.group_vars.setdefault(group, {})[key.strip()] = value.strip()
        else:
            name, *assignments = line.split()
            pairs = (word.partition("=") for word in assignments)
            inventory.add(group, name, {key: value for key, sign, value in pairs if sign})
