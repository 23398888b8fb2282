"""Runs a playbook: plays, blocks, includes and handlers, one task at a time on all hosts (the linear strategy)."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from csm_emulator.services.cfs.ansible.display import Timeline, banner, recap
from csm_emulator.services.cfs.ansible.hosts import match_hosts
from csm_emulator.services.cfs.ansible.limits import LimitExceeded, WorkMeter
from csm_emulator.services.cfs.ansible.modules.modules import INCLUDES
from csm_emulator.services.cfs.ansible.playbooks.plays import Block, Entry, InheritedKeywords, Play, Task, as_tuple
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import Place
from csm_emulator.services.cfs.ansible.run_state import PlaybookRun, RunInputs, RunResult, RunState, Steps
from csm_emulator.services.cfs.ansible.tasks.execution import TaskExecution
from csm_emulator.services.cfs.ansible.tasks.includes import resolve_includes
from csm_emulator.services.cfs.ansible.tasks.runner import TaskRun
from csm_emulator.services.cfs.ansible.values import Value

INCLUDE_SECONDS = 0.05
STARTUP = (3.0, 8.0)
"""Seconds before the first play, in which Python starts, plugins load and the inventory is read."""
_HOSTS_PER_UNIT, _HANDLERS_PER_UNIT = 100, 4
"""Hosts, and handlers, that are checked with one unit of work."""
FAILED_HOSTS, UNREACHABLE_HOSTS, ABORTED_PLAY, NO_HOSTS, KILLED = 2, 4, 8, 1, 137
_FACTS = Task("Gathering Facts", "setup", {}, InheritedKeywords(), Place("", 0, 0, ""), "")


def start_run(inputs: RunInputs) -> PlaybookRun:
    run = _Run(inputs)
    return PlaybookRun(run.timeline, run.result(), inputs.down_since, run.meter)


def run_to_end(inputs: RunInputs) -> RunResult:
    """The result of the whole run, computed at once."""
    run = start_run(inputs)
    while not run.go_until(float("inf")):
        pass
    assert run.result is not None  # noqa: S101 (time has no end)
    return run.result


class _Run:
    def __init__(self, inputs: RunInputs) -> None:
        self._inputs = inputs
        self._state = RunState(inputs)
        self._play: Play = Play("", "", {}, {}, (), (), ())

    @property
    def timeline(self) -> Timeline:
        return self._state.timeline

    @property
    def meter(self) -> WorkMeter:
        return self._state.meter

    def result(self) -> Generator[None, None, RunResult]:
        state = self._state
        state.timeline.now = STARTUP[0] + (STARTUP[1] - STARTUP[0]) * self._inputs.random(0)
        yield
        limited = self._limit_hosts()
        if limited is None:
            return RunResult(state.timeline, {}, NO_HOSTS)
        try:
            yield from self._run_plays(limited)
        except LimitExceeded as error:
            state.timeline.print([f"ERROR! {error}"])
            return RunResult(state.timeline, {}, KILLED)
        state.timeline.print(recap(state.recap_counts))
        return RunResult(state.timeline, state.recap_counts, self._code(), state.aborted, list(state.commands))

    def _run_plays(self, limited: set[str]) -> Generator[None, None, None]:
        for play in self._inputs.plays:
            self.meter.work(1 + len(self._inputs.inventory.hosts) // _HOSTS_PER_UNIT)
            yield
            if not (yield from self._run_play(play, limited)):
                break

    def _limit_hosts(self) -> set[str] | None:
        """The hosts that plays may use; None when the limit matches no host."""
        options, inventory = self._inputs.options, self._inputs.inventory
        if options.verbosity:
            self._state.timeline.print(["Using /etc/ansible/ansible.cfg as config file"])
        hosts, unmatched = match_hosts(inventory, options.limit or "all")
        if unmatched:
            patterns = f"Could not match supplied host pattern, ignoring: {', '.join(unmatched)}"
            self._state.timeline.print([f"[WARNING]: {patterns}"])
        if options.limit and not hosts:
            self._state.timeline.print(["ERROR! Specified hosts and/or --limit does not match any hosts"])
            return None
        return set(hosts)

    def _code(self) -> int:
        all_counts = self._state.recap_counts.values()
        failed = FAILED_HOSTS if any(counts.failed for counts in all_counts) else 0
        unreachable = UNREACHABLE_HOSTS if any(counts.unreachable for counts in all_counts) else 0
        return failed | unreachable | (ABORTED_PLAY if self._state.aborted else 0)

    def _run_play(self, play: Play, limited: set[str]) -> Generator[None, None, bool]:
        """Run one play; return whether hosts are left for the next one."""
        state = self._state
        self._play = play
        state.timeline.print(banner(f"PLAY [{play.name}]"))
        matched, unmatched = match_hosts(self._inputs.inventory, play.hosts)
        hosts = [
            host
            for host in matched
            if host in limited and host not in state.unreachable and host not in state.failed_hosts
        ]
        if not [host for host in matched if host in limited]:
            warned = [f"[WARNING]: Could not match supplied host pattern, ignoring: {name}" for name in unmatched]
            state.timeline.print([*warned, "skipping: no hosts matched"])
            return True
        state.ended_hosts, state.notified = set(), {}
        for batch in _batches(hosts, play.keywords.get("serial")):
            active = set((yield from self._stages(batch)))
            state.failed_hosts |= {host for host in batch if host not in active and host not in state.ended_hosts}
            if state.aborted or not set(batch) - state.failed_hosts:
                break
        remaining = [host for host in hosts if host not in state.failed_hosts and host not in state.unreachable]
        if state.aborted or not remaining:
            state.timeline.print(banner("NO MORE HOSTS LEFT"))
            return False
        return True

    def _stages(self, hosts: list[str]) -> Steps:
        active = yield from self._gather(hosts)
        for stage in self._play.stages:
            active = yield from self._run_all(stage, active)
            active = yield from self._run_handlers(active)
        return active

    def _gather(self, hosts: list[str]) -> Steps:
        """Gather facts (``gathering = smart``: not again from hosts that have facts)."""
        gather_facts = self._play.keywords.get("gather_facts")
        new = [host for host in hosts if host not in self._state.facts]
        if gather_facts is False or not new:
            return hosts
        succeeded = yield from TaskRun(self._state, self._play, _FACTS).run(new)
        return _without(hosts, new, succeeded)

    def _run_all(self, entries: Sequence[Entry], hosts: list[str]) -> Steps:
        active, ended = hosts, self._state.ended_hosts
        for entry in entries:
            self.meter.work(len(active) // _HOSTS_PER_UNIT)
            if self.meter.turn_is_over:
                yield
            active = [host for host in active if host not in ended]
            if not active:
                break
            step = self._run_block(entry, active) if isinstance(entry, Block) else self._run_task(entry, active)
            active = yield from step
        active_set = set(active)
        return active + [host for host in hosts if host in ended and host not in active_set]

    def _run_block(self, block: Block, hosts: list[str]) -> Steps:
        state = self._state
        state.rescue_depth += bool(block.rescue)
        active = set((yield from self._run_all(block.body, hosts)))
        state.rescue_depth -= bool(block.rescue)
        to_rescue = [host for host in hosts if host not in active and host not in state.unreachable]
        if to_rescue and block.rescue:
            active |= set((yield from self._run_all(block.rescue, to_rescue)))
        if block.always:
            active &= set(
                (yield from self._run_all(block.always, [host for host in hosts if host not in state.unreachable]))
            )
        return [host for host in hosts if host in active]

    def _run_task(self, task: Task, hosts: list[str]) -> Steps:
        if not _is_selected(task, self._inputs):
            return hosts
        if task.module == "meta":
            return (yield from self._meta(task, hosts))
        if task.module in INCLUDES:
            return (yield from self._include(task, hosts))
        return (yield from TaskRun(self._state, self._play, task).run(hosts))

    def _include(self, task: Task, hosts: list[str]) -> Steps:
        active = hosts
        self._state.timeline.now += INCLUDE_SECONDS
        yield
        for entries, targets in resolve_includes(self._state, self._play, task, hosts):
            self._state.include_depth += 1
            active_set = set(active)
            participants = [host for host in targets if host in active_set]
            succeeded = (yield from self._run_all(entries, participants)) if entries is not None else []
            self._state.include_depth -= 1
            active = _without(active, targets, succeeded)
            yield
        return active

    def _meta(self, task: Task, hosts: list[str]) -> Steps:
        action = task.args if isinstance(task.args, str) else ""
        execution = TaskExecution(self._state, self._play, task, 0.0)
        matching: list[str] = []
        for host in hosts:
            self.meter.work(1)
            if self.meter.turn_is_over:
                yield
            if execution.conditions_hold(self._state.scope(self._play, task, host)):
                matching.append(host)
        if action == "flush_handlers":
            return (yield from self._run_handlers(hosts))
        if action == "end_play" and matching:
            self._state.ended_hosts |= set(hosts)
        elif action == "end_host":
            self._state.ended_hosts |= set(matching)
        elif action == "clear_facts":
            for host in matching:
                self._state.facts.pop(host, None)
        return hosts

    def _run_handlers(self, hosts: list[str]) -> Steps:
        """Run notified handlers in their order, each once; a handler may notify a later one."""
        active, state = hosts, self._state
        self.meter.work(len(self._play.handlers) // _HANDLERS_PER_UNIT)
        for handler in self._play.handlers:
            names = {handler.name, handler.title, *map(str, as_tuple(handler.keywords.get("listen")))}
            notified = {host for name in names for host in state.notified.get(name, ())}
            participants = [host for host in active if host in notified and host not in state.ended_hosts]
            if participants:
                succeeded = yield from TaskRun(state, self._play, handler).run(participants, "RUNNING HANDLER")
                active = _without(active, participants, succeeded)
        state.notified = {}
        return active


def _without(hosts: list[str], participants: Sequence[str], succeeded: Sequence[str]) -> list[str]:
    """The hosts without those that took part and did not succeed."""
    dropped = set(participants) - set(succeeded)
    return [host for host in hosts if host not in dropped]


def _is_selected(task: Task, inputs: RunInputs) -> bool:
    """Whether ``--tags`` and ``--skip-tags`` select the task."""
    tags, options = task.inherited.tags, inputs.options
    if tags & options.skip_tags:
        return False
    if not options.tags or "all" in options.tags:
        return "never" not in tags or bool(tags & options.tags)
    return bool(tags & options.tags) or "always" in tags or ("tagged" in options.tags and bool(tags))


def _batches(hosts: list[str], serial: Value) -> list[list[str]]:
    size = serial if isinstance(serial, int) and serial > 0 else len(hosts)
    if isinstance(serial, str) and serial.endswith("%") and serial[:-1].isdigit():
        size = max(1, len(hosts) * int(serial[:-1]) // 100)
    return [hosts[start : start + size] for start in range(0, len(hosts), size)] if hosts else [[]]
