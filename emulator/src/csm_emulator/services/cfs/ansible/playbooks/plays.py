"""The parts of a parsed playbook: plays, blocks, tasks, roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import Place
from csm_emulator.services.cfs.ansible.values import Value

NO_LOOP = object()


class Files(Protocol):
    """The files of a repository at a commit, as the container sees them."""

    @property
    def root(self) -> str:
        """The folder in the container, without a slash at the end."""

    def read(self, path: str) -> str | None:
        """The text of a file, by its path relative to the root; None when it does not exist."""

    def has(self, path: str) -> bool:
        """Whether the file or folder exists."""

    def files_in(self, folder: str) -> Sequence[str]:
        """The sorted paths of all files in a folder."""


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    defaults: Mapping[str, Value] = field(default_factory=dict)
    vars: Mapping[str, Value] = field(default_factory=dict)
    params: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InheritedKeywords:
    """Keywords that a task inherits from its blocks, its role and its play."""

    when: tuple[Value, ...] = ()
    vars: Mapping[str, Value] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    role: Role | None = None
    ignore_errors: Value = False
    run_once: bool = False
    delegate_to: str = ""
    any_errors_fatal: bool = False

    def inside(self, entry: Mapping[str, Value]) -> InheritedKeywords:
        """The keywords that tasks inside this entry inherit."""
        variables = entry.get("vars")
        return replace(
            self,
            when=self.when + as_tuple(entry.get("when")),
            vars={**self.vars, **variables} if isinstance(variables, Mapping) else self.vars,
            tags=self.tags | frozenset(str(tag) for tag in tags_of(entry)),
            ignore_errors=entry.get("ignore_errors", self.ignore_errors),
            run_once=bool(entry.get("run_once", self.run_once)),
            delegate_to=str(entry.get("delegate_to", self.delegate_to) or ""),
            any_errors_fatal=bool(entry.get("any_errors_fatal", self.any_errors_fatal)),
        )


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    module: str
    """The module's name without ``ansible.builtin.``."""
    args: Value
    inherited: InheritedKeywords
    place: Place
    directory: str
    """The folder in which included files are searched."""
    keywords: Mapping[str, Value] = field(default_factory=dict)
    """The task's other keywords, unrendered: register, until, notify, …"""
    loop: Value = NO_LOOP

    @property
    def title(self) -> str:
        """The title for the banner, before templates are rendered."""
        name = self.name or self.module
        return f"{self.inherited.role.name} : {name}" if self.inherited.role else name


@dataclass(frozen=True, slots=True)
class Block:
    body: tuple[Entry, ...]
    rescue: tuple[Entry, ...] = ()
    always: tuple[Entry, ...] = ()


Entry = Task | Block


@dataclass(frozen=True, slots=True)
class Play:
    name: str
    hosts: str
    keywords: Mapping[str, Value]
    """The play's keywords, unrendered."""
    vars: Mapping[str, Value]
    roles: tuple[Role, ...]
    stages: tuple[tuple[Entry, ...], ...]
    """Tasks by stage; handlers run after each stage."""
    handlers: tuple[Task, ...]
    any_errors_fatal: bool = False


def as_tuple(value: Value) -> tuple[Value, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def tags_of(entry: Mapping[str, Value]) -> Sequence[Value]:
    """The tags of an entry, written as a list or separated by commas."""
    tags = entry.get("tags")
    return [tag.strip() for tag in tags.split(",")] if isinstance(tags, str) else as_tuple(tags)


def tasks_in(entries: Sequence[Entry]) -> list[Task]:
    """All tasks, including those in ``rescue`` and ``always``."""
    tasks: list[Task] = []
    for entry in entries:
        if isinstance(entry, Task):
            tasks.append(entry)
        else:
            tasks += tasks_in((*entry.body, *entry.rescue, *entry.always))
    return tasks
