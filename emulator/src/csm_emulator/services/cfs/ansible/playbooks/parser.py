"""Parsing playbooks: from the text of files to plays."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace

from csm_emulator.services.cfs.ansible.hosts import MAX_WILDCARD_TERMS, has_too_many_wildcards
from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader
from csm_emulator.services.cfs.ansible.playbooks.plays import (
    Entry,
    Files,
    InheritedKeywords,
    Play,
    Role,
    Task,
    as_tuple,
    tasks_in,
)
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import OTHER_ERROR, AnsibleError, Place
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import LocatedMapping as Placed
from csm_emulator.services.cfs.ansible.tasks.keywords import role_name, role_params
from csm_emulator.services.cfs.ansible.tasks.parser import TaskParser
from csm_emulator.services.cfs.ansible.values import Value

_MAX_IMPORT_DEPTH = 10


def read_playbook(files: Files, path: str, reading: LayerReader | None = None, depth: int = 0) -> tuple[Play, ...]:
    """The plays of a playbook. Raises ``AnsibleError`` as Ansible does before its first play, and ``ReadingPaused``."""
    reading = reading or LayerReader(pausing=False)
    absolute = posixpath.join(files.root, path)
    text = files.read(path)
    if text is None:
        raise AnsibleError(f"the playbook: {absolute} could not be found", code=OTHER_ERROR)
    top = Place(absolute, 1, 1, text)
    entries = reading.load(text, absolute)
    if entries is None:
        raise AnsibleError(f"Empty playbook, nothing to do: {absolute}", top)
    if not isinstance(entries, list):
        raise AnsibleError(f"A playbook must be a list of plays, got a {type(entries)} instead", top)
    if depth > _MAX_IMPORT_DEPTH:
        raise AnsibleError(f"recursive loop detected in {absolute}", top)
    reader = TaskParser(files, path, reading)
    return tuple(play for entry in entries for play in _plays(reader, path, entry, top, depth))


def _plays(reader: TaskParser, path: str, entry: Value, top: Place, depth: int) -> Sequence[Play]:
    if not isinstance(entry, Placed):
        raise AnsibleError("playbook entries must be either a valid play or an include statement", top)
    imported = entry.get("import_playbook", entry.get("ansible.builtin.import_playbook"))
    if imported is None:
        return [_play(reader, entry)]
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), str(imported)))
    condition, variables = as_tuple(entry.get("when")), entry.get("vars")
    reader.reading.count_task(InheritedKeywords(when=condition))
    plays = read_playbook(reader.files, target, reader.reading, depth + 1)
    return [_imported(play, condition, variables if isinstance(variables, dict) else {}) for play in plays]


def _imported(play: Play, condition: tuple[Value, ...], variables: dict[str, Value]) -> Play:
    stages = tuple(tuple(_with_condition(entry, condition) for entry in stage) for stage in play.stages)
    return replace(play, stages=stages, vars={**variables, **play.vars})


def _with_condition(entry: Entry, condition: tuple[Value, ...]) -> Entry:
    if isinstance(entry, Task):
        return replace(entry, inherited=replace(entry.inherited, when=condition + entry.inherited.when))
    body, rescue, always = (
        tuple(_with_condition(inner, condition) for inner in part) for part in (entry.body, entry.rescue, entry.always)
    )
    return replace(entry, body=body, rescue=rescue, always=always)


def _play(reader: TaskParser, entry: Placed) -> Play:
    hosts = entry.get("hosts")
    if not hosts:
        raise AnsibleError("the field 'hosts' is required but was not set", entry.place)
    pattern = ",".join(str(host) for host in hosts) if isinstance(hosts, list) else str(hosts)
    if has_too_many_wildcards(pattern):
        raise AnsibleError(
            f"the field 'hosts' has more than {MAX_WILDCARD_TERMS} patterns; name groups instead", entry.place
        )
    inherited = replace(InheritedKeywords().inside(entry), vars={})
    reader.begin_play(inherited)
    roles, role_tasks, role_handlers = _roles(reader, entry, inherited)
    folder = reader.base
    pre, tasks, post = (
        reader.tasks(entry.get(part), inherited, folder) for part in ("pre_tasks", "tasks", "post_tasks")
    )
    handlers = tasks_in((*role_handlers, *reader.tasks(entry.get("handlers"), inherited, folder)))
    return Play(
        str(entry.get("name") or pattern),
        pattern,
        entry,
        _variables(reader, entry),
        roles,
        (pre, (*role_tasks, *tasks), post),
        tuple(handlers),
        inherited.any_errors_fatal,
    )


def _roles(
    reader: TaskParser, entry: Placed, inherited: InheritedKeywords
) -> tuple[tuple[Role, ...], list[Entry], list[Entry]]:
    roles: list[Role] = []
    tasks: list[Entry] = []
    handlers: list[Entry] = []
    for role_entry in as_tuple(entry.get("roles")):
        place = role_entry.place if isinstance(role_entry, Placed) else entry.place
        role = reader.role(role_name(role_entry), role_params(role_entry), place)
        inside = inherited.inside(role_entry) if isinstance(role_entry, Placed) else inherited
        roles.append(role)
        tasks += reader.role_tasks_once(role, inside, place)
        handlers += reader.role_handlers(role, inherited, place)
    return tuple(roles), tasks, handlers


def _variables(reader: TaskParser, entry: Placed) -> dict[str, Value]:
    """``vars``, then ``vars_files``; a missing file is an error unless its name is a template."""
    play_vars = entry.get("vars")
    variables: dict[str, Value] = dict(play_vars) if isinstance(play_vars, dict) else {}
    for name in as_tuple(entry.get("vars_files")):
        file_variables = reader.variables_file(posixpath.normpath(posixpath.join(reader.base, str(name))))
        if file_variables is None and "{{" not in str(name):
            raise AnsibleError(f"vars file {name} was not found", entry.place, OTHER_ERROR)
        variables |= file_variables or {}
    return variables
