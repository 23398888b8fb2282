"""Lists of tasks: blocks, imports and roles resolved, modules looked up, as Ansible does before it begins."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from canton.emulator.faces.cfs.runs.ansible import modules
from canton.emulator.faces.cfs.runs.ansible.loading import OTHER_ERROR, AnsibleError, Place, load
from canton.emulator.faces.cfs.runs.ansible.loading import Mapping as Placed
from canton.emulator.faces.cfs.runs.ansible.plays import Block, Entry, Files, Manner, Role, Task, as_tuple
from canton.emulator.faces.cfs.runs.ansible.task_words import (
    WORDS,
    file_of,
    loop_of,
    missing_file,
    role_name,
    role_params,
    start_of,
    unresolved,
    with_args,
)

_DEEPEST = 20
"""Imports inside of imports; more is a circle."""


class TaskReader:
    """Reads from one repository."""

    def __init__(self, files: Files, playbook: str) -> None:
        self._files = files
        self.base = posixpath.dirname(playbook)
        self._depth = 0

    def absolute(self, path: str) -> str:
        return posixpath.join(self._files.root, path)

    def tasks(self, listed: Any, manner: Manner, directory: str) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for entry in as_tuple(listed):
            if not isinstance(entry, Placed):
                raise AnsibleError(f"A malformed block was encountered while loading tasks: {entry!r}")
            found += self._entry(entry, manner, directory)
        return tuple(found)

    def task_file(self, path: str, manner: Manner) -> tuple[Entry, ...]:
        text = self._files.read(path)
        if text is None:
            raise AnsibleError(missing_file(self.absolute(path)), code=OTHER_ERROR)
        listed = load(text, self.absolute(path))
        if listed is not None and not isinstance(listed, list):
            raise AnsibleError(
                "included task files must contain a list of tasks", Place(self.absolute(path), 1, 1, text)
            )
        self._depth += 1
        if self._depth > _DEEPEST:
            raise AnsibleError(f"recursive loop detected in {self.absolute(path)}")
        found = self.tasks(listed, manner, posixpath.dirname(path))
        self._depth -= 1
        return found

    def role(self, name: str, params: Mapping[str, Any], place: Place) -> Role:
        """Raises ``AnsibleError`` when nobody has it."""
        home = self._role_home(name, place)
        return Role(name, self._variables(f"{home}/defaults/main"), self._variables(f"{home}/vars/main"), params)

    def role_tasks(self, role: Role, manner: Manner, place: Place, start: str = "main") -> tuple[Entry, ...]:
        """With what it depends on before it."""
        home = self._role_home(role.name, place)
        found: list[Entry] = []
        meta = self._variables(f"{home}/meta/main")
        for wanted in as_tuple(meta.get("dependencies")):
            other = self.role(role_name(wanted), role_params(wanted), place)
            found += self.role_tasks(other, manner, place)
        path = self._yaml(f"{home}/tasks/{start}")
        if path is None and start != "main":
            raise AnsibleError(missing_file(self.absolute(f"{home}/tasks/{start}")), place, OTHER_ERROR)
        return (*found, *(self.task_file(path, replace(manner, role=role)) if path else ()))

    def role_handlers(self, role: Role, manner: Manner, place: Place) -> tuple[Entry, ...]:
        path = self._yaml(f"{self._role_home(role.name, place)}/handlers/main")
        return self.task_file(path, replace(manner, role=role)) if path else ()

    def variables_file(self, path: str) -> dict[str, Any] | None:
        text = self._files.read(path)
        if text is None:
            return None
        held = load(text, self.absolute(path))
        return dict(held) if isinstance(held, dict) else {}

    def _variables(self, stem: str) -> dict[str, Any]:
        path = self._yaml(stem)
        return (self.variables_file(path) or {}) if path else {}

    def _yaml(self, stem: str) -> str | None:
        named = (f"{stem}{ending}" for ending in ("", ".yml", ".yaml"))
        return next((path for path in named if self._files.read(path) is not None), None)

    def _role_home(self, name: str, place: Place) -> str:
        roots = list(dict.fromkeys((posixpath.join(self.base, "roles"), "roles", self.base)))
        for root in roots:
            home = posixpath.join(root, name)
            if name and self._files.has(home):
                return home
        searched = ":".join(self.absolute(root).rstrip("/") for root in roots)
        raise AnsibleError(f"the role '{name}' was not found in {searched}", place, OTHER_ERROR)

    def _entry(self, entry: Placed, manner: Manner, directory: str) -> Sequence[Entry]:
        inside = manner.under(entry)
        if "block" in entry:
            parts = (self.tasks(entry.get(part), inside, directory) for part in ("block", "rescue", "always"))
            return [Block(*parts)]
        return self._task(entry, inside, directory)

    def _task(self, entry: Placed, manner: Manner, directory: str) -> Sequence[Entry]:
        module, args = self._action(entry, manner)
        if module == "import_tasks":
            return self.task_file(self.find(file_of(args), directory, manner.role), manner)
        if module == "import_role":
            role = self.role(role_name(args), manner.vars, entry.place)
            return self.role_tasks(role, manner, entry.place, start_of(args))
        return [
            Task(
                str(entry.get("name") or ""),
                module,
                args,
                manner,
                entry.place,
                directory,
                {key: value for key, value in entry.items() if key in WORDS},
                loop_of(entry),
            )
        ]

    def find(self, name: str, directory: str, role: Role | None) -> str:
        """A file of tasks: beside the one that names it, or in the role, or beside the playbook."""
        places = [directory, *([f"{self.base}/roles/{role.name}/tasks", f"roles/{role.name}/tasks"] if role else [])]
        for place in (*places, self.base, ""):
            path = posixpath.normpath(posixpath.join(place, name)).lstrip("/")
            if self._files.read(path) is not None:
                return path
        return posixpath.normpath(posixpath.join(directory, name)).lstrip("/")

    def _action(self, entry: Placed, manner: Manner) -> tuple[str, Any]:
        named = [key for key in entry if key not in WORDS and not str(key).startswith("with_")]
        for key in ("action", "local_action"):
            if key in entry:
                return self._old_action(entry, key, manner)
        if not named:
            raise AnsibleError("no module/action detected in task.", entry.place)
        modules_named = [str(key) for key in named if self._resolves(str(key), manner)]
        if not modules_named:
            raise AnsibleError(unresolved(str(named[0])), entry.place)
        if len(modules_named) > 1:
            raise AnsibleError(f"conflicting action statements: {', '.join(modules_named)}", entry.place)
        if len(named) > 1:
            other = next(str(key) for key in named if str(key) != modules_named[0])
            raise AnsibleError(f"'{other}' is not a valid attribute for a Task", entry.place)
        return modules.short(modules_named[0]), with_args(entry[modules_named[0]], entry.get("args"))

    def _old_action(self, entry: Placed, key: str, manner: Manner) -> tuple[str, Any]:
        said = entry[key]
        args: Any
        if isinstance(said, dict):
            name, args = str(said.get("module", "")), {other: held for other, held in said.items() if other != "module"}
        else:
            name, _, args = str(said).partition(" ")
        if not self._resolves(name, manner):
            raise AnsibleError(unresolved(name), entry.place)
        return modules.short(name), args

    def _resolves(self, name: str, manner: Manner) -> bool:
        if modules.is_known(name):
            return True
        homes = ["library", posixpath.join(self.base, "library")]
        if manner.role:
            homes += [f"roles/{manner.role.name}/library", f"{self.base}/roles/{manner.role.name}/library".lstrip("/")]
        return any(self._files.has(f"{home}/{name}.py") for home in homes)
