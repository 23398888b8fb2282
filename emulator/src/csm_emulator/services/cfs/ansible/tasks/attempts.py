"""One task on one host: items, tries again, and what counts as changed and as failed."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from csm_emulator.services.cfs.ansible.jinja.templates import holds, render, show
from csm_emulator.services.cfs.ansible.jinja.unknown import UNKNOWN, plain
from csm_emulator.services.cfs.ansible.modules import modules
from csm_emulator.services.cfs.ansible.modules.command_lines import command_line
from csm_emulator.services.cfs.ansible.modules.results import Around, Fields, carry_out
from csm_emulator.services.cfs.ansible.playbooks.plays import NO_LOOP, Play, Task, as_tuple
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import weigh
from csm_emulator.services.cfs.ansible.run_state import Stand
from csm_emulator.services.cfs.ansible.variables import Scope

MOST_ITEMS = 1000
OWN_WORK = 4
"""What a result of its own costs, measured by one that others have as well."""
_LIGHT, _LONG_COMMAND = 50, 500
"""Values of a result that holds nothing long, and signs of a command that is."""
_FEW_CONDITIONS = 4
MOST_RETRIES, LONGEST_DELAY = 100, 3600.0
SKIPPED: Fields = {"changed": False, "skipped": True, "skip_reason": "Conditional result was False"}
_BY_HOST = frozenset({"setup", "gather_facts", "assert"})
_DECIDING = frozenset({"until", "changed_when", "failed_when"})
_STRUCK: Fields = {
    "changed": False,
    "failed": True,
    "module_stderr": "",
    "module_stdout": "",
    "msg": "MODULE FAILURE\nSee stdout/stderr for the exact error",
    "rc": 137,
}
"""What Ansible says of a module that was killed."""


@dataclass(slots=True)
class Report:
    """What one host reported; ``items`` when the task loops."""

    fields: Fields
    items: list[tuple[str, Fields]] | None = None
    retries: int = 0

    @property
    def failed(self) -> bool:
        return bool(self.fields.get("failed"))

    @property
    def skipped(self) -> bool:
        return bool(self.fields.get("skipped"))


class Attempts:
    def __init__(self, stand: Stand, play: Play, task: Task, seconds: float) -> None:
        self._stand = stand
        self._play = play
        self._task = task
        self._seconds = seconds
        control = task.words.get("loop_control")
        self._control = control if isinstance(control, dict) else {}
        self._same: dict[bool, Report] = {}
        self._is_same = _is_same_everywhere(task)

    def report(self, host: str) -> Generator[None, None, Report]:
        """With turns for others between its items."""
        report = self._of_others(host) or (yield from self._own(host))
        name = self._task.words.get("register")
        if isinstance(name, str):
            self._stand.held[host][name] = report.fields
        return report

    def _of_others(self, host: str) -> Report | None:
        """What hosts before this one reported, where it cannot be another."""
        if not self._is_same or host in self._stand.setting.faulty:
            return None
        if self._task.manner.when and not self.wanted(self._stand.scope(self._play, self._task, host)):
            return Report(SKIPPED)
        return self._same.get(host in self._stand.setting.settled)

    def _own(self, host: str) -> Generator[None, None, Report]:
        self._stand.meter.hold(OWN_WORK)
        scope = self._stand.scope(self._play, self._task, host)
        report = self._single(host, scope) if self._task.loop is NO_LOOP else (yield from self._looped(host, scope))
        if self._is_same and not report.skipped and host not in self._stand.setting.faulty:
            self._same[host in self._stand.setting.settled] = report
        return report

    def wanted(self, scope: Scope) -> bool:
        conditions = self._task.manner.when
        if len(conditions) > _FEW_CONDITIONS:
            self._stand.meter.work(len(conditions) // _FEW_CONDITIONS)
        return all(holds(condition, scope) for condition in conditions)

    def items(self, scope: Scope) -> list[Any]:
        found = render(self._task.loop, scope)
        if isinstance(found, dict):
            found = [{"key": key, "value": held} for key, held in found.items()]
        if not isinstance(found, list):
            return [UNKNOWN]
        flat = [inner for item in found for inner in (item if isinstance(item, list) else [item])]
        return flat[:MOST_ITEMS]

    def item_scope(self, scope: Scope, item: Any) -> Scope:
        return scope.with_first({str(self._control.get("loop_var", "item")): item})

    def _single(self, host: str, scope: Scope) -> Report:
        if not self.wanted(scope):
            return Report(dict(SKIPPED))
        fields = self._once(host, scope)
        retries = self._retries(fields, scope)
        if retries:
            fields = {**fields, "failed": True, "attempts": retries}
        return Report(fields, retries=retries)

    def _retries(self, fields: Fields, scope: Scope) -> int:
        """How often it is tried again in vain."""
        until = self._task.words.get("until")
        if until is None:
            return 0
        seen = self._registered(scope, fields)
        if not fields.get("failed") and all(holds(condition, seen) for condition in as_tuple(until)):
            return 0
        said = render(self._task.words.get("retries", 3), scope)
        return max(1, min(said, MOST_RETRIES)) if isinstance(said, int) else 3

    def _looped(self, host: str, scope: Scope) -> Generator[None, None, Report]:
        items: list[tuple[str, Fields]] = []
        label = self._control.get("label")
        listed = self.items(scope)
        meter = self._stand.meter
        meter.hold(OWN_WORK * len(listed))
        for item in listed:
            if meter.is_tired:
                yield
            inner = self.item_scope(scope, item)
            shown = show(label, inner) if isinstance(label, str) else str(plain(item))
            fields = self._once(host, inner) if self.wanted(inner) else dict(SKIPPED)
            items.append((shown, {**fields, "item": item}))
        every = [fields for _, fields in items]
        whole: Fields = {
            "changed": any(fields["changed"] for fields in every),
            "results": every,
            "skipped": all(fields.get("skipped") for fields in every),
        }
        if any(fields.get("failed") for fields in every):
            whole |= {"failed": True, "msg": "One or more items failed"}
        return Report(whole, items)

    def _once(self, host: str, scope: Scope) -> Fields:
        stand, task = self._stand, self._task
        setting = stand.setting
        if self._strikes(host):
            return dict(_STRUCK)
        around = Around(
            setting.files,
            stand.reader.base,
            setting.began + stand.timeline.now - self._seconds,
            self._seconds,
            host in setting.settled,
            setting.facts(host) if task.module in ("setup", "gather_facts") else {},
        )
        if task.module in modules.COMMANDS:
            self._note_command(show(command_line(task.args), scope))
        fields = self._judged(carry_out(task, scope, around), scope)
        if task.module in modules.ON_CONTROLLER and (weight := weigh(fields)) > _LIGHT:
            stand.meter.hold(weight // OWN_WORK)
        return fields

    def _note_command(self, line: str) -> None:
        self._stand.commands[line] = None
        if len(line) > _LONG_COMMAND:
            self._stand.meter.hold(OWN_WORK * len(line) // _LONG_COMMAND)

    def _strikes(self, host: str) -> bool:
        """Whether the host's fault strikes at this task; it does so once."""
        part = self._stand.setting.faulty.get(host)
        if part is None or host in self._stand.struck or part.lower() not in self._task.title.lower():
            return False
        if not part and self._task.module == "setup":
            return False
        self._stand.struck.add(host)
        return True

    def _judged(self, fields: Fields, scope: Scope) -> Fields:
        words = self._task.words
        if words.get("changed_when") is not None:
            seen = self._registered(scope, fields)
            fields["changed"] = all(holds(condition, seen) for condition in as_tuple(words["changed_when"]))
        if words.get("failed_when") is not None:
            seen = self._registered(scope, fields)
            failed = all(holds(condition, seen, unknown=False) for condition in as_tuple(words["failed_when"]))
            fields |= {"failed": failed, "failed_when_result": failed}
        return fields

    def _registered(self, scope: Scope, fields: Fields) -> Scope:
        name = self._task.words.get("register")
        return scope.with_first({name: fields} if isinstance(name, str) else {})


def _is_same_everywhere(task: Task) -> bool:
    """Whether nothing of the result depends on a host's variables."""
    if task.loop is not NO_LOOP or task.module in _BY_HOST or not _DECIDING.isdisjoint(task.words):
        return False
    return "{{" not in str(task.args) and not (task.module == "debug" and "var" in str(task.args))
