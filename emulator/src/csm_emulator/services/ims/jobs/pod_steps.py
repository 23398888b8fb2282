"""The pods of jobs and the steps that each pod goes through."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.cluster.pods import Container, Pod, PodEvent
from csm_emulator.context import Context
from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.context import Event
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.records import Record
from csm_emulator.seed_data.images import INITRD, KERNEL, PARAMETERS
from csm_emulator.services.ims.images.artifacts import S3WithMetadata
from csm_emulator.services.ims.images.root_file_system import image_root
from csm_emulator.services.ims.jobs import build, customize, upload
from csm_emulator.services.ims.jobs.job_pod import NAMESPACE, STEP, JobPod
from csm_emulator.services.ims.jobs.requests import JobSource
from csm_emulator.services.ims.schemas import CREATE, CUSTOMIZE, RUNNING_STATUSES
from csm_emulator.state.tables import RecordTable

_STEPS = {
    CUSTOMIZE: {
        "fetch": customize.fetch,
        "unpacked": customize.unpacked,
        "ready": customize.ready,
        "left": customize.shell_exited,
        "lost": customize.node_lost,
        "upload": upload.upload,
    },
    CREATE: {
        "fetch": build.fetch,
        "repos": build.repos,
        "build": build.build,
        "built": build.built,
        "upload": upload.upload,
    },
}
_DEFAULT_STUCK_STATUS = {CUSTOMIZE: "waiting_on_user", CREATE: "building_image"}
_HEARTBEAT_TIMEOUT = 60.0
"""Seconds until a lost remote node is noticed: twelve heartbeats, five seconds apart."""
_SIGNING_KEYS = ("/signing-keys/hpe-signing-key.asc", "/signing-keys/suse-signing-key.asc")
_REGISTRY = "artifactory.algol60.net/csm-docker/stable"


def _check_status(fault: Fault) -> None:
    status = fault.facts.get("status", RUNNING_STATUSES[0])
    if status not in RUNNING_STATUSES:
        raise InvalidMachine(f"no job under way has the status {status!r}; there are {', '.join(RUNNING_STATUSES)}")


class JobPods:
    def __init__(self, context: Context, s3: S3WithMetadata) -> None:
        self._context = context
        self._s3 = s3
        self._table: RecordTable[Record] = context.tables.open("ims.runs")
        context.scheduler.register(STEP, self._step)
        context.faults.register("image-job-stuck", _check_status)
        context.cluster.watch(self._on_pod_event)
        context.cluster.volumes.append(self._files)
        context.machine.watch(self._on_machine_event)

    def start(self, job: Record, source: JobSource) -> None:
        """Create the pod; its first step runs when the container image is pulled."""
        job_id = job["id"]
        pod = f"{job['kubernetes_job']}-{self._context.random.hex(5, 'ims.pod', job_id)}"
        self._table[job_id] = {
            "pod": pod,
            "kind": job["job_type"],
            "status": job["status"],
            "name": job["image_root_archive_name"],
            "arch": job["arch"],
            "dkms": job["require_dkms"],
            "remote": job["remote_build_node"],
            "jail": bool(job["ssh_containers"] and job["ssh_containers"][0]["jail"]),
            "names": {
                KERNEL: job["kernel_file_name"],
                INITRD: job["initrd_file_name"],
                PARAMETERS: job["kernel_parameters_file_name"],
            },
            "source": source.record["id"],
            "link": source.link,
            "links": {kind: link for kind, link in source.files.items() if kind in (KERNEL, INITRD, PARAMETERS)},
            "md5": source.md5,
            "template": {pair["key"]: pair["value"] for pair in source.record.get("template_dictionary") or ()},
            "recipe_type": source.record.get("recipe_type", ""),
            "files": [],
            "image": "",
            "next": "",
        }
        self._start_pod(job, pod)
        job_pod = self._job_pod(job_id)
        job_pod.schedule_step("fetch", job_pod.random_seconds(4, 15, "schedule"))

    def _start_pod(self, job: Record, pod: str) -> None:
        self._context.cluster.start_pod(
            NAMESPACE,
            pod,
            _containers(job["job_type"]),
            {
                "app": f"ims-{job['id']}-{job['job_type']}",
                "app.kubernetes.io/name": "ims-job",
            },
            owner=("Job", job["kubernetes_job"]),
        )

    def remove(self, job: Record) -> None:
        """Delete the pod in whatever step it is."""
        self._context.cluster.delete_job(NAMESPACE, job["kubernetes_job"])

    def _job_pod(self, job_id: str) -> JobPod:
        return JobPod(self._context, self._table, self._s3, job_id)

    def _step(self, job_id: str, step: str, tries: int) -> None:
        """Run the step, unless the pod has been deleted meanwhile."""
        if job_id not in self._table:
            return
        job_pod = self._job_pod(job_id)
        if self._is_stuck(job_pod):
            job_pod.update(next="stuck")
            return
        _STEPS[job_pod["kind"]][step](job_pod, tries)

    def _is_stuck(self, job_pod: JobPod) -> bool:
        status, usual = job_pod["status"], _DEFAULT_STUCK_STATUS[job_pod["kind"]]
        return (
            self._context.faults.trigger(
                "image-job-stuck",
                job_pod.job_id,
                job_pod["name"],
                when=lambda fault: bool(fault.facts.get("status", usual) == status),
            )
            is not None
        )

    def _on_pod_event(self, event: PodEvent) -> None:
        job_id = _job_of(event.pod)
        if job_id not in self._table:
            return
        job_pod = self._job_pod(job_id)
        if event.kind == "deleted":
            job_pod.drop_files()
            del self._table[job_id]
        elif event.kind == "file":
            path = event.what.partition(":")[2]
            if path.rpartition("/")[2] in (customize.COMPLETE, customize.FAILED):
                customize.signalled(job_pod, path)

    def _files(self, pod: Pod, container: str) -> Mapping[str, str]:
        """Signing keys for a builder; the unpacked image for other containers, unless the job is on a remote node."""
        facts = self._table.get(_job_of(pod))
        if facts is not None and container == build.BUILD:
            return dict.fromkeys(_SIGNING_KEYS, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
        if facts is None or facts["remote"] or container not in (customize.SHELL, upload.SIDECAR):
            return {}
        return image_root(facts["arch"])

    def _on_machine_event(self, event: Event) -> None:
        """When a remote build node stops, customisation jobs on it fail."""
        if event.kind != "beat" or event.value != "stopped":
            return
        for job_id, facts in list(self._table.items()):
            if facts["remote"] == event.xname and facts["next"] == "user":
                self._job_pod(job_id).schedule_step("lost", _HEARTBEAT_TIMEOUT)


def _job_of(pod: Pod) -> str:
    if pod.namespace != NAMESPACE:
        return ""
    return pod.labels.get("job-name", "").removeprefix("cray-ims-").rpartition("-")[0]


def _containers(kind: str) -> list[Container]:
    utils, shell = f"{_REGISTRY}/cray-ims-utils:2.17.0", f"{_REGISTRY}/cray-ims-sshd:1.13.0"
    both = [Container(upload.SIDECAR, utils), Container(customize.SHELL, shell)]
    if kind == CUSTOMIZE:
        return [Container(customize.PREPARE, utils, init=True), *both]
    builder = f"{_REGISTRY}/cray-ims-kiwi-ng-opensuse-x86_64-builder:1.9.0"
    first = [Container(name, utils, init=True) for name in (build.FETCH, build.REPOS, build.CA_RPM)]
    return [*first, Container(build.BUILD, builder, init=True), *both]
