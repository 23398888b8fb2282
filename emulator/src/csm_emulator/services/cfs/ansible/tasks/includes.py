"""``include_tasks`` and ``include_role``: parsed during the run, for the hosts whose conditions hold."""

from __future__ import annotations

import posixpath
from collections.abc import Generator, Hashable, Sequence
from dataclasses import replace

from csm_emulator.services.cfs.ansible.display import dump
from csm_emulator.services.cfs.ansible.jinja.filters import hashable_key
from csm_emulator.services.cfs.ansible.jinja.templates import render_to_text
from csm_emulator.services.cfs.ansible.limits import WORK_PER_TURN
from csm_emulator.services.cfs.ansible.playbooks.layer_files import ReadingPaused
from csm_emulator.services.cfs.ansible.playbooks.plays import NO_LOOP, Entry, InheritedKeywords, Play, Task
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.ansible.run_state import RunState
from csm_emulator.services.cfs.ansible.tasks.execution import TaskExecution
from csm_emulator.services.cfs.ansible.tasks.keywords import role_name, tasks_from
from csm_emulator.services.cfs.ansible.tasks.runner import print_banner
from csm_emulator.services.cfs.ansible.values import Value
from csm_emulator.services.cfs.ansible.variables import Scope

MAX_INCLUDES, MAX_DEPTH = 2000, 40
"""Limits that end an include that includes itself."""
_NAMES_PER_RESULT = 16
"""Number of host names that cost as much memory as a result."""
IncludeTarget = tuple[str, str, Value]
"""Name of a file or role, the loop variable and the item."""

Included = tuple[tuple[Entry, ...] | None, list[str]]
NOTHING: Included = ((), [])
"""An empty entry that lets other runs continue."""


def resolve_includes(state: RunState, play: Play, task: Task, hosts: list[str]) -> Generator[Included, None, None]:
    """Included entries with their hosts; the entries are None when they cannot be parsed, which fails those hosts."""
    state.task_number += 1
    print_banner(state, play, task, hosts[0], "TASK")
    targets = yield from _by_target(state, play, task, hosts)
    skipping = [host for host in hosts if not any(host in target_hosts for _, target_hosts in targets)]
    for host in skipping:
        state.counts_of(host).skipped += 1
    state.timeline.print(f"skipping: [{host}]" for host in skipping)
    for (name, variable, item), target_hosts in targets:
        extra = {variable: item} if variable else {}
        yield (yield from _read(state, task, name, extra, target_hosts)), target_hosts


def _by_target(
    state: RunState, play: Play, task: Task, hosts: list[str]
) -> Generator[Included, None, list[tuple[IncludeTarget, list[str]]]]:
    hosts_by_target: dict[Hashable, tuple[IncludeTarget, list[str]]] = {}
    execution = TaskExecution(state, play, task, 0.0)
    for host in hosts:
        if state.meter.turn_is_over:
            yield NOTHING
        targets = _targets(task, execution, state.scope(play, task, host))
        state.meter.count_results(len(targets))
        for target in targets:
            hosts_by_target.setdefault(hashable_key(list(target)), (target, []))[1].append(host)
    return list(hosts_by_target.values())


def _targets(task: Task, execution: TaskExecution, scope: Scope) -> list[IncludeTarget]:
    if task.loop is NO_LOOP:
        return [(_name(task, scope), "", None)] if execution.conditions_hold(scope) else []
    control = task.keywords.get("loop_control")
    variable = str(control.get("loop_var", "item")) if isinstance(control, dict) else "item"
    inner = [(item, execution.item_scope(scope, item)) for item in execution.items(scope)]
    return [(_name(task, context), variable, item) for item, context in inner if execution.conditions_hold(context)]


def _name(task: Task, scope: Scope) -> str:
    if "role" in task.module:
        return render_to_text(role_name(task.args), scope)
    if isinstance(task.args, dict):
        return render_to_text(task.args.get("file", ""), scope)
    return render_to_text(str(task.args), scope).split(" ")[0]


def _read(
    state: RunState, task: Task, name: str, extra: dict[str, Value], hosts: Sequence[str]
) -> Generator[Included, None, tuple[Entry, ...] | None]:
    inherited = replace(task.inherited, when=(), vars={**task.inherited.vars, **extra})
    if state.task_number > MAX_INCLUDES or state.include_depth > MAX_DEPTH:
        _fail(state, AnsibleError(f"recursive loop detected in {name}"), hosts)
        return None
    while True:
        try:
            if "role" in task.module:
                return _role(state, task, name, inherited)
            return _file(state, task, name, inherited, hosts)
        except AnsibleError as error:
            _fail(state, error, hosts)
            return None
        except ReadingPaused:
            state.meter.work(WORK_PER_TURN)
            yield NOTHING


def _role(state: RunState, task: Task, name: str, inherited: InheritedKeywords) -> tuple[Entry, ...]:
    state.reader.forget_roles()
    role = state.reader.role(name, inherited.vars, task.place)
    return state.reader.role_tasks(role, inherited, task.place, tasks_from(task.args))


def _file(
    state: RunState, task: Task, name: str, inherited: InheritedKeywords, hosts: Sequence[str]
) -> tuple[Entry, ...]:
    path = state.reader.find(name, task.directory, task.inherited.role)
    entries = state.reader.task_file(path, inherited)
    state.meter.count_results(len(hosts) // _NAMES_PER_RESULT)
    state.timeline.print([f"included: {posixpath.join(state.inputs.files.root, path)} for {', '.join(hosts)}"])
    for host in hosts:
        state.counts_of(host).ok += 1
    return entries


def _fail(state: RunState, error: AnsibleError, hosts: Sequence[str]) -> None:
    reason = "\n".join(error.lines()).removeprefix("ERROR! ")
    for host in hosts:
        counts = state.counts_of(host)
        counts.rescued += bool(state.rescue_depth)
        counts.failed += not state.rescue_depth
    state.timeline.print(f"fatal: [{host}]: FAILED! => {dump({'reason': reason})}" for host in hosts)
