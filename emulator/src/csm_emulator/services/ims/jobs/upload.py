"""The end of a job: the image is packed, put into S3, and registered."""

from __future__ import annotations

import json

from csm_emulator.clients.s3 import S3Unavailable
from csm_emulator.records import Json
from csm_emulator.seed_data.buckets import BOOT_IMAGES, etag, s3_link
from csm_emulator.seed_data.images import INITRD, KERNEL, PARAMETERS, ROOTFS
from csm_emulator.services.ims.jobs.pod import Run
from csm_emulator.services.ims.tables import stamp

SIDECAR = "buildenv-sidecar"
KEYS = {ROOTFS: "rootfs", KERNEL: "kernel", INITRD: "initrd", PARAMETERS: "boot_parameters"}
_LONGEST_PAUSE = 300
_LOG = "ims_python_helper:"


def package(run: Run, root: str) -> None:
    run.tell_or_warn(SIDECAR, "packaging_artifacts")
    names = run["names"]
    if run["arch"] == "aarch64" and names[KERNEL] == "vmlinuz":
        run.say(SIDECAR, "Incorrect default kernel filename for aarch64 - defaulting to Image")
        names = {**names, KERNEL: "Image"}
    for kind in (KERNEL, INITRD):
        if names[kind] != in_boot(run["arch"])[kind] or run.file(kind) is None:
            missing = f"{root}/boot/{names[kind]}"
            run.fail(SIDECAR, f"Error: Image artifact {missing} does not exist or is not a regular file.")
            return
    parameters = names[PARAMETERS] == in_boot(run["arch"])[PARAMETERS] and run.file(PARAMETERS) is not None
    run.keep(uploads=[ROOTFS, KERNEL, INITRD, *([PARAMETERS] if parameters else [])])
    archive = f"/mnt/image/{run['name']}.sqsh"
    span = run.chance(40, 150, "package")
    run.say_over(
        SIDECAR,
        span,
        (
            f"+ mksquashfs {root} {archive}",
            f"Creating 4.0 filesystem on {archive}, block size 131072.",
            f"{'Found' if parameters else 'Did not find'} /boot/{names[PARAMETERS]}",
            f"Uploading {len(run['uploads'])} image artifacts.",
        ),
    )
    run.go("upload", span)


def in_boot(arch: str) -> dict[str, str]:
    """The names that the files have in an image's /boot."""
    return {KERNEL: "Image" if arch == "aarch64" else "vmlinuz", INITRD: "initrd", PARAMETERS: "kernel-parameters"}


def upload(run: Run, tries: int) -> None:
    """S3 is asked until it takes the files; IMS is asked once."""
    image = run["image"] or _register(run)
    if not image:
        _fail(run)
        return
    run.keep(image=image)
    try:
        link = _put_files(run, image)
    except S3Unavailable as away:
        pause = min(tries + 2, _LONGEST_PAUSE)
        run.say(SIDECAR, f"ERROR:{_LOG}Error uploading {image}: {away}")
        run.say(SIDECAR, f"ERROR:{_LOG}Re-attempting in {pause} seconds...")
        run.go("upload", pause, tries + 1)
        return
    run.say(SIDECAR, f"INFO:{_LOG}PATCH images/{image} link={json.dumps(link)}")
    if not run.ask("PATCH", f"/images/{image}", {"link": link}).ok:
        _fail(run)
        return
    run.say(SIDECAR, f"INFO:{_LOG}PATCH {run.job_id} resultant_image_id={image}")
    if not run.ask("PATCH", f"/jobs/{run.job_id}", {"resultant_image_id": image}).ok:
        _fail(run)
        return
    run.tell_or_warn(SIDECAR, "success")
    run.end(SIDECAR)
    run.finish()


def _fail(run: Run) -> None:
    run.fail(SIDECAR, "Error: Uploading and registering IMS artifacts return_code = 1")


def _register(run: Run) -> str:
    """A record without files as yet; empty when IMS does not take it."""
    run.say(SIDECAR, f'INFO:{_LOG}Creating image with name "{run["name"]}"')
    reply = run.ask("POST", "/images", {"name": run["name"], "arch": run["arch"]})
    return str(reply.json()["id"]) if reply.ok else ""


def _put_files(run: Run, image: str) -> Json:
    """The link to the manifest."""
    run.say(SIDECAR, f"INFO:{_LOG}Uploading {len(run['uploads'])} files for image_id={image}")
    notes = {
        "x-shasta-ims-image-name": run["name"],
        "x-shasta-ims-image-id": image,
        "x-shasta-ims-job-id": run.job_id,
    }
    artifacts = [_put(run, image, KEYS[kind], run.file(kind) or b"", kind, notes) for kind in run["uploads"]]
    manifest = {"version": "1.0", "created": _created(run), "artifacts": artifacts}
    run.say(SIDECAR, f"INFO:{_LOG}Generated manifest file for image_id={image}; ims_job_id={run.job_id}")
    data = json.dumps(manifest, sort_keys=True, indent=4).encode()
    return _put(run, image, "manifest.json", data, "application/json", {})["link"]


def _put(run: Run, image: str, name: str, data: bytes, kind: str, notes: dict[str, str]) -> dict[str, Json]:
    md5 = etag(data)
    key = f"{image}/{name}"
    return {
        "type": kind,
        "md5": md5,
        "link": s3_link(BOOT_IMAGES, key, run.s3.upload(BOOT_IMAGES, key, data, {"md5sum": md5, **notes})),
    }


def _created(run: Run) -> str:
    return stamp(run.context.clock.now()).replace("T", " ")
