"""Inventory that comes from files of a repository: hosts in INI or YAML, ``group_vars`` and ``host_vars``."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from canton.emulator.faces.cfs.runs.ansible.loading import AnsibleError, load
from canton.emulator.faces.cfs.runs.repositories import Repository

ROOT = "/etc/ansible/hosts"
_YAML = (".yml", ".yaml", ".json")
_IGNORED = (".md", ".txt", ".cfg", ".py", ".pyc", ".ini~", ".orig", ".rpm", ".retry", ".rst")


@dataclass(slots=True)
class Found:
    """What files say; plain data."""

    groups: dict[str, list[str]] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    host_vars: dict[str, dict[str, Any]] = field(default_factory=dict)
    group_vars: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, group: str, host: str, given: dict[str, Any]) -> None:
        members = self.groups.setdefault(group, [])
        if host not in members:
            members.append(host)
        if given:
            self.host_vars[host] = {**self.host_vars.get(host, {}), **given}

    def flattened(self) -> dict[str, list[str]]:
        """Groups with the hosts of their children."""
        names = dict.fromkeys((*self.groups, *self.children))
        return {name: list(dict.fromkeys(self._members(name, set()))) for name in names if name != "all"}

    def _members(self, name: str, seen: set[str]) -> Iterator[str]:
        if name in seen:
            return
        seen.add(name)
        yield from self.groups.get(name, ())
        for child in self.children.get(name, ()):
            yield from self._members(child, seen)


def read_hosts(repository: Repository) -> Found:
    """Raises ``Silent``. A file that cannot be read is left out, as Ansible does with a warning."""
    found = Found()
    for path in sorted(repository.paths):
        folder, name = posixpath.split(path)
        top = path.partition("/")[0]
        if name.startswith(".") or name.endswith(_IGNORED):
            continue
        text = repository.read(path) or ""
        if top in ("group_vars", "host_vars") and folder:
            _read_vars(found, path, text)
        elif not folder:
            _read_file(found, path, text)
    return found


def _read_vars(found: Found, path: str, text: str) -> None:
    kind, _, rest = path.partition("/")
    owner = rest.partition("/")[0]
    for ending in _YAML:
        owner = owner.removesuffix(ending)
    held = _loaded(path, text)
    if isinstance(held, dict):
        known = found.group_vars if kind == "group_vars" else found.host_vars
        known[owner] = {**known.get(owner, {}), **held}


def _loaded(path: str, text: str) -> Any:
    try:
        return load(text, posixpath.join(ROOT, path))
    except AnsibleError:
        return None


def _read_file(found: Found, path: str, text: str) -> None:
    if path.endswith(_YAML):
        held = _loaded(path, text)
        if isinstance(held, dict):
            for group, body in held.items():
                _read_group(found, str(group), body)
    else:
        _read_ini(found, text)


def _read_group(found: Found, group: str, body: Any, depth: int = 0) -> None:
    if not isinstance(body, dict) or depth > 20:
        return
    for host, given in _pairs(body.get("hosts")):
        found.add(group, host, given)
    for child, inner in _pairs(body.get("children")):
        found.children.setdefault(group, []).append(child)
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
            found.groups.setdefault(group, [])
        elif kind == "children":
            found.children.setdefault(group, []).append(line)
        elif kind == "vars":
            key, _, value = line.partition("=")
            found.group_vars[group] = {**found.group_vars.get(group, {}), key.strip(): value.strip()}
        else:
            name, *rest = line.split()
            pairs = (word.partition("=") for word in rest)
            found.add(group, name, {key: value for key, sign, value in pairs if sign})
