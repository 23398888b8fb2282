"""From a session's record to its job, and back: what the operator hears of sessions and of jobs."""

from __future__ import annotations

from typing import Any

from csm_emulator.cluster.pods import PodEvent
from csm_emulator.cluster.service_workloads import CFS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.services.cfs.jobs.ansible.container import Configuring
from csm_emulator.services.cfs.jobs.ansible.run_settings import Settings
from csm_emulator.services.cfs.jobs.git_clone import Cloning
from csm_emulator.services.cfs.jobs.ims_client import Ims, ImsRefused, ImsSilent
from csm_emulator.services.cfs.jobs.inventory.container import Inventories
from csm_emulator.services.cfs.jobs.inventory.images import ImageInventories
from csm_emulator.services.cfs.jobs.job_context import NAMESPACE, Bench, Run
from csm_emulator.services.cfs.jobs.monitor import Monitor
from csm_emulator.services.cfs.jobs.operator import Jobs
from csm_emulator.services.cfs.jobs.repositories import Library
from csm_emulator.services.cfs.jobs.teardown import Teardown
from csm_emulator.services.cfs.records import Book
from csm_emulator.services.cfs.sources.vcs import Vcs
from csm_emulator.state.clock import next_tick

HEARD = (0.3, 1.5)
"""Seconds until Kafka has brought an event to the operator."""
TRIES, TRY_AGAIN, LONGEST_TRYING = 10, 1.0, 600.0
"""An event that cannot be handled comes again; it is dropped after both so many times and so long."""
ORPHANS = 60.0
HEARS_AGAIN = 5.0
"""Seconds until an operator that came back has caught up."""
_LAUNCH, _DELETE, _ORPHAN = "cfs.session-heard", "cfs.session-deleted", "cfs.ims-job-left"
_STUCK = "cfs-session-stuck"


class Runs:
    def __init__(self, context: Context, book: Book) -> None:
        self._context = context
        self._book = book
        self._bench = Bench(context, book)
        self._jobs = Jobs(self._bench)
        self._ims = Ims(context.mesh)
        self._monitor = Monitor(self._bench)
        library = Library(Vcs(context), book)
        Cloning(self._bench, library)
        inventories = Inventories(self._bench, library)
        ImageInventories(self._bench, self._ims, inventories)
        self._configuring = Configuring(self._bench, Settings(self._bench, library))
        Teardown(self._bench, self._ims)
        context.cluster.watch(self._hear)
        context.scheduler.register(_LAUNCH, self._launch)
        context.scheduler.register(_DELETE, self._delete)
        context.scheduler.register(_ORPHAN, self._remove_orphan)

    def session_created(self, name: str) -> None:
        """The API told of a new session."""
        now = self._context.clock.now()
        self._context.scheduler.after(self._bench.chance(*HEARD, "heard", name, now), _LAUNCH, name, 0, now)

    def session_deleted(self, name: str) -> None:
        """The API told that a session is gone: the operator deletes its job, and its jobs of IMS.

        Kafka keeps the event until the operator is back, and the job runs on meanwhile.
        """
        run = self._bench.find(name)
        if run is not None:
            self._delete(name, run["job"])

    def _delete(self, name: str, job: str) -> None:
        """Delete the job of a session that is gone, unless that is done already."""
        run = self._bench.find(name)
        if run is None or run["job"] != job:
            return
        if self._context.cluster.runs(CFS_OPERATOR):
            self._remove(run)
        else:
            self._context.scheduler.after(HEARS_AGAIN, _DELETE, name, job)

    def _remove(self, run: Run) -> None:
        self._configuring.forget(run)
        self._bench.forget(run)
        self._context.cluster.delete_job(NAMESPACE, run["job"])
        for made in run["images"].values():
            if "ended" not in made:
                self._ims.delete_job(made["job"])

    def _launch(self, name: str, attempt: int, since: float) -> None:
        session = self._book.session(name)
        status = session["status"]["session"] if session else {}
        if session is None or status.get("job") or status.get("status") != "pending":
            return
        if not self._context.cluster.runs(CFS_OPERATOR):
            # Kafka keeps the event until the operator is back.
            self._context.scheduler.after(HEARS_AGAIN, _LAUNCH, name, attempt, self._context.clock.now())
            return
        if self._context.faults.strikes(_STUCK, name):
            return
        try:
            layers = self._book.layers(session)
        except LookupError:
            self._launch_again(name, attempt + 1, since)
            return
        former = self._bench.find(name)
        if former is not None:
            # Of a session of the same name that was deleted before: its event comes first.
            self._remove(former)
        job = self._jobs.new_name(name)
        self._book.change_session(name, job=job)
        self._monitor.add(self._jobs.start(session, layers, job))

    def _launch_again(self, name: str, attempt: int, since: float) -> None:
        if attempt <= TRIES or self._context.clock.now() - since <= LONGEST_TRYING:
            self._context.scheduler.after(TRY_AGAIN, _LAUNCH, name, attempt, since)

    def _hear(self, event: PodEvent) -> None:
        """What goes while its session is there was taken from outside: the job, or its pod, and then it has failed."""
        run = self._bench.of_pod(event.pod) if event.kind in ("deleted", "job-deleted") else None
        if run is None or run["seen"] == "complete" or event.what == "job":
            return
        if event.kind == "job-deleted":
            self._cut_off(run, lost=True)
        elif run["ended"] is None:
            self._cut_off(run, ended=self._context.clock.now(), code=1)

    def _cut_off(self, run: Run, **end: Any) -> None:
        self._configuring.forget(run)
        self._leave_orphans(self._bench.put(run, course=None, inventory=None, **end))

    def _leave_orphans(self, run: Run) -> None:
        """Another loop of the operator finds jobs of IMS whose session is over."""
        moment = next_tick(self._context.clock.now(), ORPHANS) + ORPHANS
        for made in run["images"].values():
            self._context.scheduler.at(moment, _ORPHAN, made["job"])

    def _remove_orphan(self, job_id: str) -> None:
        if not self._context.cluster.runs(CFS_OPERATOR):
            self._context.scheduler.after(ORPHANS, _ORPHAN, job_id)
            return
        try:
            status = self._ims.job(job_id)["status"]
        except ImsSilent:
            self._context.scheduler.after(ORPHANS, _ORPHAN, job_id)
        except ImsRefused:
            return
        else:
            if status not in ("success", "error"):
                self._ims.delete_job(job_id)
