"""One task on one host: loop items, retries, and whether the result counts as changed or failed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from csm_emulator.services.cfs.ansible.jinja.templates import holds, render, render_to_text
from csm_emulator.services.cfs.ansible.modules import modules
from csm_emulator.services.cfs.ansible.modules.command_lines import command_line
from csm_emulator.services.cfs.ansible.modules.results import Fields, ModuleContext, run_module
from csm_emulator.services.cfs.ansible.playbooks.plays import NO_LOOP, Play, Task, as_tuple
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import count_values
from csm_emulator.services.cfs.ansible.run_state import RunState
from csm_emulator.services.cfs.ansible.values import UNKNOWN, Value, plain
from csm_emulator.services.cfs.ansible.variables import Scope

MAX_ITEMS = 1000
OWN_RESULT_COST = 4
"""The cost of a result that belongs to one host, compared with a result that hosts share."""
_LIGHT, _LONG_COMMAND = 50, 500
"""Values in a result of normal size, and characters of a command beyond which it costs more."""
_FEW_CONDITIONS = 4
MAX_RETRIES, MAX_DELAY = 100, 3600.0
SKIPPED: Fields = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}
_BY_HOST = frozenset({"setup", "gather_facts", "assert"})
_DECIDING = frozenset({"until", "changed_when", "failed_when"})
_KILLED: Fields = {
    "changed": False,
    "failed": True,
    "module_stderr": "",
    "module_stdout": "",
    "msg": "MODULE FAILURE\nSee stdout/stderr for the exact error",
    "rc": 137,
}
"""Ansible's result for a module that was killed."""


@dataclass(slots=True)
class HostResult:
    """The result of one host; ``items`` is set when the task loops."""

    fields: Fields
    items: list[tuple[str, Fields]] | None = None
    retries: int = 0

    @property
    def failed(self) -> bool:
        return bool(self.fields.get("failed"))

    @property
    def skipped(self) -> bool:
        return bool(self.fields.get("skipped"))


