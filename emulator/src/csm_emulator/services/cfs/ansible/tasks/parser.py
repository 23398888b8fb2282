"""Parsing lists of tasks: blocks, imports and roles are resolved and modules looked up, before a run starts."""

from __future__ import annotations

import posixpath
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from csm_emulator.services.cfs.ansible.jinja.filters import as_bool, hashable_key
from csm_emulator.services.cfs.ansible.modules import modules
from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader
from csm_emulator.services.cfs.ansible.playbooks.plays import (
    Block,
    Entry,
    Files,
    InheritedKeywords,
    Role,
    Task,
    as_tuple,
)
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import OTHER_ERROR, AnsibleError, Place
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import LocatedMapping as Placed
from csm_emulator.services.cfs.ansible.tasks.keywords import (
    TASK_KEYWORDS,
    file_of,
    loop_of,
    missing_file,
    role_name,
    role_params,
    tasks_from,
    unresolved,
    with_args,
)
from csm_emulator.services.cfs.ansible.values import Value

_MAX_NESTING = 20
"""Levels of nested imports and of role dependencies; deeper nesting is taken for a cycle."""


class TaskParser:
    """Parses the tasks and roles of one repository."""

    def __init__(self, files: Files, playbook: str, reading: LayerReader) -> None:
        self.files = files
        self.base = posixpath.dirname(playbook)
        self.reading = reading
        self._depth = 0
        self._parent_roles: tuple[str, ...] = ()
        self._listed_roles: set[Hashable] = set()

    def begin_play(self, inherited: InheritedKeywords) -> None:
        self.reading.count_task(inherited)
        self.forget_roles()

    def forget_roles(self) -> None:
        """Forget which roles the play has listed."""
        self._listed_roles = set()

    def absolute(self, path: str) -> str:
        return posixpath.join(self.files.root, path)

    def tasks(self, task_list: Value, inherited: InheritedKeywords, directory: str) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        for entry in as_tuple(task_list):
            if not isinstance(entry, Placed):
                raise AnsibleError(f"A malformed block was encountered while loading tasks: {entry!r}")
            entries += self._entry(entry, inherited, directory)
        return tuple(entries)

    def task_file(self, path: str, inherited: InheritedKeywords) -> tuple[Entry, ...]:
        text = self.files.read(path)
        if text is None:
            raise AnsibleError(missing_file(self.absolute(path)), code=OTHER_ERROR)
        task_list = self.reading.load(text, self.absolute(path))
        if task_list is not None and not isinstance(task_list, list):
            raise AnsibleError(
                "included task files must contain a list of tasks", Place(self.absolute(path), 1, 1, text)
            )
        self._depth += 1
        try:
            if self._depth > _MAX_NESTING:
                raise AnsibleError(f"recursive loop detected in {self.absolute(path)}")
            return self.tasks(task_list, inherited, posixpath.dirname(path))
        finally:
            self._depth -= 1

    def role(self, name: str, params: Mapping[str, Value], place: Place) -> Role:
        """The role; raises ``AnsibleError`` when it is not found."""
        self.reading.count_task(InheritedKeywords(vars=params))
        home = self._role_home(name, place)
        return Role(name, self._variables(f"{home}/defaults/main"), self._variables(f"{home}/vars/main"), params)

    def role_tasks(
        self, role: Role, inherited: InheritedKeywords, place: Place, start: str = "main"
    ) -> tuple[Entry, ...]:
        """The role's tasks, after those of its dependencies."""
        home = self._role_home(role.name, place)
        dependencies = self._dependencies(home, role, inherited, place)
        path = self._yaml(f"{home}/tasks/{start}")
        if path is None and start != "main":
            raise AnsibleError(missing_file(self.absolute(f"{home}/tasks/{start}")), place, OTHER_ERROR)
        return (*dependencies, *(self.task_file(path, replace(inherited, role=role)) if path else ()))

    def role_tasks_once(self, role: Role, inherited: InheritedKeywords, place: Place) -> tuple[Entry, ...]:
        """The role's tasks; none when the play listed it with the same parameters and it does not allow duplicates."""
        if role.name in self._parent_roles or len(self._parent_roles) == _MAX_NESTING:
            message = (
                f"A recursion loop was detected with the roles specified: {role.name} is below itself, or too deep"
            )
            raise AnsibleError(message, place, OTHER_ERROR)
        meta = self._variables(f"{self._role_home(role.name, place)}/meta/main")
        key = hashable_key([role.name, dict(role.params), list(inherited.when), sorted(inherited.tags)])
        if key in self._listed_roles and not as_bool(meta.get("allow_duplicates")):
            return ()
        self._listed_roles.add(key)
        return self.role_tasks(role, inherited, place)

    def _dependencies(self, home: str, role: Role, inherited: InheritedKeywords, place: Place) -> list[Entry]:
        above = self._parent_roles
        self._parent_roles = (*above, role.name)
        entries: list[Entry] = []
        try:
            for dependency in as_tuple(self._variables(f"{home}/meta/main").get("dependencies")):
                dependency_role = self.role(role_name(dependency), role_params(dependency), place)
                entries += self.role_tasks_once(dependency_role, inherited, place)
        finally:
            self._parent_roles = above
        return entries

    def role_handlers(self, role: Role, inherited: InheritedKeywords, place: Place) -> tuple[Entry, ...]:
        path = self._yaml(f"{self._role_home(role.name, place)}/handlers/main")
        return self.task_file(path, replace(inherited, role=role)) if path else ()

    def variables_file(self, path: str) -> dict[str, Value] | None:
        text = self.files.read(path)
        if text is None:
            return None
        document = self.reading.load(text, self.absolute(path))
        return document if isinstance(document, dict) else {}

    def _variables(self, stem: str) -> dict[str, Value]:
        path = self._yaml(stem)
        return (self.variables_file(path) or {}) if path else {}

    def _yaml(self, stem: str) -> str | None:
        paths = (f"{stem}{ending}" for ending in ("", ".yml", ".yaml"))
        return next((path for path in paths if self.files.read(path) is not None), None)

    def _role_home(self, name: str, place: Place) -> str:
        roots = list(dict.fromkeys((posixpath.join(self.base, "roles"), "roles", self.base)))
        for root in roots:
            home = posixpath.join(root, name)
            if name and self.files.has(home):
                return home
        searched = ":".join(self.absolute(root).rstrip("/") for root in roots)
        raise AnsibleError(f"the role '{name}' was not found in {searched}", place, OTHER_ERROR)

    def _entry(self, entry: Placed, inherited: InheritedKeywords, directory: str) -> Sequence[Entry]:
        inside = inherited.inside(entry)
        self.reading.count_task(inside)
        if "block" in entry:
            parts = (self.tasks(entry.get(part), inside, directory) for part in ("block", "rescue", "always"))
            return [Block(*parts)]
        return self._task(entry, inside, directory)

    def _task(self, entry: Placed, inherited: InheritedKeywords, directory: str) -> Sequence[Entry]:
        module, args = self._action(entry, inherited)
        if module == "import_tasks":
            return self.task_file(self.find(file_of(args), directory, inherited.role), inherited)
        if module == "import_role":
            role = self.role(role_name(args), inherited.vars, entry.place)
            return self.role_tasks(role, inherited, entry.place, tasks_from(args))
        return [
            Task(
                str(entry.get("name") or ""),
                module,
                args,
                inherited,
                entry.place,
                directory,
                {key: value for key, value in entry.items() if key in TASK_KEYWORDS},
                loop_of(entry),
            )
        ]

    def find(self, name: str, directory: str, role: Role | None) -> str:
        """The path of a task file: next to the including file, in the role, or next to the playbook."""
        places = [directory, *([f"{self.base}/roles/{role.name}/tasks", f"roles/{role.name}/tasks"] if role else [])]
        for place in (*places, self.base, ""):
            path = posixpath.normpath(posixpath.join(place, name)).lstrip("/")
            if self.files.read(path) is not None:
                return path
        return posixpath.normpath(posixpath.join(directory, name)).lstrip("/")

    def _action(self, entry: Placed, inherited: InheritedKeywords) -> tuple[str, Value]:
        candidates = [key for key in entry if key not in TASK_KEYWORDS and not str(key).startswith("with_")]
        for key in ("action", "local_action"):
            if key in entry:
                return self._legacy_action(entry, key, inherited)
        if not candidates:
            raise AnsibleError("no module/action detected in task.", entry.place)
        module_names = [str(key) for key in candidates if self._resolves(str(key), inherited)]
        if not module_names:
            raise AnsibleError(unresolved(str(candidates[0])), entry.place)
        if len(module_names) > 1:
            raise AnsibleError(f"conflicting action statements: {', '.join(module_names)}", entry.place)
        if len(candidates) > 1:
            extra = next(str(key) for key in candidates if str(key) != module_names[0])
            raise AnsibleError(f"'{extra}' is not a valid attribute for a Task", entry.place)
        return modules.short(module_names[0]), with_args(entry[module_names[0]], entry.get("args"))

    def _legacy_action(self, entry: Placed, key: str, inherited: InheritedKeywords) -> tuple[str, Value]:
        action = entry[key]
        args: Value
        if isinstance(action, dict):
            name, args = (
                str(action.get("module", "")),
                {other: held for other, held in action.items() if other != "module"},
            )
        else:
            name, _, args = str(action).partition(" ")
        if not self._resolves(name, inherited):
            raise AnsibleError(unresolved(name), entry.place)
        return modules.short(name), args

    def _resolves(self, name: str, inherited: InheritedKeywords) -> bool:
        if modules.is_known(name):
            return True
        homes = ["library", posixpath.join(self.base, "library")]
        if inherited.role:
            homes += [
                f"roles/{inherited.role.name}/library",
                f"{self.base}/roles/{inherited.role.name}/library".lstrip("/"),
            ]
        return any(self.files.has(f"{home}/{name}.py") for home in homes)
