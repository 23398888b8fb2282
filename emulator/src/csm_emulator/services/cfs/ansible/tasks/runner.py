"""One task on all its hosts, and the log lines that it prints."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from csm_emulator.services.cfs.ansible.display import CENSORED, banner, dump, unreachable_line
from csm_emulator.services.cfs.ansible.jinja.templates import holds, render_to_text
from csm_emulator.services.cfs.ansible.modules import modules
from csm_emulator.services.cfs.ansible.modules.results import Fields
from csm_emulator.services.cfs.ansible.playbooks.plays import NO_LOOP, Play, Task, as_tuple
from csm_emulator.services.cfs.ansible.run_state import RunState, Steps
from csm_emulator.services.cfs.ansible.tasks.execution import MAX_DELAY, HostResult, TaskExecution

SHOW_OK = SHOW_SKIPPED = True
"""``display_ok_hosts`` and ``display_skipped_hosts`` of ansible.cfg."""
REMOTE, LOCAL = (4.0, 24.0), (0.05, 0.4)
"""Shortest and longest seconds of a task on hosts and on the controller."""
_CONTROLLER = "localhost"
CHARACTERS_PER_RESULT = 256
"""Characters of the log that cost as much memory as a result."""
_FEW_ROLES = 20


class _NoVariables:
    """Variables without values, for rendering titles."""

    def __call__(self, _: str, /) -> str:
        return ""

    def work(self, _: int) -> None:
        """Not counted: titles are short."""

    def may_evaluate(self) -> bool:
        return True

    def count(self, tokens: int, *, is_new: bool) -> None:
        """Not counted, like work."""


class TaskRun:
    """A task of a play; ``run`` returns the hosts that continue."""

    def __init__(self, state: RunState, play: Play, task: Task) -> None:
        self._state = state
        self._play = play
        self._task = task
        self._delegate = task.inherited.delegate_to
        self._lines: list[str] = []

    def run(self, hosts: Sequence[str], kind: str = "TASK") -> Steps:
        """Results are determined at the end of the task's duration: hosts that went down by then are unreachable."""
        state, task = self._state, self._task
        state.task_number += 1
        print_banner(state, self._play, task, hosts[0], kind)
        participants = list(hosts[:1]) if task.inherited.run_once else list(hosts)
        state.meter.count_results(len(participants))
        seconds = yield from self._seconds(participants)
        state.timeline.now += seconds
        yield
        execution = TaskExecution(state, self._play, task, seconds)
        waited, effort = 0.0, len(self._play.roles) // _FEW_ROLES
        failed: set[str] = set()
        for host in participants:
            if effort:
                state.meter.work(effort)
            if state.meter.turn_is_over:
                yield
            if self._is_unreachable(host):
                self._record_unreachable(host)
                continue
            result = yield from execution.run(host)
            waited = max(waited, self._wait(result))
            if not self._record_result(host, result):
                failed.add(host)
        if waited:
            state.timeline.now += waited
            yield
        state.timeline.print(self._lines)
        return self._remaining_hosts(hosts, failed)

    def _seconds(self, participants: Sequence[str]) -> Generator[None, None, float]:
        remote = self._connects() and (yield from self._runs_on_any_host(participants))
        span = REMOTE if remote else LOCAL
        return span[0] + (span[1] - span[0]) * self._state.inputs.random(self._state.task_number)

    def _runs_on_any_host(self, participants: Sequence[str]) -> Generator[None, None, bool]:
        """Whether the task runs on any host, as far as that is known before its loop is evaluated."""
        for host in participants:
            if self._state.meter.turn_is_over:
                yield
            if self._may_run(host):
                return True
        return False

    def _may_run(self, host: str) -> bool:
        if self._task.loop is not NO_LOOP or not self._task.inherited.when:
            return True
        execution = TaskExecution(self._state, self._play, self._task, 0.0)
        return execution.conditions_hold(self._state.scope(self._play, self._task, host))

    def _connects(self) -> bool:
        return self._task.module not in modules.ON_CONTROLLER and self._delegate != _CONTROLLER

    def _is_unreachable(self, host: str) -> bool:
        down_since = self._state.inputs.down_since.get(host)
        if down_since is None or not self._connects() or down_since >= self._state.timeline.now:
            return False
        return self._may_run(host)

    def _record_unreachable(self, host: str) -> None:
        self._state.counts_of(host).unreachable += 1
        self._state.unreachable.add(host)
        self._lines.append(unreachable_line(host))

    def _wait(self, result: HostResult) -> float:
        if not result.retries:
            return 0.0
        title = render_to_text(self._task.name or self._task.module, _NoVariables())
        countdown = range(result.retries, 0, -1)
        self._lines += [f"FAILED - RETRYING: {title} ({count} retries left)." for count in countdown]
        delay = self._task.keywords.get("delay", 5)
        return result.retries * (min(float(delay), MAX_DELAY) if isinstance(delay, int | float) else 5.0)

    def _record_result(self, host: str, result: HostResult) -> bool:
        """Count and print the result; return whether the host continues."""
        counts = self._state.counts_of(host)
        if result.items is not None:
            self._print_items(host, result)
        if result.failed:
            return self._record_failure(host, result)
        if result.skipped:
            counts.skipped += 1
            self._print(SHOW_SKIPPED, "skipping", host, result.fields)
            return True
        counts.ok += 1
        self._store_facts(host, result.fields)
        if result.fields["changed"]:
            counts.changed += 1
            self._notify(host)
        if result.items is None:
            changed = result.fields["changed"]
            self._print(SHOW_OK or changed, "changed" if changed else "ok", host, result.fields)
        return True

    def _record_failure(self, host: str, result: HostResult) -> bool:
        counts = self._state.counts_of(host)
        if result.items is None:
            self._lines.append(f"fatal: [{self._label(host)}]: FAILED! => {self._dump(result.fields)}")
        if holds(self._task.inherited.ignore_errors, self._state.scope(self._play, self._task, host), unknown=False):
            self._lines.append("...ignoring")
            counts.ok += 1
            counts.ignored += 1
            counts.changed += bool(result.fields["changed"])
            return True
        if self._state.rescue_depth:
            counts.rescued += 1
        else:
            counts.failed += 1
        return False

    def _print_items(self, host: str, result: HostResult) -> None:
        for item_label, fields in result.items or ():
            if fields.get("failed"):
                self._lines.append(f"failed: [{self._label(host)}] (item={item_label}) => {self._dump(fields)}")
            elif fields.get("skipped"):
                self._lines += [f"skipping: [{self._label(host)}] => (item={item_label}) "] if SHOW_SKIPPED else []
            elif SHOW_OK or fields["changed"]:
                word = "changed" if fields["changed"] else "ok"
                details = f" => {self._dump(fields)}" if self._verbose() else ""
                self._lines.append(f"{word}: [{self._label(host)}] => (item={item_label}){details}")

    def _print(self, visible: object, word: str, host: str, fields: Fields) -> None:
        if visible:
            silent = word == "skipping" and not self._state.inputs.options.verbosity
            details = f" => {self._dump(fields)}" if self._verbose() and not silent else ""
            self._lines.append(f"{word}: [{self._label(host)}]{details}")

    def _verbose(self) -> bool:
        inputs, module = self._state.inputs, self._task.module
        if module in ("setup", "gather_facts"):
            return False
        verbose = inputs.options.verbosity > 0 or module == "debug"
        return verbose or (inputs.show_commands and module in modules.COMMANDS)

    def _dump(self, fields: Fields) -> str:
        if self._task.keywords.get("no_log") is True:
            return dump({"censored": CENSORED, "changed": fields["changed"]})
        text = dump(fields, multi_line=self._task.module == "debug")
        self._state.meter.count_results(len(text) // CHARACTERS_PER_RESULT)
        return text

    def _label(self, host: str) -> str:
        return f"{host} -> {self._delegate}" if self._delegate else host

    def _store_facts(self, host: str, fields: Fields) -> None:
        facts, module = fields.get("ansible_facts"), self._task.module
        if module == "set_fact" and isinstance(facts, dict):
            self._state.host_variables[host].update(facts)
        elif module in ("setup", "gather_facts") and isinstance(facts, dict):
            own = {key.removeprefix("ansible_"): value for key, value in facts.items()}
            self._state.facts[host] = {**facts, "ansible_facts": own}

    def _notify(self, host: str) -> None:
        for name in as_tuple(self._task.keywords.get("notify")):
            self._state.notified.setdefault(str(name), set()).add(host)

    def _remaining_hosts(self, hosts: Sequence[str], failed: set[str]) -> list[str]:
        fatal = self._task.inherited.any_errors_fatal or self._task.inherited.run_once
        if fatal and (failed or any(host in self._state.unreachable for host in hosts)):
            self._state.aborted = not self._state.rescue_depth
            return []
        return [host for host in hosts if host not in failed and host not in self._state.unreachable]


def print_banner(state: RunState, play: Play, task: Task, host: str, kind: str) -> None:
    lines = banner(f"{kind} [{render_to_text(task.title, state.scope(play, task, host))}]")
    if state.inputs.options.verbosity > 1:
        lines.append(f"task path: {task.place.path}:{task.place.line}")
    state.meter.count_results(sum(map(len, lines)) // CHARACTERS_PER_RESULT)
    state.timeline.print(lines)
