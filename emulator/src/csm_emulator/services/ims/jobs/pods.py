"""The pods of jobs, and the steps that each of them goes through."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.cluster.pods import Container, Pod, PodEvent
from csm_emulator.context import Context
from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.context import Event
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.records import Record
from csm_emulator.seed_data.images import INITRD, KERNEL, PARAMETERS
from csm_emulator.services.ims.images.artifacts import Bucket
from csm_emulator.services.ims.images.root_file_system import image_root
from csm_emulator.services.ims.jobs import build as building
from csm_emulator.services.ims.jobs import customize as customizing
from csm_emulator.services.ims.jobs import upload as packaging
from csm_emulator.services.ims.jobs.pod import NAMESPACE, STEP, Run
from csm_emulator.services.ims.jobs.requests import Source
from csm_emulator.services.ims.schemas.bodies import CREATE, CUSTOMIZE, UNDER_WAY

_STEPS = {
    CUSTOMIZE: {
        "fetch": customizing.fetch,
        "unpacked": customizing.unpacked,
        "ready": customizing.ready,
        "left": customizing.left,
        "lost": customizing.lost,
        "upload": packaging.upload,
    },
    CREATE: {
        "fetch": building.fetch,
        "repos": building.repos,
        "build": building.build,
        "built": building.built,
        "upload": packaging.upload,
    },
}
_USUALLY_STUCK = {CUSTOMIZE: "waiting_on_user", CREATE: "building_image"}
_HEARTBEATS = 60.0
"""Twelve, five seconds apart."""
_SIGNING_KEYS = ("/signing-keys/hpe-signing-key.asc", "/signing-keys/suse-signing-key.asc")
_REGISTRY = "artifactory.algol60.net/csm-docker/stable"


def _check_status(fault: Fault) -> None:
    status = fault.facts.get("status", UNDER_WAY[0])
    if status not in UNDER_WAY:
        raise InvalidMachine(f"no job under way has the status {status!r}; there are {', '.join(UNDER_WAY)}")


class Runs:
    def __init__(self, context: Context, s3: Bucket) -> None:
        self._context = context
        self._s3 = s3
        self._table = context.tables.open("ims.runs")
        context.scheduler.answer(STEP, self._step)
        context.faults.answer("image-job-stuck", _check_status)
        context.cluster.watch(self._seen)
        context.cluster.volumes.append(self._files)
        context.machine.watch(self._heard)

    def start(self, job: Record, source: Source) -> None:
        """The pod is there at once, and begins when its image is pulled."""
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
        run = self._run(job_id)
        run.go("fetch", run.chance(4, 15, "schedule"))

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
        """The pod goes, whatever it is doing."""
        self._context.cluster.delete_job(NAMESPACE, job["kubernetes_job"])

    def _run(self, job_id: str) -> Run:
        return Run(self._context, self._table, self._s3, job_id)

    def _step(self, job_id: str, step: str, tries: int) -> None:
        """Nothing, when the pod is gone by now."""
        if job_id not in self._table:
            return
        run = self._run(job_id)
        if self._sticks(run):
            run.keep(next="stuck")
            return
        _STEPS[run["kind"]][step](run, tries)

    def _sticks(self, run: Run) -> bool:
        status, usual = run["status"], _USUALLY_STUCK[run["kind"]]
        return (
            self._context.faults.strikes(
                "image-job-stuck",
                run.job_id,
                run["name"],
                when=lambda fault: bool(fault.facts.get("status", usual) == status),
            )
            is not None
        )

    def _seen(self, event: PodEvent) -> None:
        job_id = _job_of(event.pod)
        if job_id not in self._table:
            return
        run = self._run(job_id)
        if event.kind == "deleted":
            run.drop_files()
            del self._table[job_id]
        elif event.kind == "file":
            path = event.what.partition(":")[2]
            if path.rpartition("/")[2] in (customizing.COMPLETE, customizing.FAILED):
                customizing.signalled(run, path)

    def _files(self, pod: Pod, container: str) -> Mapping[str, str]:
        """A builder has signing keys, the others the image that is laid out; a remote job has it on another node."""
        facts = self._table.get(_job_of(pod))
        if facts is not None and container == building.BUILD:
            return dict.fromkeys(_SIGNING_KEYS, "-----BEGIN PGP PUBLIC KEY BLOCK-----\n")
        if facts is None or facts["remote"] or container not in (customizing.SHELL, packaging.SIDECAR):
            return {}
        return image_root(facts["arch"])

    def _heard(self, event: Event) -> None:
        """A node that goes takes the container with it in which somebody works on an image."""
        if event.kind != "beat" or event.value != "stopped":
            return
        for job_id, facts in list(self._table.items()):
            if facts["remote"] == event.xname and facts["next"] == "user":
                self._run(job_id).go("lost", _HEARTBEATS)


def _job_of(pod: Pod) -> str:
    if pod.namespace != NAMESPACE:
        return ""
    return pod.labels.get("job-name", "").removeprefix("cray-ims-").rpartition("-")[0]


def _containers(kind: str) -> list[Container]:
    utils, shell = f"{_REGISTRY}/cray-ims-utils:2.17.0", f"{_REGISTRY}/cray-ims-sshd:1.13.0"
    both = [Container(packaging.SIDECAR, utils), Container(customizing.SHELL, shell)]
    if kind == CUSTOMIZE:
        return [Container(customizing.PREPARE, utils, init=True), *both]
    builder = f"{_REGISTRY}/cray-ims-kiwi-ng-opensuse-x86_64-builder:1.9.0"
    first = [Container(name, utils, init=True) for name in (building.FETCH, building.REPOS, building.CA_RPM)]
    return [*first, Container(building.BUILD, builder, init=True), *both]
