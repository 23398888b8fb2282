"""One task over all its hosts, in step, and the lines that come of it."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from csm_emulator.services.cfs.ansible.display import CENSORED, banner, dump, unreachable_line
from csm_emulator.services.cfs.ansible.jinja.templates import holds, show
from csm_emulator.services.cfs.ansible.modules import modules
from csm_emulator.services.cfs.ansible.modules.results import Fields
from csm_emulator.services.cfs.ansible.playbooks.plays import NO_LOOP, Play, Task, as_tuple
from csm_emulator.services.cfs.ansible.run_state import Stand, Steps
from csm_emulator.services.cfs.ansible.tasks.attempts import LONGEST_DELAY, Attempts, Report

SHOW_OK = SHOW_SKIPPED = True
"""``display_ok_hosts`` and ``display_skipped_hosts`` of ansible.cfg."""
REMOTE, LOCAL = (4.0, 24.0), (0.05, 0.4)
"""Seconds that a task takes on hosts and on the controller."""
_NO_HOST = "localhost"
LONG_TEXT = 256
"""Signs of the log that weigh as much as a result."""
_FEW_ROLES = 20


class _Blank:
    """No variable has a value."""

    def __call__(self, _: str, /) -> str:
        return ""

    def work(self, _: int) -> None:
        """Only titles are filled with it."""

    def may_evaluate(self) -> bool:
        return True

    def count(self, tokens: int, *, is_new: bool) -> None:
        """As work."""


class TaskRunning:
    """``run`` comes back with the hosts that go on."""

    def __init__(self, stand: Stand, play: Play, task: Task) -> None:
        self._stand = stand
        self._play = play
        self._task = task
        self._delegate = task.manner.delegate_to
        self._lines: list[str] = []

    def run(self, hosts: Sequence[str], kind: str = "TASK") -> Steps:
        """Results are found at the end of the task's time: who has fallen by then is out of reach."""
        stand, task = self._stand, self._task
        stand.number += 1
        print_banner(stand, self._play, task, hosts[0], kind)
        chosen = list(hosts[:1]) if task.manner.run_once else list(hosts)
        stand.meter.hold(len(chosen))
        seconds = yield from self._seconds(chosen)
        stand.timeline.now += seconds
        yield
        attempts = Attempts(stand, self._play, task, seconds)
        waited, effort = 0.0, len(self._play.roles) // _FEW_ROLES
        lost: set[str] = set()
        for host in chosen:
            if effort:
                stand.meter.work(effort)
            if stand.meter.is_tired:
                yield
            if self._out_of_reach(host):
                self._unreachable(host)
                continue
            report = yield from attempts.report(host)
            waited = max(waited, self._wait(report))
            if not self._tell(host, report):
                lost.add(host)
        if waited:
            stand.timeline.now += waited
            yield
        stand.timeline.print(self._lines)
        return self._going_on(hosts, lost)

    def _seconds(self, chosen: Sequence[str]) -> Generator[None, None, float]:
        remote = self._connects() and (yield from self._anybody(chosen))
        span = REMOTE if remote else LOCAL
        return span[0] + (span[1] - span[0]) * self._stand.setting.roll(self._stand.number)

    def _anybody(self, chosen: Sequence[str]) -> Generator[None, None, bool]:
        """Whether the task runs anywhere, as far as can be said before its items are known."""
        for host in chosen:
            if self._stand.meter.is_tired:
                yield
            if self._may_run(host):
                return True
        return False

    def _may_run(self, host: str) -> bool:
        if self._task.loop is not NO_LOOP or not self._task.manner.when:
            return True
        attempts = Attempts(self._stand, self._play, self._task, 0.0)
        return attempts.wanted(self._stand.scope(self._play, self._task, host))

    def _connects(self) -> bool:
        return self._task.module not in modules.ON_CONTROLLER and self._delegate != _NO_HOST

    def _out_of_reach(self, host: str) -> bool:
        fell = self._stand.setting.fell.get(host)
        if fell is None or not self._connects() or fell >= self._stand.timeline.now:
            return False
        return self._may_run(host)

    def _unreachable(self, host: str) -> None:
        self._stand.tally(host).unreachable += 1
        self._stand.dark.add(host)
        self._lines.append(unreachable_line(host))

    def _wait(self, report: Report) -> float:
        if not report.retries:
            return 0.0
        title = show(self._task.name or self._task.module, _Blank())
        left = range(report.retries, 0, -1)
        self._lines += [f"FAILED - RETRYING: {title} ({count} retries left)." for count in left]
        delay = self._task.words.get("delay", 5)
        return report.retries * (min(float(delay), LONGEST_DELAY) if isinstance(delay, int | float) else 5.0)

    def _tell(self, host: str, report: Report) -> bool:
        """Count and print; whether the host goes on."""
        tally = self._stand.tally(host)
        if report.items is not None:
            self._print_items(host, report)
        if report.failed:
            return self._tell_failure(host, report)
        if report.skipped:
            tally.skipped += 1
            self._print(SHOW_SKIPPED, "skipping", host, report.fields)
            return True
        tally.ok += 1
        self._take_over(host, report.fields)
        if report.fields["changed"]:
            tally.changed += 1
            self._notify(host)
        if report.items is None:
            changed = report.fields["changed"]
            self._print(SHOW_OK or changed, "changed" if changed else "ok", host, report.fields)
        return True

    def _tell_failure(self, host: str, report: Report) -> bool:
        tally = self._stand.tally(host)
        if report.items is None:
            self._lines.append(f"fatal: [{self._label(host)}]: FAILED! => {self._dump(report.fields)}")
        if holds(self._task.manner.ignore_errors, self._stand.scope(self._play, self._task, host), unknown=False):
            self._lines.append("...ignoring")
            tally.ok += 1
            tally.ignored += 1
            tally.changed += bool(report.fields["changed"])
            return True
        if self._stand.rescuable:
            tally.rescued += 1
        else:
            tally.failed += 1
        return False

    def _print_items(self, host: str, report: Report) -> None:
        for shown, fields in report.items or ():
            if fields.get("failed"):
                self._lines.append(f"failed: [{self._label(host)}] (item={shown}) => {self._dump(fields)}")
            elif fields.get("skipped"):
                self._lines += [f"skipping: [{self._label(host)}] => (item={shown}) "] if SHOW_SKIPPED else []
            elif SHOW_OK or fields["changed"]:
                word = "changed" if fields["changed"] else "ok"
                told = f" => {self._dump(fields)}" if self._verbose() else ""
                self._lines.append(f"{word}: [{self._label(host)}] => (item={shown}){told}")

    def _print(self, shown: object, word: str, host: str, fields: Fields) -> None:
        if shown:
            silent = word == "skipping" and not self._stand.setting.options.verbosity
            told = f" => {self._dump(fields)}" if self._verbose() and not silent else ""
            self._lines.append(f"{word}: [{self._label(host)}]{told}")

    def _verbose(self) -> bool:
        setting, module = self._stand.setting, self._task.module
        if module in ("setup", "gather_facts"):
            return False
        shown = setting.options.verbosity > 0 or module == "debug"
        return shown or (setting.show_commands and module in modules.COMMANDS)

    def _dump(self, fields: Fields) -> str:
        if self._task.words.get("no_log") is True:
            return dump({"censored": CENSORED, "changed": fields["changed"]})
        text = dump(fields, tall=self._task.module == "debug")
        self._stand.meter.hold(len(text) // LONG_TEXT)
        return text

    def _label(self, host: str) -> str:
        return f"{host} -> {self._delegate}" if self._delegate else host

    def _take_over(self, host: str, fields: Fields) -> None:
        facts, module = fields.get("ansible_facts"), self._task.module
        if module == "set_fact" and isinstance(facts, dict):
            self._stand.held[host].update(facts)
        elif module in ("setup", "gather_facts") and isinstance(facts, dict):
            own = {key.removeprefix("ansible_"): value for key, value in facts.items()}
            self._stand.facts[host] = {**facts, "ansible_facts": own}

    def _notify(self, host: str) -> None:
        for name in as_tuple(self._task.words.get("notify")):
            self._stand.notified.setdefault(str(name), set()).add(host)

    def _going_on(self, hosts: Sequence[str], lost: set[str]) -> list[str]:
        fatal = self._task.manner.any_errors_fatal or self._task.manner.run_once
        if fatal and (lost or any(host in self._stand.dark for host in hosts)):
            self._stand.broke = not self._stand.rescuable
            return []
        return [host for host in hosts if host not in lost and host not in self._stand.dark]


def print_banner(stand: Stand, play: Play, task: Task, host: str, kind: str) -> None:
    lines = banner(f"{kind} [{show(task.title, stand.scope(play, task, host))}]")
    if stand.setting.options.verbosity > 1:
        lines.append(f"task path: {task.place.path}:{task.place.line}")
    stand.meter.hold(sum(map(len, lines)) // LONG_TEXT)
    stand.timeline.print(lines)
