"""The end of a job: the image is packed, uploaded to S3 and registered in IMS."""

from __future__ import annotations

import json

from csm_emulator.records import Json
from csm_emulator.seed_data.buckets import BOOT_IMAGES, etag, s3_link
from csm_emulator.seed_data.images import INITRD, KERNEL, PARAMETERS, ROOTFS
from csm_emulator.services.ims.jobs.job_pod import JobPod
from csm_emulator.services.ims.tables import stamp
from csm_emulator.transport.s3_client import S3Unavailable

SIDECAR = "buildenv-sidecar"
KEYS = {ROOTFS: "rootfs", KERNEL: "kernel", INITRD: "initrd", PARAMETERS: "boot_parameters"}
_MAX_PAUSE = 300
_LOG = "ims_python_helper:"


def package(pod: JobPod, root: str) -> None:
    pod.report_status_or_warn(SIDECAR, "packaging_artifacts")
    names = pod["names"]
    if pod["arch"] == "aarch64" and names[KERNEL] == "vmlinuz":
        pod.say(SIDECAR, "Incorrect default kernel filename for aarch64 - defaulting to Image")
        names = {**names, KERNEL: "Image"}
    for kind in (KERNEL, INITRD):
        if names[kind] != in_boot(pod["arch"])[kind] or pod.file(kind) is None:
            missing = f"{root}/boot/{names[kind]}"
            pod.fail(SIDECAR, f"Error: Image artifact {missing} does not exist or is not a regular file.")
            return
    parameters = names[PARAMETERS] == in_boot(pod["arch"])[PARAMETERS] and pod.file(PARAMETERS) is not None
    pod.update(uploads=[ROOTFS, KERNEL, INITRD, *([PARAMETERS] if parameters else [])])
    archive = f"/mnt/image/{pod['name']}.sqsh"
    span = pod.random_seconds(40, 150, "package")
    pod.say_spread(
        SIDECAR,
        span,
        (
            f"+ mksquashfs {root} {archive}",
            f"Creating 4.0 filesystem on {archive}, block size 131072.",
            f"{'Found' if parameters else 'Did not find'} /boot/{names[PARAMETERS]}",
            f"Uploading {len(pod['uploads'])} image artifacts.",
        ),
    )
    pod.schedule_step("upload", span)


def in_boot(arch: str) -> dict[str, str]:
    """File names in an image's ``/boot``, by artifact type."""
    return {KERNEL: "Image" if arch == "aarch64" else "vmlinuz", INITRD: "initrd", PARAMETERS: "kernel-parameters"}


def upload(pod: JobPod, tries: int) -> None:
    """Upload and register the image. Uploads to S3 are retried without limit, requests to IMS are not."""
    image = pod["image"] or _register(pod)
    if not image:
        _fail(pod)
        return
    pod.update(image=image)
    try:
        link = _put_files(pod, image)
    except S3Unavailable as error:
        pause = min(tries + 2, _MAX_PAUSE)
        pod.say(SIDECAR, f"ERROR:{_LOG}Error uploading {image}: {error}")
        pod.say(SIDECAR, f"ERROR:{_LOG}Re-attempting in {pause} seconds...")
        pod.schedule_step("upload", pause, tries + 1)
        return
    pod.say(SIDECAR, f"INFO:{_LOG}PATCH images/{image} link={json.dumps(link)}")
    if not pod.ask("PATCH", f"/images/{image}", {"link": link}).ok:
        _fail(pod)
        return
    pod.say(SIDECAR, f"INFO:{_LOG}PATCH {pod.job_id} resultant_image_id={image}")
    if not pod.ask("PATCH", f"/jobs/{pod.job_id}", {"resultant_image_id": image}).ok:
        _fail(pod)
        return
    pod.report_status_or_warn(SIDECAR, "success")
    pod.end(SIDECAR)
    pod.finish()


def _fail(pod: JobPod) -> None:
    pod.fail(SIDECAR, "Error: Uploading and registering IMS artifacts return_code = 1")


def _register(pod: JobPod) -> str:
    """Create an image record without files; return its id, or an empty string when IMS refuses."""
    pod.say(SIDECAR, f'INFO:{_LOG}Creating image with name "{pod["name"]}"')
    reply = pod.ask("POST", "/images", {"name": pod["name"], "arch": pod["arch"]})
    return str(reply.json()["id"]) if reply.ok else ""


def _put_files(pod: JobPod, image: str) -> Json:
    """Upload the files and their manifest; return the link to the manifest."""
    pod.say(SIDECAR, f"INFO:{_LOG}Uploading {len(pod['uploads'])} files for image_id={image}")
    metadata = {
        "x-shasta-ims-image-name": pod["name"],
        "x-shasta-ims-image-id": image,
        "x-shasta-ims-job-id": pod.job_id,
    }
    artifacts = [_put(pod, image, KEYS[kind], pod.file(kind) or b"", kind, metadata) for kind in pod["uploads"]]
    manifest = {"version": "1.0", "created": _created(pod), "artifacts": artifacts}
    pod.say(SIDECAR, f"INFO:{_LOG}Generated manifest file for image_id={image}; ims_job_id={pod.job_id}")
    data = json.dumps(manifest, sort_keys=True, indent=4).encode()
    return _put(pod, image, "manifest.json", data, "application/json", {})["link"]


def _put(pod: JobPod, image: str, name: str, data: bytes, kind: str, metadata: dict[str, str]) -> dict[str, Json]:
    md5 = etag(data)
    key = f"{image}/{name}"
    return {
        "type": kind,
        "md5": md5,
        "link": s3_link(BOOT_IMAGES, key, pod.s3.upload(BOOT_IMAGES, key, data, {"md5sum": md5, **metadata})),
    }


def _created(pod: JobPod) -> str:
    return stamp(pod.context.clock.now()).replace("T", " ")
