"""What a playbook is made of, once it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import Place

NO_LOOP = object()


class Files(Protocol):
    """A repository at a commit, as it lies in the container."""

    @property
    def root(self) -> str:
        """Its folder there, without a slash at the end."""

    def read(self, path: str) -> str | None:
        """The text of a file; paths are below the root."""

    def has(self, path: str) -> bool:
        """Whether there is such a file or folder."""

    def below(self, folder: str) -> Sequence[str]:
        """The paths of all files in a folder, in order."""


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manner:
    """What a task takes over from its blocks, its role and its play."""

    when: tuple[Any, ...] = ()
    vars: Mapping[str, Any] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    role: Role | None = None
    ignore_errors: Any = False
    run_once: bool = False
    delegate_to: str = ""
    any_errors_fatal: bool = False

    def under(self, entry: Mapping[str, Any]) -> Manner:
        """The manner of what stands inside of this entry."""
        given = entry.get("vars")
        return replace(
            self,
            when=self.when + as_tuple(entry.get("when")),
            vars={**self.vars, **given} if isinstance(given, Mapping) else self.vars,
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
    """Without ``ansible.builtin.``."""
    args: Any
    manner: Manner
    place: Place
    directory: str
    """Where files that it includes are looked for."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """The other words of the task, as they stand: register, until, notify, …"""
    loop: Any = NO_LOOP

    @property
    def title(self) -> str:
        """As the banner shows it, before templates."""
        name = self.name or self.module
        return f"{self.manner.role.name} : {name}" if self.manner.role else name


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
    words: Mapping[str, Any]
    """Words of the play, as they stand."""
    vars: Mapping[str, Any]
    roles: tuple[Role, ...]
    stages: tuple[tuple[Entry, ...], ...]
    """Tasks; after each stage handlers run."""
    handlers: tuple[Task, ...]
    any_errors_fatal: bool = False


def as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def tags_of(entry: Mapping[str, Any]) -> Sequence[Any]:
    """A list, or words with commas between."""
    tags = entry.get("tags")
    return [tag.strip() for tag in tags.split(",")] if isinstance(tags, str) else as_tuple(tags)


def tasks_in(entries: Sequence[Entry]) -> list[Task]:
    """All of them, those of rescue and always too."""
    found: list[Task] = []
    for entry in entries:
        if isinstance(entry, Task):
            found.append(entry)
        else:
            found += tasks_in((*entry.body, *entry.rescue, *entry.always))
    return found