class TaskExecution:
    def __init__(self, state: RunState, play: Play, task: Task, seconds: float) -> None:
        self._state = state
        self._play = play
        self._task = task
        self._seconds = seconds
        control = task.keywords.get("loop_control")
        self._control = control if isinstance(control, dict) else {}
        self._same: dict[bool, HostResult] = {}
        self._is_same = _is_same_everywhere(task)

    def run(self, host: str) -> Generator[None, None, HostResult]:
        """Run the task on the host; between items the generator yields so that other runs can continue."""
        result = self._shared_result(host) or (yield from self._own_result(host))
        name = self._task.keywords.get("register")
        if isinstance(name, str):
            self._state.host_variables[host][name] = result.fields
        return result

    def _shared_result(self, host: str) -> HostResult | None:
        """The result of an earlier host, if this host's result must be the same; else None."""
        if not self._is_same or host in self._state.inputs.failing_tasks:
            return None
        if self._task.inherited.when and not self.conditions_hold(self._state.scope(self._play, self._task, host)):
            return HostResult(SKIPPED)
        return self._same.get(host in self._state.inputs.configured_hosts)

    def _own_result(self, host: str) -> Generator[None, None, HostResult]:
        self._state.meter.count_results(OWN_RESULT_COST)
        scope = self._state.scope(self._play, self._task, host)
        result = self._single(host, scope) if self._task.loop is NO_LOOP else (yield from self._looped(host, scope))
        if self._is_same and not result.skipped and host not in self._state.inputs.failing_tasks:
            self._same[host in self._state.inputs.configured_hosts] = result
        return result

    def conditions_hold(self, scope: Scope) -> bool:
        conditions = self._task.inherited.when
        if len(conditions) > _FEW_CONDITIONS:
            self._state.meter.work(len(conditions) // _FEW_CONDITIONS)
        return all(holds(condition, scope) for condition in conditions)

    def items(self, scope: Scope) -> list[Value]:
        items = render(self._task.loop, scope)
        if isinstance(items, dict):
            items = [{"key": key, "value": entry} for key, entry in items.items()]
        if not isinstance(items, list):
            return [UNKNOWN]
        flat = [inner for item in items for inner in (item if isinstance(item, list) else [item])]
        return flat[:MAX_ITEMS]

    def item_scope(self, scope: Scope, item: Value) -> Scope:
        return scope.with_first({str(self._control.get("loop_var", "item")): item})

    def _single(self, host: str, scope: Scope) -> HostResult:
        if not self.conditions_hold(scope):
            return HostResult(dict(SKIPPED))
        fields = self._run_once(host, scope)
        retries = self._retries(fields, scope)
        if retries:
            fields = {**fields, "failed": True, "attempts": retries}
        return HostResult(fields, retries=retries)

    def _retries(self, fields: Fields, scope: Scope) -> int:
        """The number of retries, all of which fail; 0 when the first attempt satisfies ``until``."""
        until = self._task.keywords.get("until")
        if until is None:
            return 0
        result_scope = self._scope_with_result(scope, fields)
        if not fields.get("failed") and all(holds(condition, result_scope) for condition in as_tuple(until)):
            return 0
        retries = render(self._task.keywords.get("retries", 3), scope)
        return max(1, min(retries, MAX_RETRIES)) if isinstance(retries, int) else 3

    def _looped(self, host: str, scope: Scope) -> Generator[None, None, HostResult]:
        items: list[tuple[str, Fields]] = []
        label = self._control.get("label")
        loop_items = self.items(scope)
        meter = self._state.meter
        meter.count_results(OWN_RESULT_COST * len(loop_items))
        for item in loop_items:
            if meter.turn_is_over:
                yield
            inner = self.item_scope(scope, item)
            item_label = render_to_text(label, inner) if isinstance(label, str) else str(plain(item))
            fields = self._run_once(host, inner) if self.conditions_hold(inner) else dict(SKIPPED)
            items.append((item_label, {**fields, "item": item}))
        results = [fields for _, fields in items]
        whole: Fields = {
            "changed": any(fields["changed"] for fields in results),
            "results": results,
            "skipped": all(fields.get("skipped") for fields in results),
        }
        if any(fields.get("failed") for fields in results):
            whole |= {"failed": True, "msg": "One or more items failed"}
        return HostResult(whole, items)

    def _run_once(self, host: str, scope: Scope) -> Fields:
        state, task = self._state, self._task
        inputs = state.inputs
        if self._fault_hits(host):
            return dict(_KILLED)
        context = ModuleContext(
            inputs.files,
            state.reader.base,
            inputs.start + state.timeline.now - self._seconds,
            self._seconds,
            host in inputs.configured_hosts,
            inputs.facts(host) if task.module in ("setup", "gather_facts") else {},
        )
        if task.module in modules.COMMANDS:
            self._note_command(render_to_text(command_line(task.args), scope))
        fields = self._apply_conditions(run_module(task, scope, context), scope)
        if task.module in modules.ON_CONTROLLER and (weight := count_values(fields)) > _LIGHT:
            state.meter.count_results(weight // OWN_RESULT_COST)
        return fields

    def _note_command(self, line: str) -> None:
        self._state.commands[line] = None
        if len(line) > _LONG_COMMAND:
            self._state.meter.count_results(OWN_RESULT_COST * len(line) // _LONG_COMMAND)

    def _fault_hits(self, host: str) -> bool:
        """Whether the host's fault hits this task; each fault hits once."""
        part = self._state.inputs.failing_tasks.get(host)
        if part is None or host in self._state.faulted or part.lower() not in self._task.title.lower():
            return False
        if not part and self._task.module == "setup":
            return False
        self._state.faulted.add(host)
        return True

    def _apply_conditions(self, fields: Fields, scope: Scope) -> Fields:
        words = self._task.keywords
        if words.get("changed_when") is not None:
            result_scope = self._scope_with_result(scope, fields)
            fields["changed"] = all(holds(condition, result_scope) for condition in as_tuple(words["changed_when"]))
        if words.get("failed_when") is not None:
            result_scope = self._scope_with_result(scope, fields)
            failed = all(holds(condition, result_scope, unknown=False) for condition in as_tuple(words["failed_when"]))
            fields |= {"failed": failed, "failed_when_result": failed}
        return fields

    def _scope_with_result(self, scope: Scope, fields: Fields) -> Scope:
        name = self._task.keywords.get("register")
        return scope.with_first({name: fields} if isinstance(name, str) else {})


def _is_same_everywhere(task: Task) -> bool:
    """Whether the result does not depend on a host's variables."""
    if task.loop is not NO_LOOP or task.module in _BY_HOST or not _DECIDING.isdisjoint(task.keywords):
        return False
    return "{{" not in str(task.args) and not (task.module == "debug" and "var" in str(task.args))
