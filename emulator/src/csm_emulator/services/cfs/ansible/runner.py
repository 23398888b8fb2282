"""Follows a playbook: plays, blocks, includes and handlers, with all hosts in step as the linear strategy does."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from csm_emulator.services.cfs.ansible.display import Timeline, banner, recap
from csm_emulator.services.cfs.ansible.hosts import choose
from csm_emulator.services.cfs.ansible.limits import Meter, TooMuch
from csm_emulator.services.cfs.ansible.modules.modules import INCLUDES
from csm_emulator.services.cfs.ansible.playbooks.plays import Block, Entry, Manner, Play, Task, as_tuple
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import Place
from csm_emulator.services.cfs.ansible.run_state import Course, Following, Setting, Stand, Steps
from csm_emulator.services.cfs.ansible.tasks.attempts import Attempts
from csm_emulator.services.cfs.ansible.tasks.includes import including
from csm_emulator.services.cfs.ansible.tasks.runner import TaskRunning

INCLUDING = 0.05
STARTUP = (3.0, 8.0)
"""Seconds before the first play: Python starts, plugins load, the inventory is read."""
_CHEAP, _CHEAP_HANDLERS = 100, 4
"""How many hosts, and handlers, are looked at with one unit of work."""
FAILED_HOSTS, UNREACHABLE_HOSTS, BROKEN_PLAY, NO_HOSTS, KILLED = 2, 4, 8, 1, 137
_FACTS = Task("Gathering Facts", "setup", {}, Manner(), Place("", 0, 0, ""), "")


def begin(setting: Setting) -> Following:
    run = _Run(setting)
    return Following(run.timeline, run.course(), setting.fell, run.meter)


def follow(setting: Setting) -> Course:
    """The whole run, told in advance."""
    following = begin(setting)
    while not following.go_until(float("inf")):
        pass
    assert following.course is not None  # noqa: S101 (time has no end)
    return following.course


class _Run:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._stand = Stand(setting)
        self._play: Play = Play("", "", {}, {}, (), (), ())

    @property
    def timeline(self) -> Timeline:
        return self._stand.timeline

    @property
    def meter(self) -> Meter:
        return self._stand.meter

    def course(self) -> Generator[None, None, Course]:
        stand = self._stand
        stand.timeline.now = STARTUP[0] + (STARTUP[1] - STARTUP[0]) * self._setting.roll(0)
        yield
        limited = self._limited()
        if limited is None:
            return Course(stand.timeline, {}, NO_HOSTS)
        try:
            yield from self._run_plays(limited)
        except TooMuch as error:
            stand.timeline.print([f"ERROR! {error}"])
            return Course(stand.timeline, {}, KILLED)
        stand.timeline.print(recap(stand.tallies))
        return Course(stand.timeline, stand.tallies, self._code(), stand.broke, list(stand.commands))

    def _run_plays(self, limited: set[str]) -> Generator[None, None, None]:
        for play in self._setting.plays:
            self.meter.work(1 + len(self._setting.inventory.hosts) // _CHEAP)
            yield
            if not (yield from self._run_play(play, limited)):
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

    def _run_play(self, play: Play, limited: set[str]) -> Generator[None, None, bool]:
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
            going = set((yield from self._stages(batch)))
            stand.failed |= {host for host in batch if host not in going and host not in stand.ended}
            if stand.broke or not set(batch) - stand.failed:
                break
        left = [host for host in hosts if host not in stand.failed and host not in stand.dark]
        if stand.broke or not left:
            stand.timeline.print(banner("NO MORE HOSTS LEFT"))
            return False
        return True

    def _stages(self, hosts: list[str]) -> Steps:
        going = yield from self._gather(hosts)
        for stage in self._play.stages:
            going = yield from self._run_all(stage, going)
            going = yield from self._flush(going)
        return going

    def _gather(self, hosts: list[str]) -> Steps:
        """``gathering = smart``: whoever told before is not asked again."""
        wanted = self._play.words.get("gather_facts")
        new = [host for host in hosts if host not in self._stand.facts]
        if wanted is False or not new:
            return hosts
        told = yield from TaskRunning(self._stand, self._play, _FACTS).run(new)
        return _without(hosts, new, told)

    def _run_all(self, entries: Sequence[Entry], hosts: list[str]) -> Steps:
        going, ended = hosts, self._stand.ended
        for entry in entries:
            self.meter.work(len(going) // _CHEAP)
            if self.meter.is_tired:
                yield
            going = [host for host in going if host not in ended]
            if not going:
                break
            step = self._run_block(entry, going) if isinstance(entry, Block) else self._run_task(entry, going)
            going = yield from step
        there = set(going)
        return going + [host for host in hosts if host in ended and host not in there]

    def _run_block(self, block: Block, hosts: list[str]) -> Steps:
        stand = self._stand
        stand.rescuable += bool(block.rescue)
        going = set((yield from self._run_all(block.body, hosts)))
        stand.rescuable -= bool(block.rescue)
        lost = [host for host in hosts if host not in going and host not in stand.dark]
        if lost and block.rescue:
            going |= set((yield from self._run_all(block.rescue, lost)))
        if block.always:
            going &= set((yield from self._run_all(block.always, [host for host in hosts if host not in stand.dark])))
        return [host for host in hosts if host in going]

    def _run_task(self, task: Task, hosts: list[str]) -> Steps:
        if not _tagged(task, self._setting):
            return hosts
        if task.module == "meta":
            return (yield from self._meta(task, hosts))
        if task.module in INCLUDES:
            return (yield from self._include(task, hosts))
        return (yield from TaskRunning(self._stand, self._play, task).run(hosts))

    def _include(self, task: Task, hosts: list[str]) -> Steps:
        going = hosts
        self._stand.timeline.now += INCLUDING
        yield
        for entries, taken in including(self._stand, self._play, task, hosts):
            self._stand.depth += 1
            there = set(going)
            meant = [host for host in taken if host in there]
            through = (yield from self._run_all(entries, meant)) if entries is not None else []
            self._stand.depth -= 1
            going = _without(going, taken, through)
            yield
        return going

    def _meta(self, task: Task, hosts: list[str]) -> Steps:
        said = task.args if isinstance(task.args, str) else ""
        attempts = Attempts(self._stand, self._play, task, 0.0)
        meant: list[str] = []
        for host in hosts:
            self.meter.work(1)
            if self.meter.is_tired:
                yield
            if attempts.wanted(self._stand.scope(self._play, task, host)):
                meant.append(host)
        if said == "flush_handlers":
            return (yield from self._flush(hosts))
        if said == "end_play" and meant:
            self._stand.ended |= set(hosts)
        elif said == "end_host":
            self._stand.ended |= set(meant)
        elif said == "clear_facts":
            for host in meant:
                self._stand.facts.pop(host, None)
        return hosts

    def _flush(self, hosts: list[str]) -> Steps:
        """In the order of the handlers, each once; a handler may notify a later one."""
        going, stand = hosts, self._stand
        self.meter.work(len(self._play.handlers) // _CHEAP_HANDLERS)
        for handler in self._play.handlers:
            names = {handler.name, handler.title, *map(str, as_tuple(handler.words.get("listen")))}
            notified = {host for name in names for host in stand.notified.get(name, ())}
            meant = [host for host in going if host in notified and host not in stand.ended]
            if meant:
                through = yield from TaskRunning(stand, self._play, handler).run(meant, "RUNNING HANDLER")
                going = _without(going, meant, through)
        stand.notified = {}
        return going


def _without(hosts: list[str], taken: Sequence[str], through: Sequence[str]) -> list[str]:
    """Those of whom nothing was wanted, and those who came through it."""
    out = set(taken) - set(through)
    return [host for host in hosts if host not in out]


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
