"""The result that a module reports for one host."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from csm_emulator.services.cfs.ansible.jinja.templates import holds, render, render_to_text
from csm_emulator.services.cfs.ansible.modules import modules
from csm_emulator.services.cfs.ansible.modules.command_lines import command_line, run_command, run_shell, words
from csm_emulator.services.cfs.ansible.playbooks.plays import Files, Task
from csm_emulator.services.cfs.ansible.values import UNKNOWN, Unknown, Value
from csm_emulator.services.cfs.ansible.variables import Scope

Fields = dict[str, Value]
"""A result as a playbook sees it, with ``changed`` and, if it failed, ``failed``."""


@dataclass(frozen=True, slots=True)
class ModuleContext:
    """Inputs of a module's result besides the task and the variables."""

    files: Files
    base: str
    """Folder of the playbook."""
    now: float
    seconds: float
    configured: bool
    """Whether the layer was applied to the host before, so that modules change nothing."""
    facts: Mapping[str, Value]


def run_module(task: Task, scope: Scope, context: ModuleContext) -> Fields:
    if task.module in modules.COMMANDS:
        return _command(task, scope, context)
    special = _SPECIAL.get(task.module)
    if special:
        return special(_arguments(task.args), scope, task, context)
    return _missing_source(task, scope, context) or _any_other(task, context)


def _any_other(task: Task, context: ModuleContext) -> Fields:
    if modules.last_part(task.module).endswith(("_info", "_facts")) or task.module in modules.READ_ONLY:
        return {"changed": False, "stat": UNKNOWN, "content": UNKNOWN, "status": UNKNOWN, "files": UNKNOWN}
    return {"changed": not context.configured}


def _arguments(args: Value) -> dict[str, Value]:
    """Arguments as a mapping, also from ``key=value`` in one line."""
    if isinstance(args, dict):
        return args
    pairs = (word.partition("=") for word in words(str(args))) if args else ()
    return {key: value for key, sign, value in pairs if sign}


def _command(task: Task, scope: Scope, context: ModuleContext) -> Fields:
    args = render(task.args, scope)
    line = render_to_text(command_line(args if not isinstance(args, Unknown) else task.args), scope)
    if not line:
        return {"changed": False, "failed": True, "msg": "no command given", "rc": 256}
    status, printed = run_command(line) if task.module == "command" else run_shell(line)
    fields = _command_fields(words(line) if task.module == "command" else line, status, printed, context)
    if context.configured and isinstance(args, dict) and (args.get("creates") or args.get("removes")):
        fields |= {"changed": False}
    return fields


def _command_fields(command: Value, status: int, printed: Value, context: ModuleContext) -> Fields:
    started = context.now + context.seconds * 0.2
    fields: Fields = {
        "changed": True,
        "cmd": command,
        "delta": _clock(context.seconds * 0.7),
        "end": _instant(started + context.seconds * 0.7),
        "rc": status,
        "start": _instant(started),
        "stderr": "",
        "stderr_lines": [],
        "stdout": printed,
        "stdout_lines": UNKNOWN if isinstance(printed, Unknown) else printed.splitlines(),
    }
    return {**fields, "failed": True, "msg": "non-zero return code"} if status else fields


def _instant(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def _clock(seconds: float) -> str:
    return f"{int(seconds // 3600)}:{int(seconds // 60) % 60:02}:{seconds % 60:09.6f}"


def _fail(args: dict[str, Value], scope: Scope, _: Task, __: ModuleContext) -> Fields:
    return {
        "changed": False,
        "failed": True,
        "msg": render_to_text(args.get("msg", "Failed as requested from task"), scope),
    }


def _assert(args: dict[str, Value], scope: Scope, _: Task, __: ModuleContext) -> Fields:
    that = args.get("that")
    for condition in that if isinstance(that, list) else [that]:
        if not holds(condition, scope):
            message = args.get("fail_msg") or args.get("msg") or "Assertion failed"
            details = {"assertion": condition, "evaluated_to": False, "msg": render_to_text(message, scope)}
            return {"changed": False, "failed": True, **details}
    return {"changed": False, "msg": render_to_text(args.get("success_msg") or "All assertions passed", scope)}


def _debug(args: dict[str, Value], scope: Scope, _: Task, __: ModuleContext) -> Fields:
    if "var" in args:
        name = str(args["var"])
        value = render("{{ " + name + " }}", scope)
        undefined = isinstance(value, Unknown) and not value.defined
        return {"changed": False, name: "VARIABLE IS NOT DEFINED!" if undefined else value}
    message = args.get("msg", "Hello world!")
    text = render(message, scope)
    return {"changed": False, "msg": message if isinstance(text, Unknown) else text}


def _set_fact(args: dict[str, Value], scope: Scope, _: Task, __: ModuleContext) -> Fields:
    return {"changed": False, "ansible_facts": {key: render(value, scope) for key, value in args.items()}}


def _setup(_: dict[str, Value], __: Scope, ___: Task, context: ModuleContext) -> Fields:
    return {"changed": False, "ansible_facts": dict(context.facts)}


_SPECIAL: Mapping[str, Callable[[dict[str, Value], Scope, Task, ModuleContext], Fields]] = {
    "fail": _fail,
    "assert": _assert,
    "debug": _debug,
    "set_fact": _set_fact,
    "setup": _setup,
    "gather_facts": _setup,
}

_SOURCES = {"template": "templates", "copy": "files", "unarchive": "files", "assemble": "files"}


def _missing_source(task: Task, scope: Scope, context: ModuleContext) -> Fields | None:
    """The failure of a task whose source file is not in the repository; None when it is there or not needed."""
    folder = _SOURCES.get(task.module)
    args = _arguments(task.args)
    if folder is None or args.get("remote_src") or "src" not in args:
        return None
    source = render(args["src"], scope)
    if not isinstance(source, str) or "{{" in source or source.startswith("/") or "://" in source:
        return None
    role = task.inherited.role
    homes = [f"roles/{role.name}", posixpath.join(context.base, "roles", role.name)] if role else []
    homes += [task.directory, context.base]
    places = [
        posixpath.normpath(posixpath.join(home, *inner)) for home in homes for inner in ((folder, source), (source,))
    ]
    if any(context.files.has(place) for place in places):
        return None
    searched = "\n\t".join(posixpath.join(context.files.root, place) for place in dict.fromkeys(places))
    message = (
        f"Could not find or access '{source}'\nSearched in:\n\t{searched} on the Ansible Controller.\n"
        "If you are using a module and expect the file to exist on the remote, see the remote_src option"
    )
    return {"changed": False, "failed": True, "msg": message}
