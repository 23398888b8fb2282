"""Follows a playbook: plays, blocks, includes and handlers, with all hosts in step as the linear strategy does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from canton.emulator.faces.cfs.runs.ansible.attempts import Attempts
from canton.emulator.faces.cfs.runs.ansible.course import Course, OutOfMemory, Setting, Stand
from canton.emulator.faces.cfs.runs.ansible.display import banner, recap
from canton.emulator.faces.cfs.runs.ansible.hosts import choose
from canton.emulator.faces.cfs.runs.ansible.including import including
from canton.emulator.faces.cfs.runs.ansible.loading import Place
from canton.emulator.faces.cfs.runs.ansible.modules import INCLUDES
from canton.emulator.faces.cfs.runs.ansible.plays import Block, Entry, Manner, Play, Task, as_tuple
from canton.emulator.faces.cfs.runs.ansible.task_running import TaskRunning

STARTUP = (3.0, 8.0)
"""Seconds before the first play: Python starts, plugins load, the inventory is read."""
FAILED_HOSTS, UNREACHABLE_HOSTS, BROKEN_PLAY, NO_HOSTS, KILLED = 2, 4, 8, 1, 137
_FACTS = Task("Gathering Facts", "setup", {}, Manner(), Place("", 0, 0, ""), "")


def follow(setting: Setting) -> Course:
    """The whole run, told in advance."""
    return _Run(setting).course()


class _Run:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._stand = Stand(setting)
        self._play: Play = Play("", "", {}, {}, (), (), ())

    def course(self) -> Course:
        stand = self._stand
        stand.timeline.now = STARTUP[0] + (STARTUP[1] - STARTUP[0]) * self._setting.roll(0)
        limited = self._limited()
        if limited is None:
            return Course(stand.timeline, {}, NO_HOSTS)
        try:
            self._run_plays(limited)
        except OutOfMemory:
            return Course(stand.timeline, {}, KILLED)
        stand.timeline.print(recap(stand.tallies))
        return Course(stand.timeline, stand.tallies, self._code(), stand.broke, list(stand.commands))

    def _run_plays(self, limited: set[str]) -> None:
        for play in self._setting.plays:
            if not self._run_play(play, limited):
                break

    def _limited(self) -> set[str] | None:
        """The hosts that any play may take; None when the limit leaves nobody."""
        options, inventory = self._setting.options, self._setting.inventory
        if options.verbosity:
            self._stand.timeline.print(["Using /etc/ansible/ansible.cfg as config file"])
        hosts, unmatched = choose(inventory, options.limit or "all")
        if unmatched:
            said = f"Could not match supplied host pattern, ignoring: {', '.join(unmatched)}"
            self._stand.timeline.print([f"[WARNING]: {said}"])
        if options.limit and not hosts:
            self._stand.timeline.print(["ERROR! Specified hosts and/or --limit does not match any hosts"])
            return None
        return set(hosts)

    def _code(self) -> int:
        tallies = self._stand.tallies.values()
        failed = FAILED_HOSTS if any(tally.failed for tally in tallies) else 0
        dark = UNREACHABLE_HOSTS if any(tally.unreachable for tally in tallies) else 0
        return failed | dark | (BROKEN_PLAY if self._stand.broke else 0)

    def _run_play(self, play: Play, limited: set[str]) -> bool:
        """Whether there is anybody left for the next one."""
        stand = self._stand
        self._play = play
        stand.timeline.print(banner(f"PLAY [{play.name}]"))
        matched, unmatched = choose(self._setting.inventory, play.hosts)
        hosts = [host for host in matched if host in limited and host not in stand.dark and host not in stand.failed]
        if not [host for host in matched if host in limited]:
            warned = [f"[WARNING]: Could not match supplied host pattern, ignoring: {name}" for name in unmatched]
            stand.timeline.print([*warned, "skipping: no hosts matched"])
            return True
        stand.ended, stand.notified = set(), {}
        for batch in _batches(hosts, play.words.get("serial")):
            going = self._stages(batch)
            stand.failed |= {host for host in batch if host not in going and host not in stand.ended}
            if stand.broke or not set(batch) - stand.failed:
                break
        left = [host for host in hosts if host not in stand.failed and host not in stand.dark]
        if stand.broke or not left:
            stand.timeline.print(banner("NO MORE HOSTS LEFT"))
            return False
        return True

    def _stages(self, hosts: list[str]) -> list[str]:
        going = self._gather(hosts)
        for stage in self._play.stages:
            going = self._flush(self._run_all(stage, going))
        return going

    def _gather(self, hosts: list[str]) -> list[str]:
        """``gathering = smart``: whoever told before is not asked again."""
        wanted = self._play.words.get("gather_facts")
        new = [host for host in hosts if host not in self._stand.facts]
        if wanted is False or not new:
            return hosts
        told = TaskRunning(self._stand, self._play, _FACTS).run(new)
        return [host for host in hosts if host in told or host not in new]

    def _run_all(self, entries: Sequence[Entry], hosts: list[str]) -> list[str]:
        going = hosts
        for entry in entries:
            going = [host for host in going if host not in self._stand.ended]
            if not going:
                break
            going = self._run_block(entry, going) if isinstance(entry, Block) else self._run_task(entry, going)
        return going + [host for host in hosts if host in self._stand.ended and host not in going]

    def _run_block(self, block: Block, hosts: list[str]) -> list[str]:
        stand = self._stand
        stand.rescuable += bool(block.rescue)
        going = self._run_all(block.body, hosts)
        stand.rescuable -= bool(block.rescue)
        lost = [host for host in hosts if host not in going and host not in stand.dark]
        if lost and block.rescue:
            saved = self._run_all(block.rescue, lost)
            going = [host for host in hosts if host in going or host in saved]
        if block.always:
            through = self._run_all(block.always, [host for host in hosts if host not in stand.dark])
            going = [host for host in going if host in through]
        return going

    def _run_task(self, task: Task, hosts: list[str]) -> list[str]:
        if not _tagged(task, self._setting):
            return hosts
        if task.module == "meta":
            return self._meta(task, hosts)
        if task.module in INCLUDES:
            return self._include(task, hosts)
        return TaskRunning(self._stand, self._play, task).run(hosts)

    def _include(self, task: Task, hosts: list[str]) -> list[str]:
        going = hosts
        for entries, taken in including(self._stand, self._play, task, hosts):
            self._stand.depth += 1
            through = self._run_all(entries, [host for host in taken if host in going]) if entries is not None else []
            self._stand.depth -= 1
            going = [host for host in going if host not in taken or host in through]
        return going

    def _meta(self, task: Task, hosts: list[str]) -> list[str]:
        said = task.args if isinstance(task.args, str) else ""
        attempts = Attempts(self._stand, self._play, task, 0.0)
        meant = [host for host in hosts if attempts.wanted(self._stand.scope(self._play, task, host))]
        if said == "flush_handlers":
            return self._flush(hosts)
        if said == "end_play" and meant:
            self._stand.ended |= set(hosts)
        elif said == "end_host":
            self._stand.ended |= set(meant)
        elif said == "clear_facts":
            for host in meant:
                self._stand.facts.pop(host, None)
        return hosts

    def _flush(self, hosts: list[str]) -> list[str]:
        """In the order of the handlers, each once; a handler may notify a later one."""
        going, stand = hosts, self._stand
        for handler in self._play.handlers:
            names = {handler.name, handler.title, *map(str, as_tuple(handler.words.get("listen")))}
            notified = {host for name in names for host in stand.notified.get(name, ())}
            meant = [host for host in going if host in notified and host not in stand.ended]
            if meant:
                through = TaskRunning(stand, self._play, handler).run(meant, "RUNNING HANDLER")
                going = [host for host in going if host not in meant or host in through]
        stand.notified = {}
        return going


def _tagged(task: Task, setting: Setting) -> bool:
    """Whether ``--tags`` and ``--skip-tags`` leave the task in."""
    tags, options = task.manner.tags, setting.options
    if tags & options.skip_tags:
        return False
    if not options.tags or "all" in options.tags:
        return "never" not in tags or bool(tags & options.tags)
    return bool(tags & options.tags) or "always" in tags or ("tagged" in options.tags and bool(tags))


def _batches(hosts: list[str], serial: Any) -> list[list[str]]:
    size = serial if isinstance(serial, int) and serial > 0 else len(hosts)
    if isinstance(serial, str) and serial.endswith("%") and serial[:-1].isdigit():
        size = max(1, len(hosts) * int(serial[:-1]) // 100)
    return [hosts[start : start + size] for start in range(0, len(hosts), size)] if hosts else [[]]
