"""Creating the Kubernetes job and pod of a new session."""

from __future__ import annotations

from csm_emulator.cluster.pods import Container
from csm_emulator.records import Record
from csm_emulator.seed_data.cluster_nodes import one_of, workers
from csm_emulator.services.cfs.jobs.job_context import NAMESPACE, JobContext, Run
from csm_emulator.state.tables import RecordTable

_REGISTRY = "artifactory.algol60.net/csm-docker/stable"
UTILITY = f"{_REGISTRY}/cray-cfs-operator:1.29.0"
EXECUTION = f"{_REGISTRY}/cray-aee:1.21.0"
PROXY = f"{_REGISTRY}/docker.io/istio/proxyv2:1.19.10"
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""The characters that Kubernetes uses in generated name suffixes."""
_MAX_LABEL_LENGTH = 60


class JobCreator:
    def __init__(self, job_context: JobContext) -> None:
        self._job_context = job_context
        self._workers = workers(job_context.context.machine.topology)
        self._numbers: RecordTable[int] = job_context.context.tables.open("cfs.runs.numbers")

    def new_name(self, session: str) -> str:
        number = int(self._numbers.get("last", 0)) + 1
        self._numbers["last"] = number
        return f"cfs-{self._job_context.context.random.uuid('cfs.job', session, number)}"

    def start(self, session: Record, layers: list[Record], job: str) -> Run:
        """Start the job with this name; its first container begins when Kubernetes has scheduled the pod."""
        job_context = self._job_context
        pod = f"{job}-{self._suffix(job)}"
        run = job_context.put(
            {
                "name": session["name"],
                "job": job,
                "pod": pod,
                "began": job_context.context.clock.now(),
                "ended": None,
                "code": None,
                "lost": False,
                "seen": "pending",
                "layers": layers,
                "hosts": job_context.records.additional_inventory(session),
                "target": {"definition": "dynamic", **(session.get("target") or {})},
                "ansible": session.get("ansible") or {},
                "debug_wait": _debug_wait(session, job_context.records.options()),
                "inventory": None,
                "generated": [],
                "course": None,
                "images": {},
                "key": None,
                "commands": [],
                "applied": [],
            }
        )
        self._start_pod(run, session)
        job_context.schedule(run, job_context.random_seconds(3.0, 9.0, job, "scheduled"), "clone")
        return run

    def _start_pod(self, run: Run, session: Record) -> None:
        name = session["name"][:_MAX_LABEL_LENGTH]
        labels = {
            "aee": name,
            "app.kubernetes.io/name": "cray-cfs-aee",
            "cfsession": name,
            "cfsversion": "v3",
            "configuration": session["configuration"]["name"][:_MAX_LABEL_LENGTH],
        }
        main = [("inventory", UTILITY), ("ansible", EXECUTION)]
        main += [("teardown", UTILITY)] if run["target"]["definition"] == "image" else []
        containers = [Container("git-clone", UTILITY, init=True)]
        containers += [Container(container, image) for container, image in (*main, ("istio-proxy", PROXY))]
        self._job_context.context.cluster.start_pod(
            NAMESPACE, run["pod"], containers, labels, owner=("Job", run["job"]), node=self._worker(run["job"])
        )

    def _worker(self, job: str) -> str:
        return one_of(self._workers, self._job_context.context.random, job)

    def _suffix(self, job: str) -> str:
        random = self._job_context.context.random
        return "".join(_SUFFIX[int(random.roll("cfs.pod", job, position) * len(_SUFFIX))] for position in range(5))


def _debug_wait(session: Record, options: Record) -> int:
    return int(options.get("debug_wait_time") or 0) if session.get("debug_on_failure") else 0
