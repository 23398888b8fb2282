"""Jobs: a Job is what its pods say. Services start those pods; here a Job can be seen and deleted."""

from __future__ import annotations

from collections.abc import Iterable

from canton.emulator.cluster.cluster import BATCH
from canton.emulator.cluster.pods import Pod, PodEvent
from canton.emulator.faces.kubernetes import pod_view
from canton.emulator.faces.kubernetes.kinds import JOBS, Json
from canton.emulator.faces.kubernetes.statuses import wrong_method
from canton.emulator.faces.kubernetes.store import FIRST_VERSION, Store, stamped
from canton.emulator.machine.clock import rfc3339
from canton.emulator.world import World

_OWN_LABELS = ("job-name", "controller-uid", f"{BATCH}/job-name", f"{BATCH}/controller-uid", "pod-template-hash")


class Jobs:
    """A source of objects."""

    def __init__(self, world: World, store: Store) -> None:
        self._world = world
        self._store = store
        self._versions = world.shelves.open("kubernetes.jobs")
        self._pods: dict[tuple[str, str], dict[str, Pod]] = {}
        for pod in (*world.cluster.bereft_jobs(), *world.cluster.pods()):
            self._file(pod)
        world.cluster.watch(self._hear)

    def get(self, namespace: str, name: str) -> Json:
        pods = self._pods.get((namespace, name))
        return self._view(namespace, name, pods.values()) if pods else None

    def list(self, namespace: str) -> list[Json]:
        return [
            self._view(space, name, pods.values())
            for (space, name), pods in sorted(self._pods.items())
            if namespace in ("", space)
        ]

    def put(self, _: Json) -> Json:
        raise wrong_method()

    def remove(self, namespace: str, name: str) -> Json:
        found = self.get(namespace, name)
        self._world.cluster.delete_job(namespace, name)
        return found

    def _file(self, pod: Pod) -> None:
        if pod.owner and pod.owner[0] == "Job":
            self._pods.setdefault((pod.namespace, pod.owner[1]), {})[pod.name] = pod

    def _hear(self, event: PodEvent) -> None:
        pod = event.pod
        if not pod.owner or pod.owner[0] != "Job" or event.kind == "file" or event.what == "job":
            return
        key = (pod.namespace, pod.owner[1])
        before = self.get(*key)
        if event.kind == "job-deleted":
            del self._pods[key]
            self._versions.pop("/".join(key), None)
            self._store.note(JOBS.place, "DELETED", stamped(before, self._store.next_version()), before)
            return
        self._file(pod)
        if self.get(*key) != before:
            self._versions["/".join(key)] = self._store.next_version()
            self._store.note(JOBS.place, "MODIFIED" if before else "ADDED", self.get(*key), before)

    def _view(self, namespace: str, name: str, pods: Iterable[Pod]) -> Json:
        listed = sorted(pods, key=lambda pod: pod.made)
        first = listed[0]
        uid = self._world.cluster.job_uid(namespace, name)
        labels = {key: value for key, value in first.labels.items() if key not in _OWN_LABELS}
        template = {"metadata": {"labels": dict(first.labels)}, "spec": pod_view.spec(first)}
        return {
            "kind": "Job",
            "apiVersion": "batch/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "resourceVersion": str(self._versions.get(f"{namespace}/{name}", FIRST_VERSION)),
                "generation": 1,
                "creationTimestamp": rfc3339(first.made, 0),
                "labels": labels,
            },
            "spec": {
                "parallelism": 1,
                "completions": 1,
                "backoffLimit": 0,
                "selector": {"matchLabels": {f"{BATCH}/controller-uid": uid}},
                "template": template,
            },
            "status": _status(listed),
        }


def _status(pods: list[Pod]) -> Json:
    phases = [pod.phase for pod in pods]
    counts = {
        "active": sum(phase in ("Pending", "Running") for phase in phases),
        "succeeded": phases.count("Succeeded"),
        "failed": phases.count("Failed"),
    }
    told: Json = {"startTime": rfc3339(pods[0].made, 0), **{name: count for name, count in counts.items() if count}}
    told |= {"ready": phases.count("Running"), "terminating": 0}
    ends = [one.ended for pod in pods for one in pod.containers if one.ended is not None]
    if not counts["active"] and ends:
        ended = rfc3339(max(ends), 0)
        failed = not counts["succeeded"]
        why = {"reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}
        told["conditions"] = [
            {
                "type": "Failed" if failed else "Complete",
                "status": "True",
                "lastProbeTime": ended,
                "lastTransitionTime": ended,
                **(why if failed else {}),
            }
        ]
        if not failed:
            told["completionTime"] = ended
    return told
