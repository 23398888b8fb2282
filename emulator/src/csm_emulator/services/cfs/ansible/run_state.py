"""What a run of a playbook is given, what it knows on its way, and what comes of it."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from csm_emulator.services.cfs.ansible.display import Tally, Timeline
from csm_emulator.services.cfs.ansible.hosts import Inventory
from csm_emulator.services.cfs.ansible.limits import TURN, Meter
from csm_emulator.services.cfs.ansible.playbooks.layer_files import Paused, Reading
from csm_emulator.services.cfs.ansible.playbooks.plays import Files, Play, Task
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.ansible.tasks.parser import TaskReader
from csm_emulator.services.cfs.ansible.variables import HostVars, Maps, Scope, maps_of_task

CRAY_DEFAULTS: Mapping[str, Any] = {"cray_cfs_image": False, "ansible_check_mode": False, "ansible_user": "root"}
"""What the execution environment adds to ``group_vars/all``."""


@dataclass(frozen=True, slots=True)
class Options:
    """From the command line of ``ansible-playbook``."""

    limit: str = ""
    verbosity: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    skip_tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Setting:
    files: Files
    playbook: str
    plays: tuple[Play, ...]
    inventory: Inventory
    options: Options
    facts: Callable[[str], Mapping[str, Any]]
    roll: Callable[[int], float]
    """Chance, from 0 to 1, for the task of this number."""
    began: float = 0.0
    fell: dict[str, float] = field(default_factory=dict)
    """Hosts that cannot be reached, and since how many seconds after the beginning; more may come on the way."""
    faulty: Mapping[str, str] = field(default_factory=dict)
    """Hosts on which a task fails for no reason that the playbook knows, and a part of the task's name."""
    settled: frozenset[str] = frozenset()
    """Hosts that have had this layer already."""
    show_commands: bool = False


@dataclass(slots=True)
class Course:
    """How a run went."""

    timeline: Timeline
    tallies: dict[str, Tally]
    code: int
    broke: bool = False
    """Whether the play ended for everybody because of somebody's error."""
    commands: list[str] = field(default_factory=list)


Steps = Generator[None, None, list[str]]
"""Goes on to the next wait, and comes back with the hosts that are left."""


class Following:
    """A run on its way: told as far as its time has come."""

    def __init__(
        self,
        timeline: Timeline,
        steps: Generator[None, None, Course],
        fell: dict[str, float] | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.timeline = timeline
        self.meter = meter or Meter()
        self.fell = {} if fell is None else fell
        """Of its setting: whoever falls on the way is put here."""
        self.course: Course | None = None
        """How it went, once it is over."""
        self._steps = steps

    def go_until(self, moment: float) -> bool:
        """Seconds after the beginning; not there when others should have their turn first."""
        self.meter.rest()
        while self.course is None and self.timeline.now <= moment:
            if self.meter.is_tired:
                return False
            try:
                next(self._steps)
            except StopIteration as end:
                self.course = end.value
        return True


class Stand:
    """What is known in the middle of a run."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.timeline = Timeline()
        self.tallies: dict[str, Tally] = {}
        self.held: dict[str, dict[str, Any]] = {host: {} for host in setting.inventory.hosts}
        self.facts: dict[str, Mapping[str, Any]] = {}
        self.failed: set[str] = set()
        self.dark: set[str] = set()
        self.ended: set[str] = set()
        self.struck: set[str] = set()
        self.notified: dict[str, set[str]] = {}
        self.commands: dict[str, None] = {}
        self.number = 0
        self.rescuable = 0
        self.broke = False
        self.depth = 0
        self.meter = Meter()
        self.reader = TaskReader(setting.files, setting.playbook, Reading())
        self._group_vars: dict[str, Mapping[str, Any]] = {}
        self._given: dict[str, Maps] = {}
        self._others = HostVars(self.held, self.facts)
        self._groups = {"all": setting.inventory.hosts, **setting.inventory.groups}

    def tally(self, host: str) -> Tally:
        return self.tallies.setdefault(host, Tally())

    def scope(self, play: Play, task: Task, host: str) -> Scope:
        return Scope(maps_of_task(play, task, self._host_maps(host), self.setting.options.extra), self.meter)

    def _host_maps(self, host: str) -> Maps:
        if host not in self._given:
            self._given[host] = self._from_inventory(host)
        return (self.held[host], self.facts.get(host, {}), *self._given[host])

    def _from_inventory(self, host: str) -> Maps:
        inventory = self.setting.inventory
        groups = inventory.groups_of.get(host, ())
        magic = {
            "inventory_hostname": host,
            "inventory_hostname_short": host.partition(".")[0],
            "group_names": list(groups),
            "groups": self._groups,
            "playbook_dir": posixpath.join(self.setting.files.root, self.reader.base).rstrip("/"),
            "hostvars": self._others,
        }
        of_host = inventory.host_vars.get(host, {})
        of_groups = [held for group in (*reversed(groups), "all") for held in self._of_group(group)]
        return (of_host, *of_groups, magic, CRAY_DEFAULTS)

    def _of_group(self, group: str) -> list[Mapping[str, Any]]:
        """Beside the playbook, then from the inventory."""
        if group not in self._group_vars:
            self._group_vars[group] = self._read_group(group)
        return [held for held in (self._group_vars[group], self.setting.inventory.group_vars.get(group)) if held]

    def _read_group(self, group: str) -> Mapping[str, Any]:
        """A file of the group's name, or all files of a folder of that name."""
        files, home = self.setting.files, posixpath.join(self.reader.base, "group_vars", group)
        found: dict[str, Any] = {}
        for path in (home, f"{home}.yml", f"{home}.yaml", *(files.below(home) if files.has(home) else ())):
            found |= self._read_variables(path)
        return found

    def _read_variables(self, path: str) -> Mapping[str, Any]:
        while True:
            try:
                return self.reader.variables_file(path) or {}
            except AnsibleError:
                return {}
            except Paused:
                self.meter.work(TURN)
