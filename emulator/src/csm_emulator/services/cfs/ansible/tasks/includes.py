"""``include_tasks`` and ``include_role``: read when their turn comes, for the hosts that want them."""

from __future__ import annotations

import posixpath
from collections.abc import Generator, Hashable, Sequence
from dataclasses import replace
from typing import Any

from csm_emulator.services.cfs.ansible.display import dump
from csm_emulator.services.cfs.ansible.jinja.filters import frozen
from csm_emulator.services.cfs.ansible.jinja.templates import show
from csm_emulator.services.cfs.ansible.limits import TURN
from csm_emulator.services.cfs.ansible.playbooks.layer_files import Paused
from csm_emulator.services.cfs.ansible.playbooks.plays import NO_LOOP, Entry, Manner, Play, Task
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.ansible.run_state import Stand
from csm_emulator.services.cfs.ansible.tasks.attempts import Attempts
from csm_emulator.services.cfs.ansible.tasks.keywords import role_name, start_of
from csm_emulator.services.cfs.ansible.tasks.runner import print_banner
from csm_emulator.services.cfs.ansible.variables import Scope

MOST_TASKS, DEEPEST = 2000, 40
"""An include that includes itself comes to an end."""
_NAMES = 16
"""Hosts whose names weigh as much as a result."""
Wanted = tuple[str, str, Any]
"""Name of a file or a role, the loop's variable and the item."""

Included = tuple[tuple[Entry, ...] | None, list[str]]
NOTHING: Included = ((), [])
"""For nobody: others get their turn."""


def including(stand: Stand, play: Play, task: Task, hosts: list[str]) -> Generator[Included, None, None]:
    """What is included and for whom; None for what cannot be read, which fails those hosts."""
    stand.number += 1
    print_banner(stand, play, task, hosts[0], "TASK")
    wanted = yield from _by_target(stand, play, task, hosts)
    skipping = [host for host in hosts if not any(host in taken for _, taken in wanted)]
    for host in skipping:
        stand.tally(host).skipped += 1
    stand.timeline.print(f"skipping: [{host}]" for host in skipping)
    for (name, variable, item), taken in wanted:
        extra = {variable: item} if variable else {}
        yield (yield from _read(stand, task, name, extra, taken)), taken


def _by_target(
    stand: Stand, play: Play, task: Task, hosts: list[str]
) -> Generator[Included, None, list[tuple[Wanted, list[str]]]]:
    found: dict[Hashable, tuple[Wanted, list[str]]] = {}
    attempts = Attempts(stand, play, task, 0.0)
    for host in hosts:
        if stand.meter.is_tired:
            yield NOTHING
        targets = _targets(task, attempts, stand.scope(play, task, host))
        stand.meter.hold(len(targets))
        for target in targets:
            found.setdefault(frozen(list(target)), (target, []))[1].append(host)
    return list(found.values())


def _targets(task: Task, attempts: Attempts, scope: Scope) -> list[Wanted]:
    if task.loop is NO_LOOP:
        return [(_name(task, scope), "", None)] if attempts.wanted(scope) else []
    control = task.words.get("loop_control")
    variable = str(control.get("loop_var", "item")) if isinstance(control, dict) else "item"
    inner = [(item, attempts.item_scope(scope, item)) for item in attempts.items(scope)]
    return [(_name(task, around), variable, item) for item, around in inner if attempts.wanted(around)]


def _name(task: Task, scope: Scope) -> str:
    if "role" in task.module:
        return show(role_name(task.args), scope)
    if isinstance(task.args, dict):
        return show(task.args.get("file", ""), scope)
    return show(str(task.args), scope).split(" ")[0]


def _read(
    stand: Stand, task: Task, name: str, extra: dict[str, Any], hosts: Sequence[str]
) -> Generator[Included, None, tuple[Entry, ...] | None]:
    manner = replace(task.manner, when=(), vars={**task.manner.vars, **extra})
    if stand.number > MOST_TASKS or stand.depth > DEEPEST:
        _fail(stand, AnsibleError(f"recursive loop detected in {name}"), hosts)
        return None
    while True:
        try:
            if "role" in task.module:
                return _role(stand, task, name, manner)
            return _file(stand, task, name, manner, hosts)
        except AnsibleError as error:
            _fail(stand, error, hosts)
            return None
        except Paused:
            stand.meter.work(TURN)
            yield NOTHING


def _role(stand: Stand, task: Task, name: str, manner: Manner) -> tuple[Entry, ...]:
    stand.reader.forget_roles()
    role = stand.reader.role(name, manner.vars, task.place)
    return stand.reader.role_tasks(role, manner, task.place, start_of(task.args))


def _file(stand: Stand, task: Task, name: str, manner: Manner, hosts: Sequence[str]) -> tuple[Entry, ...]:
    path = stand.reader.find(name, task.directory, task.manner.role)
    entries = stand.reader.task_file(path, manner)
    stand.meter.hold(len(hosts) // _NAMES)
    stand.timeline.print([f"included: {posixpath.join(stand.setting.files.root, path)} for {', '.join(hosts)}"])
    for host in hosts:
        stand.tally(host).ok += 1
    return entries


def _fail(stand: Stand, error: AnsibleError, hosts: Sequence[str]) -> None:
    reason = "\n".join(error.lines()).removeprefix("ERROR! ")
    for host in hosts:
        tally = stand.tally(host)
        tally.rescued += bool(stand.rescuable)
        tally.failed += not stand.rescuable
    stand.timeline.print(f"fatal: [{host}]: FAILED! => {dump({'reason': reason})}" for host in hosts)
