"""From a run's record to what Ansible is given.

The same record gives the same course, so that a run can be told again after a restart.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.services.cfs.ansible.display import Timeline
from csm_emulator.services.cfs.ansible.hosts import Inventory, match_hosts
from csm_emulator.services.cfs.ansible.playbooks.plays import Files, Play, tasks_in
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.ansible.run_state import PlaybookRun, RunInputs, RunResult
from csm_emulator.services.cfs.ansible.runner import STARTUP, start_run
from csm_emulator.services.cfs.jobs.ansible import debug_playbooks
from csm_emulator.services.cfs.jobs.ansible.command_line import arguments, parse
from csm_emulator.services.cfs.jobs.ansible.facts import image_facts, node_facts
from csm_emulator.services.cfs.jobs.job_context import Bench, Run
from csm_emulator.services.cfs.jobs.repositories import Folder, Library, NoCommit, NoRepository

FAULT = "cfs-layer-fails"
BEFORE = -1.0
"""Fallen before the layer began."""


def is_image(run: Run) -> bool:
    return bool(run["target"]["definition"] == "image")


class Settings:
    def __init__(self, bench: Bench, library: Library) -> None:
        self._bench = bench
        self._library = library

    def begin(self, run: Run, place: int) -> Run:
        """The record with what holds at the beginning of this layer; raises ``Silent``."""
        hosts = self.hosts(run)
        course = {
            "place": place,
            "began": self._bench.context.clock.now(),
            "said": 0,
            "fell": {} if is_image(run) else {host: BEFORE for host in hosts if not self._reachable(host)},
            "faulty": self._faulty(run["layers"][place], hosts),
            "settled": [] if is_image(run) else self._settled(run["layers"][place], hosts),
        }
        return {**run, "course": course}

    def hosts(self, run: Run) -> list[str]:
        """Whom the limit leaves."""
        return match_hosts(_inventory(run), parse(arguments(run)).limit or "all")[0]

    def follow(self, run: Run) -> PlaybookRun:
        """The layer that the run is at, from its beginning; raises ``Silent``."""
        state = run["course"]
        layer = run["layers"][state["place"]]
        random, about = self._bench.context.random, (run["job"], state["place"])
        try:
            files, plays = self._playbook(layer)
        except AnsibleError as error:
            timeline = Timeline()
            return PlaybookRun(timeline, _refusal(timeline, error))
        return start_run(
            RunInputs(
                files,
                layer["playbook"],
                plays,
                _inventory(run),
                parse(arguments(run)),
                lambda host: self._facts(run, host),
                lambda number: random.roll("cfs.task", *about, number),
                state["began"],
                dict(state["fell"]),
                state["faulty"],
                frozenset(state["settled"]),
                is_image(run),
            )
        )

    def _playbook(self, layer: dict[str, Any]) -> tuple[Files, tuple[Play, ...]]:
        playbook = layer["playbook"]
        if layer["layer"] == "_debug":
            return debug_playbooks.DebugFolder(), debug_playbooks.plays(playbook)
        root = f"/etc/ansible/layer{layer['layer']}"
        try:
            repository = self._library.open(layer)
        except (NoRepository, NoCommit) as error:
            # It was there when it was cloned; without a copy of its own this machine cannot go on with it.
            raise AnsibleError(f"the playbook: {root}/{playbook} could not be found") from error
        return Folder(repository, root), repository.plays(playbook, root)

    def _facts(self, run: Run, host: str) -> Mapping[str, Any]:
        if is_image(run):
            return image_facts(run["images"].get(host, {}).get("arch", ""))
        return node_facts(self._bench.context, host)

    def _reachable(self, host: str) -> bool:
        return host == "localhost" or self._bench.context.machine.boot.beating(host)

    def _settled(self, layer: dict[str, Any], hosts: list[str]) -> list[str]:
        """Who has had this layer since it booted: there everything is as the playbook wants it."""
        wanted = tuple(layer[key] for key in ("clone_url", "playbook", "commit"))
        known = self._bench.book.components(hosts)
        return [host for host, component in known.items() if _has(component, wanted)]

    def _faulty(self, layer: dict[str, Any], hosts: list[str]) -> dict[str, str]:
        faults = self._bench.context.faults
        if not any(fault.kind == FAULT for fault in faults):
            return {}
        titles = self._titles(layer)

        def aims(fault: Fault) -> bool:
            meant = fault.facts.get("layer")
            part = str(fault.facts.get("task", "")).lower()
            fits = meant is None or str(meant) in (layer["name"], layer["layer"])
            return fits and any(part in title for title in titles)

        struck = ((host, faults.strikes(FAULT, host, when=aims)) for host in hosts)
        return {host: str(fault.facts.get("task", "")) for host, fault in struck if fault is not None}

    def _titles(self, layer: dict[str, Any]) -> list[str]:
        try:
            _, plays = self._playbook(layer)
        except AnsibleError:
            return []
        return [task.title.lower() for play in plays for stage in play.stages for task in tasks_in(stage)]


def _refusal(timeline: Timeline, error: AnsibleError) -> Generator[None, None, RunResult]:
    """Ansible ends before its first play."""
    timeline.now = STARTUP[0]
    yield
    timeline.print(error.lines())
    return RunResult(timeline, {}, error.code)


def _inventory(run: Run) -> Inventory:
    return Inventory(**run["inventory"])


def _has(component: dict[str, Any], wanted: tuple[str, ...]) -> bool:
    return any(
        entry.get("status") == "applied" and wanted == (entry["clone_url"], entry["playbook"], entry["commit"])
        for entry in component.get("state") or ()
    )
