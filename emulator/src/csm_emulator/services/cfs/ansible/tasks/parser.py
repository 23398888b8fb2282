"""Lists of tasks: blocks, imports and roles resolved, modules looked up, as Ansible does before it begins."""

from __future__ import annotations

import posixpath
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from csm_emulator.services.cfs.ansible.jinja.filters import as_bool, frozen
from csm_emulator.services.cfs.ansible.modules import modules
from csm_emulator.services.cfs.ansible.playbooks.layer_files import Reading
from csm_emulator.services.cfs.ansible.playbooks.plays import Block, Entry, Files, Manner, Role, Task, as_tuple
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import OTHER_ERROR, AnsibleError, Place
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import Mapping as Placed
from csm_emulator.services.cfs.ansible.tasks.keywords import (
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
"""Imports inside of imports, and roles below roles; more is a circle."""


class TaskReader:
    """Reads from one repository."""

    def __init__(self, files: Files, playbook: str, reading: Reading) -> None:
        self.files = files
        self.base = posixpath.dirname(playbook)
        self.reading = reading
        self._depth = 0
        self._roles_above: tuple[str, ...] = ()
        self._listed: set[Hashable] = set()

    def begin_play(self, manner: Manner) -> None:
        self.reading.count_task(manner)
        self.forget_roles()

    def forget_roles(self) -> None:
        """None was listed yet."""
        self._listed = set()

    def absolute(self, path: str) -> str:
        return posixpath.join(self.files.root, path)

    def tasks(self, listed: Any, manner: Manner, directory: str) -> tuple[Entry, ...]:
        found: list[Entry] = []
        for entry in as_tuple(listed):
            if not isinstance(entry, Placed):
                raise AnsibleError(f"A malformed block was encountered while loading tasks: {entry!r}")
            found += self._entry(entry, manner, directory)
        return tuple(found)

    def task_file(self, path: str, manner: Manner) -> tuple[Entry, ...]:
        text = self.files.read(path)
        if text is None:
            raise AnsibleError(missing_file(self.absolute(path)), code=OTHER_ERROR)
        listed = self.reading.load(text, self.absolute(path))
        if listed is not None and not isinstance(listed, list):
            raise AnsibleError(
                "included task files must contain a list of tasks", Place(self.absolute(path), 1, 1, text)
            )
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise AnsibleError(f"recursive loop detected in {self.absolute(path)}")
            return self.tasks(listed, manner, posixpath.dirname(path))
        finally:
            self._depth -= 1

    def role(self, name: str, params: Mapping[str, Any], place: Place) -> Role:
        """Raises ``AnsibleError`` when nobody has it."""
        self.reading.count_task(Manner(vars=params))
        home = self._role_home(name, place)
        return Role(name, self._variables(f"{home}/defaults/main"), self._variables(f"{home}/vars/main"), params)

    def role_tasks(self, role: Role, manner: Manner, place: Place, start: str = "main") -> tuple[Entry, ...]:
        """With what it depends on before it."""
        home = self._role_home(role.name, place)
        found = self._dependencies(home, role, manner, place)
        path = self._yaml(f"{home}/tasks/{start}")
        if path is None and start != "main":
            raise AnsibleError(missing_file(self.absolute(f"{home}/tasks/{start}")), place, OTHER_ERROR)
        return (*found, *(self.task_file(path, replace(manner, role=role)) if path else ()))

    def role_tasks_once(self, role: Role, manner: Manner, place: Place) -> tuple[Entry, ...]:
        """Nothing when the play has listed it with the same parameters, unless the role allows that."""
        if role.name in self._roles_above or len(self._roles_above) == _DEEPEST:
            said = f"A recursion loop was detected with the roles specified: {role.name} is below itself, or too deep"
            raise AnsibleError(said, place, OTHER_ERROR)
        meta = self._variables(f"{self._role_home(role.name, place)}/meta/main")
        key = frozen([role.name, dict(role.params), list(manner.when), sorted(manner.tags)])
        if key in self._listed and not as_bool(meta.get("allow_duplicates")):
            return ()
        self._listed.add(key)
        return self.role_tasks(role, manner, place)

    def _dependencies(self, home: str, role: Role, manner: Manner, place: Place) -> list[Entry]:
        above = self._roles_above
        self._roles_above = (*above, role.name)
        found: list[Entry] = []
        try:
            for wanted in as_tuple(self._variables(f"{home}/meta/main").get("dependencies")):
                other = self.role(role_name(wanted), role_params(wanted), place)
                found += self.role_tasks_once(other, manner, place)
        finally:
            self._roles_above = above
        return found

    def role_handlers(self, role: Role, manner: Manner, place: Place) -> tuple[Entry, ...]:
        path = self._yaml(f"{self._role_home(role.name, place)}/handlers/main")
        return self.task_file(path, replace(manner, role=role)) if path else ()

    def variables_file(self, path: str) -> dict[str, Any] | None:
        text = self.files.read(path)
        if text is None:
            return None
        held = self.reading.load(text, self.absolute(path))
        return held if isinstance(held, dict) else {}

    def _variables(self, stem: str) -> dict[str, Any]:
        path = self._yaml(stem)
        return (self.variables_file(path) or {}) if path else {}

    def _yaml(self, stem: str) -> str | None:
        named = (f"{stem}{ending}" for ending in ("", ".yml", ".yaml"))
        return next((path for path in named if self.files.read(path) is not None), None)

    def _role_home(self, name: str, place: Place) -> str:
        roots = list(dict.fromkeys((posixpath.join(self.base, "roles"), "roles", self.base)))
        for root in roots:
            home = posixpath.join(root, name)
            if name and self.files.has(home):
                return home
        searched = ":".join(self.absolute(root).rstrip("/") for root in roots)
        raise AnsibleError(f"the role '{name}' was not found in {searched}", place, OTHER_ERROR)

    def _entry(self, entry: Placed, manner: Manner, directory: str) -> Sequence[Entry]:
        inside = manner.under(entry)
        self.reading.count_task(inside)
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
            if self.files.read(path) is not None:
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
        return any(self.files.has(f"{home}/{name}.py") for home in homes)
