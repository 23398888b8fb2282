"""The container ``ansible``: one layer after the other, until one fails."""

from __future__ import annotations

from csm_emulator.cluster.pods import PodEvent
from csm_emulator.machine.boot import UP
from csm_emulator.machine.context import Event
from csm_emulator.services.cfs.ansible.limits import WORK_PER_TURN
from csm_emulator.services.cfs.ansible.playbooks.layer_files import ReadingPaused
from csm_emulator.services.cfs.ansible.run_state import PlaybookRun, RunResult
from csm_emulator.services.cfs.jobs.ansible.run_settings import Settings, is_image
from csm_emulator.services.cfs.jobs.job_context import Bench, Run
from csm_emulator.services.cfs.jobs.repositories import Silent
from csm_emulator.state.scheduler import NotYet

CONTAINER = "ansible"
_ASK_AGAIN = 5.0
_ROUNDING = 1e-3
"""Moments are seconds since 1970: a sum of them is not exact, and after a shorter wait it may be the same moment."""
_COMPLETE = "ansible:/tmp/complete"
"""What somebody touches to end the time for debugging."""


class Configuring:
    def __init__(self, bench: Bench, settings: Settings) -> None:
        self._bench = bench
        self._settings = settings
        self._following: dict[str, PlaybookRun] = {}
        """By job; whoever is not here is told again from the beginning of the layer."""
        self._worked = 0
        """Since others had their turn, for all the runs."""
        self._busy: dict[str, set[str]] = {}
        """Which runs a host takes part in now."""
        for run in bench.all():
            if run["course"] and run["ended"] is None:
                self._occupy(run)
        bench.answer("ansible", self._begin)
        bench.answer("layer", self._layer)
        bench.answer("lines", self._lines)
        bench.answer("ansible-ends", self._end)
        bench.context.machine.watch(self._hear_machine)
        bench.context.cluster.watch(self._hear_cluster)

    def forget(self, run: Run) -> None:
        """The run is over, or gone."""
        self._following.pop(run["job"], None)
        if run["course"] and run["inventory"]:
            for host in self._settings.hosts(run):
                self._busy.get(host, set()).discard(run["name"])

    def _begin(self, run: Run) -> None:
        self._say(run, "Inventory generation completed", "SSH keys migrated to /root/.ssh", "Sidecar available")
        self._bench.next(run, 0.0, "layer", 0)

    def _layer(self, run: Run, place: int) -> None:
        if place >= len(run["layers"]):
            self._say(run, "All playbooks completed successfully")
            self._bench.next(run, 0.1, "ansible-ends", 0)
            return
        try:
            begun = self._settings.begin(run, place)
            following = self._settings.follow(begun)
        except ReadingPaused as paused:
            raise NotYet from paused
        except Silent:
            self._bench.next(run, _ASK_AGAIN, "layer", place)
            return
        layer = run["layers"][place]
        debugging = layer["layer"] == "_debug"
        self._say(
            run,
            f"Running {layer['playbook']} from {'the debug playbooks' if debugging else 'repo ' + layer['clone_url']}",
        )
        run = self._bench.put(begun)
        self._following[run["job"]] = following
        self._occupy(run)
        self._bench.next(run, 0.0, "lines")

    def _occupy(self, run: Run) -> None:
        for host in self._settings.hosts(run):
            self._busy.setdefault(host, set()).add(run["name"])

    def _lines(self, run: Run) -> None:
        """Go on to now, and print what came of it; raises ``NotYet`` for the sake of others."""
        state = run["course"]
        due = self._bench.context.clock.now() - state["began"] + _ROUNDING
        try:
            following = self._followed(run, due)
        except Silent:
            self._following.pop(run["job"], None)
            self._bench.next(run, _ASK_AGAIN, "lines")
            return
        entries = following.timeline.entries
        new = [(state["began"] + offset, text) for offset, texts in entries[state["said"] :] for text in texts]
        self._bench.say(run, CONTAINER, new)
        following.timeline.discard_lines(state["said"])
        run = self._bench.put(run, course={**state, "said": len(entries)})
        if following.result is None:
            self._bench.next(run, following.timeline.now - due + _ROUNDING, "lines")
        else:
            self._close_layer(run, following.result)

    def _followed(self, run: Run, due: float) -> PlaybookRun:
        """Raises ``Silent`` and ``NotYet``."""
        try:
            if run["job"] not in self._following:
                self._following[run["job"]] = self._settings.follow(run)
        except ReadingPaused as paused:
            raise NotYet from paused
        following = self._following[run["job"]]
        there = following.go_until(due)
        self._worked += following.meter.done
        if not there or self._worked > WORK_PER_TURN:
            # Going on to the same moment once more is no work.
            self._worked = 0
            raise NotYet
        return following

    def _close_layer(self, run: Run, result: RunResult) -> None:
        self.forget(run)
        place = run["course"]["place"]
        self._record(run, result, place)
        if result.code:
            self._fail(self._bench.put(run, course=None), result.code, place)
            return
        done = self._bench.put(
            run, course=None, commands=[*run["commands"], *result.commands], applied=[*run["applied"], place]
        )
        self._bench.next(done, 0.3, "layer", place + 1)

    def _record(self, run: Run, result: RunResult, place: int) -> None:
        """As the callback ``cfs_aggregator`` does, unless the operator told it not to."""
        layer = run["layers"][place]
        if is_image(run) or layer["layer"] == "_debug" or run["ansible"].get("passthrough"):
            return
        by_status: dict[str, list[str]] = {}
        for host, tally in result.recap_counts.items():
            good = "incomplete" if result.aborted else "applied"
            by_status.setdefault("failed" if tally.failed or tally.unreachable else good, []).append(host)
        for status, hosts in by_status.items():
            self._bench.book.append_state(hosts, layer, status, run["name"])

    def _fail(self, run: Run, code: int, place: int) -> None:
        layer = run["layers"][place]
        self._say(run, f"Playbook {layer['playbook']} from repo {layer['clone_url']} failed")
        if not run["debug_wait"]:
            self._bench.next(run, 0.1, "ansible-ends", code)
            return
        self._say(
            run,
            f"This session has failed and will remain running for {run['debug_wait']} seconds to allow debugging",
            'Touch "/tmp/complete" to complete the session early and cleanly',
        )
        self._bench.next(self._bench.put(run, code=code), float(run["debug_wait"]), "ansible-ends", code)

    def _end(self, run: Run, code: int) -> None:
        if not self._bench.is_running(run, CONTAINER):
            return
        self._bench.end(run, CONTAINER, code)
        if is_image(run):
            self._bench.next(run, 0.5, "teardown", code)
        else:
            self._bench.finish(run, code)

    def _hear_machine(self, event: Event) -> None:
        """A node that goes down in the middle of a layer is out of reach from then on."""
        names = self._busy.get(event.xname)
        if event.kind != "stage" or event.value == UP or not names:
            return
        for name in sorted(names):
            run = self._bench.find(name)
            if run is not None and run["course"] and event.xname not in run["course"]["fell"]:
                self._lose(run, event.xname)

    def _lose(self, run: Run, host: str) -> None:
        state = run["course"]
        since = self._bench.context.clock.now() - state["began"]
        self._bench.put(run, course={**state, "fell": {**state["fell"], host: since}})
        if run["job"] in self._following:
            self._following[run["job"]].down_since[host] = since

    def _hear_cluster(self, event: PodEvent) -> None:
        run = self._bench.of_pod(event.pod) if event.kind == "file" and event.what == _COMPLETE else None
        if run is not None and run["code"] and run["ended"] is None:
            self._bench.next(run, 1.0, "ansible-ends", run["code"])

    def _say(self, run: Run, *lines: str) -> None:
        self._bench.say(run, CONTAINER, lines)
