"""The events that the operator handles: sessions that are created or deleted, and jobs that disappear."""

from __future__ import annotations

from csm_emulator.cluster.pods import PodEvent
from csm_emulator.cluster.service_workloads import CFS_OPERATOR
from csm_emulator.context import Context
from csm_emulator.services.cfs.jobs.ansible.container import AnsibleContainer
from csm_emulator.services.cfs.jobs.ansible.layer_runs import LayerRuns
from csm_emulator.services.cfs.jobs.git_clone import GitCloneContainer
from csm_emulator.services.cfs.jobs.ims_client import ImsClient, ImsError, ImsUnavailable
from csm_emulator.services.cfs.jobs.inventory.container import InventoryContainer
from csm_emulator.services.cfs.jobs.inventory.images import ImageInventory
from csm_emulator.services.cfs.jobs.job_context import NAMESPACE, JobContext, Run
from csm_emulator.services.cfs.jobs.job_creation import JobCreator
from csm_emulator.services.cfs.jobs.monitor import JobMonitor
from csm_emulator.services.cfs.jobs.repositories import RepositoryCache
from csm_emulator.services.cfs.jobs.teardown import TeardownContainer
from csm_emulator.services.cfs.records import CfsRecords
from csm_emulator.services.cfs.sources.vcs import Vcs
from csm_emulator.state.clock import next_tick

EVENT_DELAY = (0.3, 1.5)
"""Shortest and longest seconds until Kafka delivers an event to the operator."""
TRIES, RETRY_DELAY, MAX_RETRY_TIME = 10, 1.0, 600.0
"""An event that cannot be handled is retried after 1 s, and dropped after more than 10 tries and 600 s."""
ORPHAN_INTERVAL = 60.0
OPERATOR_CHECK_INTERVAL = 5.0
"""Seconds between checks whether a stopped operator is back."""
_LAUNCH, _DELETE, _ORPHAN = "cfs.session-heard", "cfs.session-deleted", "cfs.ims-job-left"
_STUCK = "cfs-session-stuck"


class SessionRuns:
    def __init__(self, context: Context, records: CfsRecords) -> None:
        self._context = context
        self._records = records
        self._job_context = JobContext(context, records)
        self._creator = JobCreator(self._job_context)
        self._ims = ImsClient(context.mesh)
        self._monitor = JobMonitor(self._job_context)
        repositories = RepositoryCache(Vcs(context), records)
        GitCloneContainer(self._job_context, repositories)
        inventory = InventoryContainer(self._job_context, repositories)
        ImageInventory(self._job_context, self._ims, inventory)
        self._ansible = AnsibleContainer(self._job_context, LayerRuns(self._job_context, repositories))
        TeardownContainer(self._job_context, self._ims)
        context.cluster.watch(self._on_pod_event)
        context.scheduler.register(_LAUNCH, self._launch)
        context.scheduler.register(_DELETE, self._delete)
        context.scheduler.register(_ORPHAN, self._remove_orphan)

    def session_created(self, name: str) -> None:
        """The API has created a session."""
        now = self._context.clock.now()
        self._context.scheduler.after(
            self._job_context.random_seconds(*EVENT_DELAY, "heard", name, now), _LAUNCH, name, 0, now
        )

    def session_deleted(self, name: str) -> None:
        """The API has deleted a session: the operator deletes its job and its IMS jobs.

        While the operator is down, Kafka keeps the event and the job continues.
        """
        run = self._job_context.find(name)
        if run is not None:
            self._delete(name, run["job"])

    def _delete(self, name: str, job: str) -> None:
        """Delete the job of a deleted session, unless it is deleted already."""
        run = self._job_context.find(name)
        if run is None or run["job"] != job:
            return
        if self._context.cluster.runs(CFS_OPERATOR):
            self._remove(run)
        else:
            self._context.scheduler.after(OPERATOR_CHECK_INTERVAL, _DELETE, name, job)

    def _remove(self, run: Run) -> None:
        self._ansible.forget(run)
        self._job_context.forget(run)
        self._context.cluster.delete_job(NAMESPACE, run["job"])
        for image_job in run["images"].values():
            if "ended" not in image_job:
                self._ims.delete_job(image_job["job"])

    def _launch(self, name: str, attempt: int, since: float) -> None:
        session = self._records.session(name)
        status = session["status"]["session"] if session else {}
        if session is None or status.get("job") or status.get("status") != "pending":
            return
        if not self._context.cluster.runs(CFS_OPERATOR):
            # The operator is down: Kafka keeps the event until it is back.
            self._context.scheduler.after(OPERATOR_CHECK_INTERVAL, _LAUNCH, name, attempt, self._context.clock.now())
            return
        if self._context.faults.trigger(_STUCK, name):
            return
        try:
            layers = self._records.layers(session)
        except LookupError:
            self._launch_again(name, attempt + 1, since)
            return
        previous = self._job_context.find(name)
        if previous is not None:
            # The run of a deleted session with the same name: its deletion comes before this event.
            self._remove(previous)
        job = self._creator.new_name(name)
        self._records.change_session(name, job=job)
        self._monitor.add(self._creator.start(session, layers, job))

    def _launch_again(self, name: str, attempt: int, since: float) -> None:
        if attempt <= TRIES or self._context.clock.now() - since <= MAX_RETRY_TIME:
            self._context.scheduler.after(RETRY_DELAY, _LAUNCH, name, attempt, since)

    def _on_pod_event(self, event: PodEvent) -> None:
        """A job or pod that is deleted while its session exists was deleted by a user; the run then fails."""
        run = self._job_context.run_of_pod(event.pod) if event.kind in ("deleted", "job-deleted") else None
        if run is None or run["seen"] == "complete" or event.what == "job":
            return
        if event.kind == "job-deleted":
            self._fail_run(self._job_context.put(run, lost=True))
        elif run["ended"] is None:
            self._fail_run(self._job_context.put(run, ended=self._context.clock.now(), code=1))

    def _fail_run(self, run: Run) -> None:
        self._ansible.forget(run)
        self._schedule_orphan_deletion(self._job_context.put(run, course=None, inventory=None))

    def _schedule_orphan_deletion(self, run: Run) -> None:
        """Schedule the deletion of IMS jobs whose session is over, which a periodic loop of the operator does."""
        moment = next_tick(self._context.clock.now(), ORPHAN_INTERVAL) + ORPHAN_INTERVAL
        for image_job in run["images"].values():
            self._context.scheduler.at(moment, _ORPHAN, image_job["job"])

    def _remove_orphan(self, job_id: str) -> None:
        if not self._context.cluster.runs(CFS_OPERATOR):
            self._context.scheduler.after(ORPHAN_INTERVAL, _ORPHAN, job_id)
            return
        try:
            status = self._ims.job(job_id)["status"]
        except ImsUnavailable:
            self._context.scheduler.after(ORPHAN_INTERVAL, _ORPHAN, job_id)
        except ImsError:
            return
        else:
            if status not in ("success", "error"):
                self._ims.delete_job(job_id)
