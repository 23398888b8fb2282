"""CronJobs: a Job each time that the schedule says so.

A run is made when a client looks at the cluster next, with the moments at which it happened: a month of virtual time in
which no client looks does not cost fifty thousand runs. What was missed beyond the history that is kept is left out, as
the history would have dropped it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from csm_emulator.services.kubernetes.controllers.cron_schedule import NoSchedule, Schedule, read_schedule
from csm_emulator.services.kubernetes.controllers.jobs import Jobs
from csm_emulator.services.kubernetes.kinds.kinds import CRON_JOBS, JOBS, Json, Kind
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.state.clock import rfc3339

MOST_RUNS = 10
"""That are made up for at once."""
_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


@lru_cache(maxsize=256)
def _schedule(text: str) -> Schedule | None:
    try:
        return read_schedule(text)
    except NoSchedule:
        return None


class CronJobs:
    def __init__(self, objects: Objects, jobs: Jobs) -> None:
        self._objects = objects
        self._jobs = jobs
        self._looked = objects.context.tables.open("kubernetes.cron-jobs")
        """Until when each schedule was looked at; one that is new is looked at from now on."""
        self._settled = -1
        """The minute in which nothing is left to do."""
        objects.listeners.append(self._changed)
        for cron_job in objects.store.list(CRON_JOBS.place):
            self._looked.setdefault(_key(cron_job), objects.context.clock.now())

    def _changed(self, kind: Kind, before: Json, after: Json) -> None:
        if kind == CRON_JOBS and before is None:
            self._looked[_key(after)] = self._objects.context.clock.now()
        elif kind == CRON_JOBS and after is None:
            self._looked.pop(_key(before), None)
            for job in self._of(before):
                self._objects.remove(JOBS, job["metadata"]["namespace"], job["metadata"]["name"])
        elif kind == CRON_JOBS and before["spec"].get("suspend") and not after["spec"].get("suspend"):
            self._resume(after)

    def _resume(self, cron_job: Json) -> None:
        """What was missed counts: the last of it runs at once, unless it is too late for it."""
        now, deadline = self._objects.context.clock.now(), cron_job["spec"].get("startingDeadlineSeconds")
        since = self._looked[_key(cron_job)]
        self._looked[_key(cron_job)] = now
        self._run_missed(cron_job, since if deadline is None else max(since, now - deadline), now, resumed=True)
        self._settled = -1

    def catch_up(self) -> None:
        """What the schedules wanted until now."""
        now = self._objects.context.clock.now()
        if int(now // 60) == self._settled:
            return
        busy = False
        for cron_job in self._objects.store.list(CRON_JOBS.place):
            if not cron_job["spec"].get("suspend"):
                since = self._looked[_key(cron_job)]
                self._looked[_key(cron_job)] = now
                self._run_missed(cron_job, since, now)
            busy |= self._tell_status(cron_job["metadata"]["namespace"], cron_job["metadata"]["name"])
        self._settled = -1 if busy else int(now // 60)

    def _run_missed(self, cron_job: Json, since: float, now: float, *, resumed: bool = False) -> None:
        """Each at its moment; one that was ``resumed`` now."""
        spec = cron_job["spec"]
        schedule = _schedule(spec["schedule"])
        if schedule is None or cron_job["metadata"].get("deletionTimestamp"):
            return
        most = 1 if resumed else min(max(spec.get("successfulJobsHistoryLimit", 3), 1), MOST_RUNS)
        for moment in schedule.latest(since, now, most):
            active = [job for job in self._of(cron_job) if (job.get("status") or {}).get("active")]
            if active and spec.get("concurrencyPolicy") == "Forbid":
                continue
            if spec.get("concurrencyPolicy") == "Replace":
                for job in active:
                    self._objects.remove(JOBS, job["metadata"]["namespace"], job["metadata"]["name"])
            self._start(cron_job, moment, now if resumed else moment)
        self._shorten(cron_job)

    def _start(self, cron_job: Json, moment: float, began: float) -> None:
        meta, template = cron_job["metadata"], cron_job["spec"]["jobTemplate"]
        about = template.get("metadata") or {}
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": meta["name"], "uid": meta["uid"]}
        made = {
            "name": f"{meta['name']}-{int(moment // 60)}",
            "namespace": meta["namespace"],
            "labels": about.get("labels") or {},
            "annotations": {**(about.get("annotations") or {}), _SCHEDULED: rfc3339(moment, 0)},
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        }
        if self._objects.get(JOBS, meta["namespace"], made["name"]) is None:
            self._jobs.start({"metadata": made, "spec": template["spec"]}, began)
            live = self._objects.get(CRON_JOBS, meta["namespace"], meta["name"])
            status = {**(live.get("status") or {}), "lastScheduleTime": rfc3339(moment, 0)}
            self._objects.put(CRON_JOBS, {**live, "status": status})

    def _shorten(self, cron_job: Json) -> None:
        """The oldest that have ended go, beyond what is kept."""
        for end, limit in (("Complete", "successfulJobsHistoryLimit"), ("Failed", "failedJobsHistoryLimit")):
            ended = [job for job in self._of(cron_job) if _condition(job) == end]
            ended.sort(key=lambda job: job["metadata"]["creationTimestamp"])
            for job in ended[: max(len(ended) - cron_job["spec"].get(limit, 1), 0)]:
                self._objects.remove(JOBS, job["metadata"]["namespace"], job["metadata"]["name"])

    def _tell_status(self, namespace: str, name: str) -> bool:
        """Whether a Job of it runs."""
        cron_job = self._objects.get(CRON_JOBS, namespace, name)
        before = cron_job.get("status") or {}
        jobs = self._of(cron_job)
        active = [_reference(job) for job in jobs if (job.get("status") or {}).get("active")]
        done = [job["status"]["completionTime"] for job in jobs if job["status"].get("completionTime")]
        status = {name: value for name, value in before.items() if name != "active"}
        status |= {"active": active} if active else {}
        status |= {"lastSuccessfulTime": max(done)} if done else {}
        if status != before:
            self._objects.put(CRON_JOBS, {**cron_job, "status": status})
        return bool(active)

    def _of(self, cron_job: Json) -> Sequence[Json]:
        return self._jobs.owned_by(cron_job["metadata"]["namespace"], cron_job["metadata"]["uid"])


def _key(cron_job: Json) -> str:
    return f"{cron_job['metadata']['namespace']}/{cron_job['metadata']['name']}"


def _condition(job: Json) -> str:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((one["type"] for one in conditions if one["status"] == "True"), "")


def _reference(job: Json) -> Json:
    meta = job["metadata"]
    named = {name: meta[name] for name in ("namespace", "name", "uid", "resourceVersion")}
    return {"kind": "Job", "apiVersion": "batch/v1", **named}
