"""The container ``inventory`` when images are the target: IMS opens each in a container that Ansible can reach."""

from __future__ import annotations

import json
from typing import Any

from csm_emulator.services.cfs.jobs.ims_client import Ims, ImsRefused, ImsSilent
from csm_emulator.services.cfs.jobs.inventory.container import Inventories, spec_groups
from csm_emulator.services.cfs.jobs.job_context import Bench, Run
from csm_emulator.services.cfs.jobs.repositories import Silent

POLL = 5.0
TRIES = 20
"""So often a silent IMS is asked before the job gives up."""
_LOGGER = "cray.cfs.inventory.image"
_ALL_IMAGES = "cfs_image"


class ImageInventories:
    def __init__(self, bench: Bench, ims: Ims, inventories: Inventories) -> None:
        self._bench = bench
        self._ims = ims
        self._inventories = inventories
        bench.answer("image-inventory", self._request)
        bench.answer("image-poll", self._poll)
        bench.answer("image-ready", self._ready)

    def _log(self, run: Run, message: str, level: str = "INFO") -> None:
        self._inventories.log(run, message, level, _LOGGER)

    def _request(self, run: Run, attempt: int) -> None:
        """A key, and a job for every image; what is done already is not done again."""
        try:
            if run["key"] is None:
                self._log(run, "Uploading public key to IMS for SSH container access.")
                run = self._bench.put(run, key=self._ims.upload_key(f"cfs_{run['name']}", self._public_key(run)))
            for image in dict.fromkeys(image for members in spec_groups(run).values() for image in members):
                if image not in run["images"]:
                    run = self._request_image(run, image)
        except ImsSilent:
            self._again(run, "image-inventory", attempt)
        except ImsRefused as error:
            self._refused(run, str(error))
        else:
            self._bench.next(run, 1.0, "image-poll", self._bench.context.clock.now(), 1)

    def _request_image(self, run: Run, image: str) -> Run:
        self._log(run, f"Requesting access to IMS image={image!r}")
        known = self._ims.image(image)
        body: dict[str, Any] = {
            "job_type": "customize",
            "image_root_archive_name": _result_name(run, image) or f"{known['name']}_cfs_{run['name']}",
            "artifact_id": image,
            "public_key_id": run["key"],
            "ssh_containers": [{"name": run["name"], "jail": True}],
        }
        if any(layer["special_parameters"].get("ims_require_dkms") for layer in run["layers"]):
            body["require_dkms"] = True
        job = self._ims.start_job(body)
        self._bench.book.change_session(run["name"], ims_job=job["id"])
        made = {"job": job["id"], "name": body["image_root_archive_name"], "arch": known.get("arch", "")}
        return self._bench.put(run, images={**run["images"], image: made})

    def _poll(self, run: Run, since: float, attempt: int) -> None:
        waiting = False
        try:
            for image, made in run["images"].items():
                if "host" not in made:
                    found = self._look(run, image, made, since)
                    waiting |= found is None
                    if found:
                        run = self._bench.put(run, images={**run["images"], image: {**made, **found}})
        except ImsSilent:
            self._again(run, "image-poll", attempt, since)
        except ImsRefused as error:
            self._refused(run, str(error))
        else:
            self._bench.next(run, *((POLL, "image-poll", since, 1) if waiting else (2.0, "image-ready")))

    def _look(self, run: Run, image: str, made: dict[str, Any], since: float) -> dict[str, Any] | None:
        """Where the container is reached; None as long as it is not there."""
        job = self._ims.job(made["job"])
        about = f"for IMS image={image!r} job={made['job']!r}"
        if job["status"] in ("error", "success"):
            raise ImsRefused(f"IMS status={job['status']} {about}, SSH container was not created.")
        if job["status"] != "waiting_on_user":
            elapsed = int(self._bench.context.clock.now() - since)
            self._log(run, f"IMS status={job['status']} {about}. Elapsed time={elapsed}s")
            return None
        for container in job.get("ssh_containers") or ():
            if container["name"] == run["name"]:
                where = container["connection_info"]["cluster.local"]
                self._log(run, "Checking ssh availability")
                waiting = f"Waiting for SSH to be available at {where['host']}:{where['port']}. Elapsed time=0s"
                self._log(run, waiting)
                return {"host": where["host"], "port": where["port"], "pod": job.get("kubernetes_job", "")}
        raise ImsRefused(f"IMS status=waiting_on_user {about}, but SSHcontainer was not created.")

    def _ready(self, run: Run) -> None:
        try:
            files = self._inventories.from_files(run)
        except Silent:
            self._bench.next(run, POLL, "image-ready")
            return
        self._remove_key(run)
        variables = {image: _variables(made) for image, made in run["images"].items()}
        jobs = {made["name"]: {"job_id": made["job"], "image_id": image} for image, made in run["images"].items()}
        groups = {**spec_groups(run), _ALL_IMAGES: list(run["images"])}
        shown: dict[str, dict[str, dict[str, Any]]] = {
            name: {"hosts": {host: {} for host in members}} for name, members in groups.items()
        }
        shown[_ALL_IMAGES] = {"hosts": variables}
        self._log(run, f"Generated image to job mapping={json.dumps(jobs, indent=2)} ")
        self._log(run, f"Inventory generated: {json.dumps(shown, indent=2)} ")
        self._inventories.done(run, groups, files, variables)

    def _remove_key(self, run: Run) -> None:
        if run["key"] is not None:
            self._log(run, "Removing public key from IMS.")
            if not self._ims.remove_key(run["key"]):
                self._log(run, "Unable to delete a public key to IMS.", "WARNING")

    def _again(self, run: Run, step: str, attempt: int, *args: Any) -> None:
        if attempt < TRIES:
            self._bench.next(run, min(2.0**attempt, 120.0), step, *args, attempt + 1)
        else:
            self._refused(run, "Max retries exceeded with url: /images")

    def _refused(self, run: Run, problem: str) -> None:
        self._log(run, problem, "ERROR")
        self._remove_key(run)
        failure = "One or more IMS jobs failed to launch."
        self._inventories.log(
            run, f"An error occurred while attempting to generate the inventory. Error: {failure}", "ERROR"
        )
        self._bench.next(run, 0.2, "inventory-failed")

    def _public_key(self, run: Run) -> str:
        digits = self._bench.context.random.hex(60, run["job"])
        return f"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY{digits} root@cfs"


def _result_name(run: Run, image: str) -> str:
    for mapping in run["target"].get("image_map") or ():
        if mapping.get("source_id") == image:
            return str(mapping.get("result_name") or "")
    return ""


def _variables(made: dict[str, Any]) -> dict[str, Any]:
    return {
        "ansible_host": made["host"],
        "ansible_port": made["port"],
        "cray_cfs_image": True,
        "ansible_python_interpreter": "/usr/bin/env python3",
        "ansible_ssh_private_key_file": "/etc/ansible/ssh/id_image",
    }
