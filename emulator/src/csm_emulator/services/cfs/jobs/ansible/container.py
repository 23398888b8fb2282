"""The container ``ansible``: it runs one layer after the other until one fails."""

from __future__ import annotations

from csm_emulator.cluster.pods import PodEvent
from csm_emulator.machine.boot import UP
from csm_emulator.machine.context import Event
from csm_emulator.services.cfs.ansible.limits import WORK_PER_TURN
from csm_emulator.services.cfs.ansible.playbooks.layer_files import ReadingPaused
from csm_emulator.services.cfs.ansible.run_state import PlaybookRun, RunResult
from csm_emulator.services.cfs.jobs.ansible.layer_runs import LayerRuns, is_image
from csm_emulator.services.cfs.jobs.job_context import JobContext, Run, course_of
from csm_emulator.services.cfs.jobs.repositories import VcsUnavailable
from csm_emulator.state.scheduler import ActionNotReady

CONTAINER = "ansible"
_RETRY_DELAY = 5.0
_ROUNDING = 1e-3
"""Seconds added to waits: sums of times since 1970 are not exact, so a shorter wait might not advance the time."""
_COMPLETE = "ansible:/tmp/complete"
"""The file that a user creates to end the time for debugging."""


class AnsibleContainer:
    def __init__(self, job_context: JobContext, layer_runs: LayerRuns) -> None:
        self._job_context = job_context
        self._layer_runs = layer_runs
        self._playbook_runs: dict[str, PlaybookRun] = {}
        """Playbook runs by job. A run that is missing after a restart is recomputed from the start of its layer."""
        self._work = 0
        """Work of all runs since other tasks had their turn."""
        self._runs_by_host: dict[str, set[str]] = {}
        """Names of the runs in which a host takes part now."""
        for run in job_context.all():
            if run["course"] and run["ended"] is None:
                self._add_hosts(run)
        job_context.on_step("ansible", self._begin)
        job_context.on_step("layer", self._layer)
        job_context.on_step("lines", self._lines)
        job_context.on_step("ansible-ends", self._end)
        job_context.context.machine.watch(self._on_machine_event)
        job_context.context.cluster.watch(self._on_pod_event)

    def forget(self, run: Run) -> None:
        """Drop the state of a run that is over or deleted."""
        self._playbook_runs.pop(run["job"], None)
        if run["course"] and run["inventory"]:
            for host in self._layer_runs.hosts(run):
                self._runs_by_host.get(host, set()).discard(run["name"])

    def _begin(self, run: Run) -> None:
        self._say(run, "Inventory generation completed", "SSH keys migrated to /root/.ssh", "Sidecar available")
        self._job_context.schedule(run, 0.0, "layer", 0)

    def _layer(self, run: Run, index: int) -> None:
        if index >= len(run["layers"]):
            self._say(run, "All playbooks completed successfully")
            self._job_context.schedule(run, 0.1, "ansible-ends", 0)
            return
        try:
            started = self._layer_runs.begin(run, index)
            playbook_run = self._layer_runs.playbook_run(started)
        except ReadingPaused as paused:
            raise ActionNotReady from paused
        except VcsUnavailable:
            self._job_context.schedule(run, _RETRY_DELAY, "layer", index)
            return
        layer = run["layers"][index]
        is_debug = layer["layer"] == "_debug"
        self._say(
            run,
            f"Running {layer['playbook']} from {'the debug playbooks' if is_debug else 'repo ' + layer['clone_url']}",
        )
        run = self._job_context.put(started)
        self._playbook_runs[run["job"]] = playbook_run
        self._add_hosts(run)
        self._job_context.schedule(run, 0.0, "lines")

    def _add_hosts(self, run: Run) -> None:
        for host in self._layer_runs.hosts(run):
            self._runs_by_host.setdefault(host, set()).add(run["name"])

    def _lines(self, run: Run) -> None:
        """Continue up to now and print the lines; raises ``ActionNotReady`` when other work should come first."""
        state = course_of(run)
        due = self._job_context.context.clock.now() - state["began"] + _ROUNDING
        try:
            playbook_run = self._continue_run(run, due)
        except VcsUnavailable:
            self._playbook_runs.pop(run["job"], None)
            self._job_context.schedule(run, _RETRY_DELAY, "lines")
            return
        entries = playbook_run.timeline.entries
        new = [(state["began"] + offset, text) for offset, texts in entries[state["said"] :] for text in texts]
        self._job_context.say(run, CONTAINER, new)
        playbook_run.timeline.discard_lines(state["said"])
        run = self._job_context.put(run, course={**state, "said": len(entries)})
        if playbook_run.result is None:
            self._job_context.schedule(run, playbook_run.timeline.now - due + _ROUNDING, "lines")
        else:
            self._close_layer(run, playbook_run.result)

    def _continue_run(self, run: Run, due: float) -> PlaybookRun:
        """The run, computed up to this time; raises ``VcsUnavailable`` and ``ActionNotReady``."""
        try:
            if run["job"] not in self._playbook_runs:
                self._playbook_runs[run["job"]] = self._layer_runs.playbook_run(run)
        except ReadingPaused as paused:
            raise ActionNotReady from paused
        playbook_run = self._playbook_runs[run["job"]]
        reached = playbook_run.go_until(due)
        self._work += playbook_run.meter.done
        if not reached or self._work > WORK_PER_TURN:
            # The next call continues from here, and work that is done already costs nothing.
            self._work = 0
            raise ActionNotReady
        return playbook_run

    def _close_layer(self, run: Run, result: RunResult) -> None:
        self.forget(run)
        index = course_of(run)["place"]
        self._record(run, result, index)
        if result.code:
            self._fail(self._job_context.put(run, course=None), result.code, index)
            return
        finished = self._job_context.put(
            run, course=None, commands=[*run["commands"], *result.commands], applied=[*run["applied"], index]
        )
        self._job_context.schedule(finished, 0.3, "layer", index + 1)

    def _record(self, run: Run, result: RunResult, index: int) -> None:
        """Record the layer's status in components, as the callback ``cfs_aggregator`` does unless it is disabled."""
        layer = run["layers"][index]
        if is_image(run) or layer["layer"] == "_debug" or run["ansible"].get("passthrough"):
            return
        by_status: dict[str, list[str]] = {}
        for host, tally in result.recap_counts.items():
            success_status = "incomplete" if result.aborted else "applied"
            by_status.setdefault("failed" if tally.failed or tally.unreachable else success_status, []).append(host)
        for status, hosts in by_status.items():
            self._job_context.records.append_state(hosts, layer, status, run["name"])

    def _fail(self, run: Run, code: int, index: int) -> None:
        layer = run["layers"][index]
        self._say(run, f"Playbook {layer['playbook']} from repo {layer['clone_url']} failed")
        if not run["debug_wait"]:
            self._job_context.schedule(run, 0.1, "ansible-ends", code)
            return
        self._say(
            run,
            f"This session has failed and will remain running for {run['debug_wait']} seconds to allow debugging",
            'Touch "/tmp/complete" to complete the session early and cleanly',
        )
        self._job_context.schedule(
            self._job_context.put(run, code=code), float(run["debug_wait"]), "ansible-ends", code
        )

    def _end(self, run: Run, code: int) -> None:
        if not self._job_context.is_running(run, CONTAINER):
            return
        self._job_context.end(run, CONTAINER, code)
        if is_image(run):
            self._job_context.schedule(run, 0.5, "teardown", code)
        else:
            self._job_context.finish(run, code)

    def _on_machine_event(self, event: Event) -> None:
        """A node that goes down during a layer is unreachable from then on."""
        names = self._runs_by_host.get(event.xname)
        if event.kind != "stage" or event.value == UP or not names:
            return
        for name in sorted(names):
            run = self._job_context.find(name)
            if run is not None and run["course"] and event.xname not in run["course"]["fell"]:
                self._mark_down(run, event.xname)

    def _mark_down(self, run: Run, host: str) -> None:
        state = course_of(run)
        since = self._job_context.context.clock.now() - state["began"]
        self._job_context.put(run, course={**state, "fell": {**state["fell"], host: since}})
        if run["job"] in self._playbook_runs:
            self._playbook_runs[run["job"]].down_since[host] = since

    def _on_pod_event(self, event: PodEvent) -> None:
        run = self._job_context.run_of_pod(event.pod) if event.kind == "file" and event.what == _COMPLETE else None
        if run is not None and run["code"] and run["ended"] is None:
            self._job_context.schedule(run, 1.0, "ansible-ends", run["code"])

    def _say(self, run: Run, *lines: str) -> None:
        self._job_context.say(run, CONTAINER, lines)
