"""Playbook runs of a session's layers, built from the run's record.

The same record gives the same result, so a run can be recomputed after a restart.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.ansible.display import Timeline
from csm_emulator.services.cfs.ansible.hosts import Inventory, match_hosts
from csm_emulator.services.cfs.ansible.playbooks.plays import Files, Play, tasks_in
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import AnsibleError
from csm_emulator.services.cfs.ansible.run_state import PlaybookRun, RunInputs, RunResult
from csm_emulator.services.cfs.ansible.runner import STARTUP, start_run
from csm_emulator.services.cfs.jobs.ansible import debug_playbooks
from csm_emulator.services.cfs.jobs.ansible.command_line import arguments, parse
from csm_emulator.services.cfs.jobs.ansible.facts import image_facts, node_facts
from csm_emulator.services.cfs.jobs.job_context import Course, JobContext, Run, course_of
from csm_emulator.services.cfs.jobs.repositories import (
    CommitNotFound,
    RepositoryCache,
    RepositoryFolder,
    RepositoryNotFound,
)

FAULT = "cfs-layer-fails"
BEFORE_START = -1.0
"""Seconds, relative to the start of the layer, of hosts that were down before."""


def is_image(run: Run) -> bool:
    return bool(run["target"]["definition"] == "image")


class LayerRuns:
    def __init__(self, job_context: JobContext, repositories: RepositoryCache) -> None:
        self._job_context = job_context
        self._repositories = repositories

    def begin(self, run: Run, index: int) -> Run:
        """The record with the state at the start of this layer; raises ``VcsUnavailable``."""
        hosts = self.hosts(run)
        course: Course = {
            "place": index,
            "began": self._job_context.context.clock.now(),
            "said": 0,
            "fell": {} if is_image(run) else {host: BEFORE_START for host in hosts if not self._reachable(host)},
            "faulty": self._failing_tasks(run["layers"][index], hosts),
            "settled": [] if is_image(run) else self._configured_hosts(run["layers"][index], hosts),
        }
        return {**run, "course": course}

    def hosts(self, run: Run) -> list[str]:
        """The hosts that the session's limit selects."""
        return match_hosts(_inventory(run), parse(arguments(run)).limit or "all")[0]

    def playbook_run(self, run: Run) -> PlaybookRun:
        """A playbook run of the current layer, from its start; raises ``VcsUnavailable``."""
        state = course_of(run)
        layer = run["layers"][state["place"]]
        random, run_key = self._job_context.context.random, (run["job"], state["place"])
        try:
            files, plays = self._playbook(layer)
        except AnsibleError as error:
            timeline = Timeline()
            return PlaybookRun(timeline, _failed_run(timeline, error))
        return start_run(
            RunInputs(
                files,
                layer["playbook"],
                plays,
                _inventory(run),
                parse(arguments(run)),
                lambda host: self._facts(run, host),
                lambda number: random.roll("cfs.task", *run_key, number),
                state["began"],
                dict(state["fell"]),
                state["faulty"],
                frozenset(state["settled"]),
                is_image(run),
            )
        )

    def _playbook(self, layer: Record) -> tuple[Files, tuple[Play, ...]]:
        playbook = layer["playbook"]
        if layer["layer"] == "_debug":
            return debug_playbooks.DebugPlaybooks(), debug_playbooks.plays(playbook)
        root = f"/etc/ansible/layer{layer['layer']}"
        try:
            repository = self._repositories.open(layer)
        except (RepositoryNotFound, CommitNotFound) as error:
            # The repository existed when it was cloned, but it is neither in the cache nor in VCS any more.
            raise AnsibleError(f"the playbook: {root}/{playbook} could not be found") from error
        return RepositoryFolder(repository, root), repository.plays(playbook, root)

    def _facts(self, run: Run, host: str) -> Mapping[str, Json]:
        if is_image(run):
            return image_facts(run["images"][host]["arch"] if host in run["images"] else "")
        return node_facts(self._job_context.context, host)

    def _reachable(self, host: str) -> bool:
        return host == "localhost" or self._job_context.context.machine.boot.sends_heartbeats(host)

    def _configured_hosts(self, layer: Record, hosts: list[str]) -> list[str]:
        """Hosts to which this layer was applied since they booted; modules change nothing on them."""
        layer_key = tuple(layer[key] for key in ("clone_url", "playbook", "commit"))
        components = self._job_context.records.components(hosts)
        return [host for host, component in components.items() if _was_applied(component, layer_key)]

    def _failing_tasks(self, layer: Record, hosts: list[str]) -> dict[str, str]:
        faults = self._job_context.context.faults
        if not any(fault.kind == FAULT for fault in faults):
            return {}
        titles = self._titles(layer)

        def aims(fault: Fault) -> bool:
            layer_name = fault.facts.get("layer")
            part = str(fault.facts.get("task", "")).lower()
            layer_matches = layer_name is None or str(layer_name) in (layer["name"], layer["layer"])
            return layer_matches and any(part in title for title in titles)

        faults_by_host = ((host, faults.trigger(FAULT, host, when=aims)) for host in hosts)
        return {host: str(fault.facts.get("task", "")) for host, fault in faults_by_host if fault is not None}

    def _titles(self, layer: Record) -> list[str]:
        try:
            _, plays = self._playbook(layer)
        except AnsibleError:
            return []
        return [task.title.lower() for play in plays for stage in play.stages for task in tasks_in(stage)]


def _failed_run(timeline: Timeline, error: AnsibleError) -> Generator[None, None, RunResult]:
    """A run that ends with this error before its first play."""
    timeline.now = STARTUP[0]
    yield
    timeline.print(error.lines())
    return RunResult(timeline, {}, error.code)


def _inventory(run: Run) -> Inventory:
    return Inventory(**(run["inventory"] or {}))


def _was_applied(component: Record, key: tuple[str, ...]) -> bool:
    return any(
        entry.get("status") == "applied" and key == (entry["clone_url"], entry["playbook"], entry["commit"])
        for entry in component.get("state") or ()
    )
