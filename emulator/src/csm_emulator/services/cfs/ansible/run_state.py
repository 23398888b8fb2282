"""Inputs, state and result of a playbook run."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from csm_emulator.services.cfs.ansible.display import RecapCounts, Timeline
from csm_emulator.services.cfs.ansible.hosts import Inventory
from csm_emulator.services.cfs.ansible.limits import WORK_PER_TURN, WorkMeter
from csm_emulator.services.cfs.ansible.playbooks.layer_files import LayerReader, ReadingPaused
from csm_emulator.services.cfs.ansible.playbooks.plays import Files, Play, Task
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.ansible.tasks.parser import TaskParser
from csm_emulator.services.cfs.ansible.values import Value
from csm_emulator.services.cfs.ansible.variables import HostVars, Maps, Scope, maps_of_task

CRAY_DEFAULTS: Mapping[str, Value] = {"cray_cfs_image": False, "ansible_check_mode": False, "ansible_user": "root"}
"""Variables that the execution environment adds to ``group_vars/all``."""


@dataclass(frozen=True, slots=True)
class PlaybookOptions:
    """Options from the command line of ``ansible-playbook``."""

    limit: str = ""
    verbosity: int = 0
    extra: Mapping[str, Value] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    skip_tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RunInputs:
    files: Files
    playbook: str
    plays: tuple[Play, ...]
    inventory: Inventory
    options: PlaybookOptions
    facts: Callable[[str], Mapping[str, Value]]
    random: Callable[[int], float]
    """A random number from 0 to 1 for the task with this number."""
    start: float = 0.0
    down_since: dict[str, float] = field(default_factory=dict)
    """Unreachable hosts, and since how many seconds after the start; hosts may be added during the run."""
    failing_tasks: Mapping[str, str] = field(default_factory=dict)
    """Hosts on which a fault makes a task fail, and a part of that task's name."""
    configured_hosts: frozenset[str] = frozenset()
    """Hosts to which this layer was applied before."""
    show_commands: bool = False


@dataclass(slots=True)
class RunResult:
    """The result of a run."""

    timeline: Timeline
    recap_counts: dict[str, RecapCounts]
    code: int
    aborted: bool = False
    """Whether an error on one host ended the play for all hosts."""
    commands: list[str] = field(default_factory=list)


Steps = Generator[None, None, list[str]]
"""A generator that yields at each wait and returns the remaining hosts."""


class PlaybookRun:
    """A run in progress, computed up to the current time."""

    def __init__(
        self,
        timeline: Timeline,
        steps: Generator[None, None, RunResult],
        down_since: dict[str, float] | None = None,
        meter: WorkMeter | None = None,
    ) -> None:
        self.timeline = timeline
        self.meter = meter or WorkMeter()
        self.down_since = {} if down_since is None else down_since
        """The mapping of the run's inputs; hosts that fail during the run are added here."""
        self.result: RunResult | None = None
        """The result, once the run is over."""
        self._steps = steps

    def go_until(self, moment: float) -> bool:
        """Continue until this time, in seconds after the start; False when other runs should continue first."""
        self.meter.start_turn()
        while self.result is None and self.timeline.now <= moment:
            if self.meter.turn_is_over:
                return False
            try:
                next(self._steps)
            except StopIteration as end:
                self.result = end.value
        return True


class RunState:
    """The state of a run in progress."""

    def __init__(self, inputs: RunInputs) -> None:
        self.inputs = inputs
        self.timeline = Timeline()
        self.recap_counts: dict[str, RecapCounts] = {}
        self.host_variables: dict[str, dict[str, Value]] = {host: {} for host in inputs.inventory.hosts}
        self.facts: dict[str, Mapping[str, Value]] = {}
        self.failed_hosts: set[str] = set()
        self.unreachable: set[str] = set()
        self.ended_hosts: set[str] = set()
        self.faulted: set[str] = set()
        self.notified: dict[str, set[str]] = {}
        self.commands: dict[str, None] = {}
        self.task_number = 0
        self.rescue_depth = 0
        self.aborted = False
        self.include_depth = 0
        self.meter = WorkMeter()
        self.reader = TaskParser(inputs.files, inputs.playbook, LayerReader())
        self._group_vars: dict[str, Mapping[str, Value]] = {}
        self._inventory_maps: dict[str, Maps] = {}
        self._hostvars = HostVars(self.host_variables, self.facts)
        self._groups = {"all": inputs.inventory.hosts, **inputs.inventory.groups}

    def counts_of(self, host: str) -> RecapCounts:
        return self.recap_counts.setdefault(host, RecapCounts())

    def scope(self, play: Play, task: Task, host: str) -> Scope:
        return Scope(maps_of_task(play, task, self._host_maps(host), self.inputs.options.extra), self.meter)

    def _host_maps(self, host: str) -> Maps:
        if host not in self._inventory_maps:
            self._inventory_maps[host] = self._from_inventory(host)
        return (self.host_variables[host], self.facts.get(host, {}), *self._inventory_maps[host])

    def _from_inventory(self, host: str) -> Maps:
        inventory = self.inputs.inventory
        groups = inventory.groups_of.get(host, ())
        magic = {
            "inventory_hostname": host,
            "inventory_hostname_short": host.partition(".")[0],
            "group_names": list(groups),
            "groups": self._groups,
            "playbook_dir": posixpath.join(self.inputs.files.root, self.reader.base).rstrip("/"),
            "hostvars": self._hostvars,
        }
        of_host = inventory.host_vars.get(host, {})
        of_groups = [mapping for group in (*reversed(groups), "all") for mapping in self._group_maps(group)]
        return (of_host, *of_groups, magic, CRAY_DEFAULTS)

    def _group_maps(self, group: str) -> list[Mapping[str, Value]]:
        """Variables of a group: those beside the playbook, then those of the inventory."""
        if group not in self._group_vars:
            self._group_vars[group] = self._read_group(group)
        return [
            mapping for mapping in (self._group_vars[group], self.inputs.inventory.group_vars.get(group)) if mapping
        ]

    def _read_group(self, group: str) -> Mapping[str, Value]:
        """Variables from the file with the group's name, or from all files in the folder with that name."""
        files, home = self.inputs.files, posixpath.join(self.reader.base, "group_vars", group)
        variables: dict[str, Value] = {}
        for path in (home, f"{home}.yml", f"{home}.yaml", *(files.files_in(home) if files.has(home) else ())):
            variables |= self._read_variables(path)
        return variables

    def _read_variables(self, path: str) -> Mapping[str, Value]:
        while True:
            try:
                return self.reader.variables_file(path) or {}
            except AnsibleError:
                return {}
            except ReadingPaused:
                self.meter.work(WORK_PER_TURN)
