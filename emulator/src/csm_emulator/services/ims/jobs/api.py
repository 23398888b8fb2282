"""Endpoints of jobs, which create an image from a recipe or customise an image."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from csm_emulator.dialects.python_times import span, without_zone
from csm_emulator.records import Record
from csm_emulator.services.ims import schemas
from csm_emulator.services.ims.images.artifacts import Artifacts
from csm_emulator.services.ims.jobs.pod_steps import JobPods
from csm_emulator.services.ims.jobs.requests import (
    check_public_key,
    find_source,
    kernel_name,
    needs_dkms,
    ssh_containers,
)
from csm_emulator.services.ims.remote_build_nodes import RemoteNodes
from csm_emulator.services.ims.responses import (
    find_record,
    internal_error,
    jsonify,
    no_content,
    problem,
    read_body,
    restful_json,
)
from csm_emulator.services.ims.tables import Tables
from csm_emulator.state.clock import Clock
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

NAMESPACE = "ims"
_SIZES = {"build_env_size": 60, "job_mem_size": 8}
_DOMAIN = "ims.cmn.shasta.local"
_UNSUPPORTED = (
    "Unsupported {} {} in query parameters. Determine the specific information that is missing or invalid and then "
    "re-run the request with valid information."
)
_MAX_AGE_LENGTH = 64
"""Characters of an age that are parsed: the pattern is slow on long texts, and valid ages are short."""


class Jobs:
    def __init__(self, tables: Tables, artifacts: Artifacts, nodes: RemoteNodes, pods: JobPods, clock: Clock) -> None:
        self._tables = tables
        self._jobs = tables.jobs
        self._artifacts = artifacts
        self._nodes = nodes
        self._pods = pods
        self._clock = clock

    def routes(self, prefix: str) -> Sequence[Route]:
        return (
            Route("GET", f"{prefix}/jobs", lambda _: jsonify(list(self._jobs.values()))),
            Route("POST", f"{prefix}/jobs", self._create),
            Route("DELETE", f"{prefix}/jobs", self._delete_matching),
            Route("GET", f"{prefix}/jobs/{{id}}", lambda call: jsonify(find_record(self._jobs, call))),
            Route("PATCH", f"{prefix}/jobs/{{id}}", self._patch),
            Route("DELETE", f"{prefix}/jobs/{{id}}", self._delete),
        )

    def _create(self, call: Call) -> Reply:
        body = read_body(call)
        if not isinstance(body, dict | list | str) or (isinstance(body, str) and "require_dkms" in body):
            raise internal_error()
        request = schemas.load(schemas.Job, body)
        containers = ssh_containers(request)
        source = find_source(self._tables, self._artifacts, request)
        check_public_key(self._tables, request["public_key_id"])
        arch = source.record["arch"]
        job = {
            **_SIZES,
            **request,
            **self._tables.new("job"),
            "status": "creating",
            "arch": arch,
            "kernel_file_name": kernel_name(request, arch),
            "require_dkms": needs_dkms(request, source, requested="require_dkms" in body),
            "remote_build_node": self._nodes.choose(arch),
            "resultant_image_id": None,
        }
        job = {**job, **_kubernetes_names(job), "ssh_containers": _with_connections(job["id"], containers)}
        self._jobs[job["id"]] = job
        self._pods.start(job, source)
        return restful_json(job)

    def _patch(self, call: Call) -> Reply:
        job = find_record(self._jobs, call)
        body = read_body(call)
        schemas.load(schemas.JobPatch, body)
        job = {**job, **body}
        self._jobs[job["id"]] = job
        return jsonify(job)

    def _delete(self, call: Call) -> Reply:
        self._remove(find_record(self._jobs, call))
        return no_content()

    def _remove(self, job: Record) -> None:
        self._pods.remove(job)
        del self._jobs[job["id"]]

    def _delete_matching(self, call: Call) -> Reply:
        statuses = [status.lower() for status in call.all("status")]
        for status in statuses:
            if status not in schemas.STATUSES:
                raise problem(400, title=_UNSUPPORTED.format("status", status))
        kind = call.first("job_type")
        if kind and kind not in schemas.JOB_TYPES:
            raise problem(400, title=_UNSUPPORTED.format("job_type", kind))
        created_before = self._creation_limit(call.first("age")) if call.has("age") else None
        for job in list(self._jobs.values()):
            if _matches(job, statuses, kind, created_before):
                self._remove(job)
        return no_content()

    def _creation_limit(self, age: str) -> datetime:
        try:
            return without_zone(self._clock.now()) - span(age[:_MAX_AGE_LENGTH])
        except (OverflowError, ValueError):
            raise problem(400, title=_UNSUPPORTED.format("age", age)) from None


def _matches(job: Record, statuses: Sequence[str], kind: str, created_before: datetime | None) -> bool:
    if statuses and job["status"] not in statuses:
        return False
    if kind and job["job_type"] != kind:
        return False
    return created_before is None or created_before > datetime.fromisoformat(job["created"])


def _kubernetes_names(job: Record) -> Record:
    name = f"cray-ims-{job['id']}"
    return {
        "kubernetes_namespace": NAMESPACE,
        "kubernetes_job": f"{name}-{job['job_type']}",
        "kubernetes_service": f"{name}-service",
        "kubernetes_configmap": f"{name}-configmap",
        "kubernetes_pvc": f"{name}-job-claim",
        # A copy of the site's signing key, where it has one.
        "kubernetes_secret": None,
    }


def _with_connections(job_id: str, containers: list[Record] | None) -> list[Record] | None:
    """The first container with its connection. Its status stays "pending", since the real service never changes it."""
    if not containers:
        return containers
    hosts = {
        "customer_access": {"host": f"{job_id}.{_DOMAIN}", "port": 22},
        "cluster.local": {"host": f"cray-ims-{job_id}-service.{NAMESPACE}.svc.cluster.local", "port": 22},
    }
    return [{**containers[0], "status": "pending", "connection_info": hosts}]
