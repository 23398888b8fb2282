"""Playbooks: from the text of files to plays."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from csm_emulator.services.cfs.ansible.hosts import MOST_WILD, is_too_wild
from csm_emulator.services.cfs.ansible.playbooks.layer_files import Reading
from csm_emulator.services.cfs.ansible.playbooks.plays import (
    Entry,
    Files,
    Manner,
    Play,
    Role,
    Task,
    as_tuple,
    tasks_in,
)
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import OTHER_ERROR, AnsibleError, Place
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import Mapping as Placed
from csm_emulator.services.cfs.ansible.tasks.keywords import role_name, role_params
from csm_emulator.services.cfs.ansible.tasks.parser import TaskReader

_DEEPEST = 10


def read_playbook(files: Files, path: str, reading: Reading | None = None, depth: int = 0) -> tuple[Play, ...]:
    """Raises ``AnsibleError`` as Ansible does before its first play, and ``Paused`` with a reading that pauses."""
    reading = reading or Reading(pausing=False)
    absolute = posixpath.join(files.root, path)
    text = files.read(path)
    if text is None:
        raise AnsibleError(f"the playbook: {absolute} could not be found", code=OTHER_ERROR)
    top = Place(absolute, 1, 1, text)
    listed = reading.load(text, absolute)
    if listed is None:
        raise AnsibleError(f"Empty playbook, nothing to do: {absolute}", top)
    if not isinstance(listed, list):
        raise AnsibleError(f"A playbook must be a list of plays, got a {type(listed)} instead", top)
    if depth > _DEEPEST:
        raise AnsibleError(f"recursive loop detected in {absolute}", top)
    reader = TaskReader(files, path, reading)
    return tuple(play for entry in listed for play in _plays(reader, path, entry, top, depth))


def _plays(reader: TaskReader, path: str, entry: Any, top: Place, depth: int) -> Sequence[Play]:
    if not isinstance(entry, Placed):
        raise AnsibleError("playbook entries must be either a valid play or an include statement", top)
    imported = entry.get("import_playbook", entry.get("ansible.builtin.import_playbook"))
    if imported is None:
        return [_play(reader, entry)]
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), str(imported)))
    condition, given = as_tuple(entry.get("when")), entry.get("vars")
    reader.reading.count_task(Manner(when=condition))
    plays = read_playbook(reader.files, target, reader.reading, depth + 1)
    return [_imported(play, condition, given if isinstance(given, dict) else {}) for play in plays]


def _imported(play: Play, condition: tuple[Any, ...], given: dict[str, Any]) -> Play:
    stages = tuple(tuple(_with_condition(entry, condition) for entry in stage) for stage in play.stages)
    return replace(play, stages=stages, vars={**given, **play.vars})


def _with_condition(entry: Entry, condition: tuple[Any, ...]) -> Entry:
    if isinstance(entry, Task):
        return replace(entry, manner=replace(entry.manner, when=condition + entry.manner.when))
    body, rescue, always = (
        tuple(_with_condition(inner, condition) for inner in part) for part in (entry.body, entry.rescue, entry.always)
    )
    return replace(entry, body=body, rescue=rescue, always=always)


def _play(reader: TaskReader, entry: Placed) -> Play:
    hosts = entry.get("hosts")
    if not hosts:
        raise AnsibleError("the field 'hosts' is required but was not set", entry.place)
    pattern = ",".join(str(host) for host in hosts) if isinstance(hosts, list) else str(hosts)
    if is_too_wild(pattern):
        raise AnsibleError(f"the field 'hosts' has more than {MOST_WILD} patterns; name groups instead", entry.place)
    manner = replace(Manner().under(entry), vars={})
    reader.begin_play(manner)
    roles, role_tasks, role_handlers = _roles(reader, entry, manner)
    here = reader.base
    pre, tasks, post = (reader.tasks(entry.get(part), manner, here) for part in ("pre_tasks", "tasks", "post_tasks"))
    handlers = tasks_in((*role_handlers, *reader.tasks(entry.get("handlers"), manner, here)))
    return Play(
        str(entry.get("name") or pattern),
        pattern,
        entry,
        _variables(reader, entry),
        roles,
        (pre, (*role_tasks, *tasks), post),
        tuple(handlers),
        manner.any_errors_fatal,
    )


def _roles(reader: TaskReader, entry: Placed, manner: Manner) -> tuple[tuple[Role, ...], list[Entry], list[Entry]]:
    roles: list[Role] = []
    tasks: list[Entry] = []
    handlers: list[Entry] = []
    for said in as_tuple(entry.get("roles")):
        place = said.place if isinstance(said, Placed) else entry.place
        role = reader.role(role_name(said), role_params(said), place)
        inside = manner.under(said) if isinstance(said, Placed) else manner
        roles.append(role)
        tasks += reader.role_tasks_once(role, inside, place)
        handlers += reader.role_handlers(role, manner, place)
    return tuple(roles), tasks, handlers


def _variables(reader: TaskReader, entry: Placed) -> dict[str, Any]:
    """``vars`` and then ``vars_files``, which must be there unless their names are templates."""
    said = entry.get("vars")
    found: dict[str, Any] = dict(said) if isinstance(said, dict) else {}
    for name in as_tuple(entry.get("vars_files")):
        held = reader.variables_file(posixpath.normpath(posixpath.join(reader.base, str(name))))
        if held is None and "{{" not in str(name):
            raise AnsibleError(f"vars file {name} was not found", entry.place, OTHER_ERROR)
        found |= held or {}
    return found
