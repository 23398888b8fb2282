"""The container ``inventory`` for image targets: IMS opens each image in a container that Ansible can reach."""

from __future__ import annotations

import json

from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.jobs.ims_client import ImsClient, ImsError, ImsUnavailable
from csm_emulator.services.cfs.jobs.inventory.container import InventoryContainer, spec_groups
from csm_emulator.services.cfs.jobs.job_context import Connection, ImageJob, JobContext, Run
from csm_emulator.services.cfs.jobs.repositories import VcsUnavailable

POLL = 5.0
TRIES = 20
"""Attempts before the job fails because IMS does not answer."""
_LOGGER = "cray.cfs.inventory.image"
_ALL_IMAGES = "cfs_image"


class ImageInventory:
    def __init__(self, job_context: JobContext, ims: ImsClient, container: InventoryContainer) -> None:
        self._job_context = job_context
        self._ims = ims
        self._container = container
        job_context.on_step("image-inventory", self._request)
        job_context.on_step("image-poll", self._poll)
        job_context.on_step("image-ready", self._ready)

    def _log(self, run: Run, message: str, level: str = "INFO") -> None:
        self._container.log(run, message, level, _LOGGER)

    def _request(self, run: Run, attempt: int) -> None:
        """Upload a key and start a job for every image; steps that were completed before are skipped."""
        try:
            if run["key"] is None:
                self._log(run, "Uploading public key to IMS for SSH container access.")
                run = self._job_context.put(run, key=self._ims.upload_key(f"cfs_{run['name']}", self._public_key(run)))
            for image in dict.fromkeys(image for members in spec_groups(run).values() for image in members):
                if image not in run["images"]:
                    run = self._request_image(run, image)
        except ImsUnavailable:
            self._retry(run, "image-inventory", attempt)
        except ImsError as error:
            self._fail(run, str(error))
        else:
            self._job_context.schedule(run, 1.0, "image-poll", self._job_context.context.clock.now(), 1)

    def _request_image(self, run: Run, image: str) -> Run:
        self._log(run, f"Requesting access to IMS image={image!r}")
        image_record = self._ims.image(image)
        body: Record = {
            "job_type": "customize",
            "image_root_archive_name": _result_name(run, image) or f"{image_record['name']}_cfs_{run['name']}",
            "artifact_id": image,
            "public_key_id": run["key"],
            "ssh_containers": [{"name": run["name"], "jail": True}],
        }
        if any(layer["special_parameters"].get("ims_require_dkms") for layer in run["layers"]):
            body["require_dkms"] = True
        job = self._ims.start_job(body)
        self._job_context.records.change_session(run["name"], ims_job=job["id"])
        image_job = ImageJob(job=job["id"], name=body["image_root_archive_name"], arch=image_record.get("arch", ""))
        return self._job_context.put(run, images={**run["images"], image: image_job})

    def _poll(self, run: Run, since: float, attempt: int) -> None:
        waiting = False
        try:
            for image, image_job in run["images"].items():
                if "host" not in image_job:
                    connection = self._check_job(run, image, image_job, since)
                    waiting |= connection is None
                    if connection:
                        run = self._job_context.put(run, images={**run["images"], image: {**image_job, **connection}})
        except ImsUnavailable:
            self._retry(run, "image-poll", attempt, since)
        except ImsError as error:
            self._fail(run, str(error))
        else:
            self._job_context.schedule(run, *((POLL, "image-poll", since, 1) if waiting else (2.0, "image-ready")))

    def _check_job(self, run: Run, image: str, image_job: ImageJob, since: float) -> Connection | None:
        """Host and port of the container; None while it is not ready."""
        job = self._ims.job(image_job["job"])
        description = f"for IMS image={image!r} job={image_job['job']!r}"
        if job["status"] in ("error", "success"):
            raise ImsError(f"IMS status={job['status']} {description}, SSH container was not created.")
        if job["status"] != "waiting_on_user":
            elapsed = int(self._job_context.context.clock.now() - since)
            self._log(run, f"IMS status={job['status']} {description}. Elapsed time={elapsed}s")
            return None
        for container in job.get("ssh_containers") or ():
            if container["name"] == run["name"]:
                address = container["connection_info"]["cluster.local"]
                self._log(run, "Checking ssh availability")
                waiting = f"Waiting for SSH to be available at {address['host']}:{address['port']}. Elapsed time=0s"
                self._log(run, waiting)
                return {"host": address["host"], "port": address["port"], "pod": job.get("kubernetes_job", "")}
        raise ImsError(f"IMS status=waiting_on_user {description}, but SSHcontainer was not created.")

    def _ready(self, run: Run) -> None:
        try:
            files = self._container.from_files(run)
        except VcsUnavailable:
            self._job_context.schedule(run, POLL, "image-ready")
            return
        self._remove_key(run)
        variables = {image: _variables(image_job) for image, image_job in run["images"].items()}
        jobs = {
            image_job["name"]: {"job_id": image_job["job"], "image_id": image}
            for image, image_job in run["images"].items()
        }
        groups = {**spec_groups(run), _ALL_IMAGES: list(run["images"])}
        inventory: dict[str, dict[str, Record]] = {
            name: {"hosts": {host: {} for host in members}} for name, members in groups.items()
        }
        inventory[_ALL_IMAGES] = {"hosts": variables}
        self._log(run, f"Generated image to job mapping={json.dumps(jobs, indent=2)} ")
        self._log(run, f"Inventory generated: {json.dumps(inventory, indent=2)} ")
        self._container.complete(run, groups, files, variables)

    def _remove_key(self, run: Run) -> None:
        if run["key"] is not None:
            self._log(run, "Removing public key from IMS.")
            if not self._ims.remove_key(run["key"]):
                self._log(run, "Unable to delete a public key to IMS.", "WARNING")

    def _retry(self, run: Run, step: str, attempt: int, *args: Json) -> None:
        if attempt < TRIES:
            self._job_context.schedule(run, min(2.0**attempt, 120.0), step, *args, attempt + 1)
        else:
            self._fail(run, "Max retries exceeded with url: /images")

    def _fail(self, run: Run, problem: str) -> None:
        self._log(run, problem, "ERROR")
        self._remove_key(run)
        failure = "One or more IMS jobs failed to launch."
        self._container.log(
            run, f"An error occurred while attempting to generate the inventory. Error: {failure}", "ERROR"
        )
        self._job_context.schedule(run, 0.2, "inventory-failed")

    def _public_key(self, run: Run) -> str:
        digits = self._job_context.context.random.hex(60, run["job"])
        return f"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY{digits} root@cfs"


def _result_name(run: Run, image: str) -> str:
    for mapping in run["target"].get("image_map") or ():
        if mapping.get("source_id") == image:
            return str(mapping.get("result_name") or "")
    return ""


def _variables(image_job: ImageJob) -> Record:
    return {
        "ansible_host": image_job["host"],
        "ansible_port": image_job["port"],
        "cray_cfs_image": True,
        "ansible_python_interpreter": "/usr/bin/env python3",
        "ansible_ssh_private_key_file": "/etc/ansible/ssh/id_image",
    }
