"""CronJobs: each creates a Job at the times of its schedule.

The Jobs are created at the next request of a client, with the times at which they would have run: a month of virtual
time without requests does not cost fifty thousand Jobs. Jobs that the history limit would have removed by then are not
created.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.controllers.cron_schedule import Schedule, ScheduleError, read_schedule
from csm_emulator.services.kubernetes.controllers.jobs import Jobs
from csm_emulator.services.kubernetes.kinds.kinds import CRON_JOBS, JOBS, Kind
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

MOST_RUNS = 10
"""Missed Jobs of one CronJob that are created at once."""
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


@lru_cache(maxsize=256)
def _schedule(text: str) -> Schedule | None:
    try:
        return read_schedule(text)
    except ScheduleError:
        return None


class CronJobs:
    def __init__(self, objects: Objects, jobs: Jobs) -> None:
        self._objects = objects
        self._jobs = jobs
        self._checked_until: RecordTable[float] = objects.context.tables.open("kubernetes.cron-jobs")
        """By CronJob: the time up to which its schedule was evaluated; for a new one, its creation."""
        self._idle_minute = -1
        """The minute for which no work is left."""
        objects.listeners.append(self._changed)
        for cron_job in objects.store.list(CRON_JOBS.storage_key):
            self._checked_until.setdefault(_key(cron_job), objects.context.clock.now())

    def _changed(self, kind: Kind, previous: Json, current: Json) -> None:
        if kind == CRON_JOBS and previous is None:
            self._checked_until[_key(current)] = self._objects.context.clock.now()
        elif kind == CRON_JOBS and current is None:
            self._checked_until.pop(_key(previous), None)
            for job in self._jobs_of(previous):
                self._objects.remove(JOBS, job["metadata"]["namespace"], job["metadata"]["name"])
        elif kind == CRON_JOBS and previous["spec"].get("suspend") and not current["spec"].get("suspend"):
            self._resume(current)

    def _resume(self, cron_job: Json) -> None:
        """Start the last missed Job at once, unless ``startingDeadlineSeconds`` has passed."""
        now, deadline = self._objects.context.clock.now(), cron_job["spec"].get("startingDeadlineSeconds")
        since = self._checked_until[_key(cron_job)]
        self._checked_until[_key(cron_job)] = now
        self._run_missed(cron_job, since if deadline is None else max(since, now - deadline), now, resumed=True)
        self._idle_minute = -1

    def catch_up(self) -> None:
        """Create the Jobs that were due since the last call."""
        now = self._objects.context.clock.now()
        if int(now // 60) == self._idle_minute:
            return
        busy = False
        for cron_job in self._objects.store.list(CRON_JOBS.storage_key):
            if not cron_job["spec"].get("suspend"):
                since = self._checked_until[_key(cron_job)]
                self._checked_until[_key(cron_job)] = now
                self._run_missed(cron_job, since, now)
            busy |= self._update_status(cron_job["metadata"]["namespace"], cron_job["metadata"]["name"])
        self._idle_minute = -1 if busy else int(now // 60)

    def _run_missed(self, cron_job: Json, since: float, now: float, *, resumed: bool = False) -> None:
        """Create each Job at its scheduled time, or now when the CronJob was ``resumed``."""
        spec = cron_job["spec"]
        schedule = _schedule(spec["schedule"])
        if schedule is None or cron_job["metadata"].get("deletionTimestamp"):
            return
        limit = 1 if resumed else min(max(spec.get("successfulJobsHistoryLimit", 3), 1), MOST_RUNS)
        for moment in schedule.latest(since, now, limit):
            active = [job for job in self._jobs_of(cron_job) if (job.get("status") or {}).get("active")]
            if active and spec.get("concurrencyPolicy") == "Forbid":
                continue
            if spec.get("concurrencyPolicy") == "Replace":
                for job in active:
                    self._objects.remove(JOBS, job["metadata"]["namespace"], job["metadata"]["name"])
            self._start(cron_job, moment, now if resumed else moment)
        self._trim_history(cron_job)

    def _start(self, cron_job: Json, moment: float, start_time: float) -> None:
        meta, template = cron_job["metadata"], cron_job["spec"]["jobTemplate"]
        template_meta = template.get("metadata") or {}
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": meta["name"], "uid": meta["uid"]}
        job_meta = {
            "name": f"{meta['name']}-{int(moment // 60)}",
            "namespace": meta["namespace"],
            "labels": template_meta.get("labels") or {},
            "annotations": {**(template_meta.get("annotations") or {}), _SCHEDULED: rfc3339(moment, 0)},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        if self._objects.get(JOBS, meta["namespace"], job_meta["name"]) is None:
            self._jobs.start({"metadata": job_meta, "spec": template["spec"]}, start_time)
            live = self._objects.get(CRON_JOBS, meta["namespace"], meta["name"])
            status = {**(live.get("status") or {}), "lastScheduleTime": rfc3339(moment, 0)}
            self._objects.put(CRON_JOBS, {**live, "status": status})

    def _trim_history(self, cron_job: Json) -> None:
        """Delete the oldest finished Jobs beyond the history limits."""
        for end, limit in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
            ended_jobs = [job for job in self._jobs_of(cron_job) if _condition(job) == end]
            ended_jobs.sort(key=lambda job: job["metadata"]["creationTimestamp"])
            for job in ended_jobs[: max(len(ended_jobs) - cron_job["spec"].get(limit, 1), 0)]:
                self._objects.remove(JOBS, job["metadata"]["namespace"], job["metadata"]["name"])

    def _update_status(self, namespace: str, name: str) -> bool:
        """Update the status; return whether a Job of this CronJob is active."""
        cron_job = self._objects.get(CRON_JOBS, namespace, name)
        previous = cron_job.get("status") or {}
        jobs = self._jobs_of(cron_job)
        active = [_reference(job) for job in jobs if (job.get("status") or {}).get("active")]
        completion_times = [job["status"]["completionTime"] for job in jobs if job["status"].get("completionTime")]
        status = {name: value for name, value in previous.items() if name != "active"}
        status |= {"active": active} if active else {}
        status |= {"lastSuccessfulTime": max(completion_times)} if completion_times else {}
        if status != previous:
            self._objects.put(CRON_JOBS, {**cron_job, "status": status})
        return bool(active)

    def _jobs_of(self, cron_job: Json) -> Sequence[Json]:
        return self._jobs.owned_by(cron_job["metadata"]["namespace"], cron_job["metadata"]["uid"])


def _key(cron_job: Json) -> str:
    return f"{cron_job['metadata']['namespace']}/{cron_job['metadata']['name']}"


def _condition(job: Json) -> str:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((condition["type"] for condition in conditions if condition["status"] == "True"), "")


def _reference(job: Json) -> Json:
    meta = job["metadata"]
    identity = {name: meta[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"kind": "Job", "apiVersion": "batch/v1", **identity}
