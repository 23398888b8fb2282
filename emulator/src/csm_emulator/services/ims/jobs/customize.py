"""A customisation: the image is unpacked, a user works in it over ssh and signals the end with a file."""

from __future__ import annotations

import json

from csm_emulator.seed_data.images import ROOTFS
from csm_emulator.services.ims.images.job_records import parse_signal, with_record
from csm_emulator.services.ims.jobs import download
from csm_emulator.services.ims.jobs.job_pod import NAMESPACE, JobPod
from csm_emulator.services.ims.jobs.upload import package

PREPARE, SIDECAR, SHELL = "prepare", "buildenv-sidecar", "sshd"
COMPLETE, FAILED = "complete", "failed"
FOLDERS = ("/mnt/image", "/mnt/image/image-root/tmp")
"""Folders of the file that signals the end; the second is ``/tmp`` of users in a jail."""
CHECK_INTERVAL = 5.0
"""Seconds between two checks for the signal file."""


def fetch(pod: JobPod, tries: int) -> None:
    if not tries and not download.begin(pod, PREPARE, "image"):
        return
    data = download.download_file(pod, PREPARE, "fetch", tries)
    if data is None:
        return
    pod.save_file(ROOTFS, data)
    download.download_other_files(pod)
    if pod["remote"]:
        download.log(pod, PREPARE, "Deleting signal files", "Skipping image unsquash")
        pod.say(PREPARE, f"Configuring remote job on host: {pod['remote']}")
    else:
        download.log(pod, PREPARE, "Deleting signal files", "Uncompressing image into /mnt/image")
    pod.schedule_step("unpacked", pod.random_seconds(20, 90, "unpack"))


def unpacked(pod: JobPod, _: int) -> None:
    if not pod["remote"]:
        download.log(pod, PREPARE, "Deleting compressed image /mnt/image/image.sqsh")
    download.log(pod, PREPARE, "Done")
    pod.end(PREPARE)
    pod.begin(SIDECAR, SHELL)
    pod.say(
        SIDECAR, "Copying SMS CA Public Certificate to target image root", "Running user shell for customize action"
    )
    pod.say(SIDECAR, "IMS SSH shell environment is ready.", *_instructions(pod), "")
    pod.say(SHELL, "Running user shell for customize action", "Waiting for /mnt/image/ready flag")
    pod.schedule_step("ready", CHECK_INTERVAL)


def ready(pod: JobPod, _: int) -> None:
    pod.report_status_or_warn(SIDECAR, "waiting_on_user")
    pod.say(SIDECAR, "Waiting for SSH container to set /mnt/image/exiting flag")
    dkms = "True" if pod["dkms"] else "False"
    pod.say(SHELL, f"JOB_ENABLE_DKMS: {dkms}", f"is_dkms={dkms.lower()}", *_mounts(pod))
    pod.say(SHELL, f"Checking build architecture: {pod['arch']}", *_instructions(pod))
    pod.update(next="user", since=pod.context.clock.now())


def _instructions(pod: JobPod) -> tuple[str, ...]:
    folder = FOLDERS[1] if pod["jail"] and not pod["remote"] else FOLDERS[0]
    return (
        f'To mark this shell as successful, touch the file "{folder}/{COMPLETE}".',
        f'To mark this shell as failed, touch the file "{folder}/{FAILED}".',
        "Waiting for User to mark this shell as either successful or failed.",
    )


def _mounts(pod: JobPod) -> tuple[str, ...]:
    if not pod["dkms"]:
        return ("DKMS not enabled",)
    if pod["remote"]:
        return (" dkms mounts not set in sshd pod for remote jobs",)
    return ("Mounted /sys", "Mounted /proc", "Mounted /dev")


def signalled(pod: JobPod, path: str) -> None:
    """The user created the signal file; both containers notice it at their next check."""
    if pod["next"] != "user" or path.rpartition("/")[0] not in FOLDERS:
        return
    since, now = pod["since"], pod.context.clock.now()
    check = since + CHECK_INTERVAL * (int((now - since) // CHECK_INTERVAL) + 2)
    pod.update(signal=path)
    pod.schedule_step("left", check - now)


def shell_exited(pod: JobPod, _: int) -> None:
    path = pod["signal"]
    contents = [text for container in (SHELL, SIDECAR, PREPARE) if (text := _read(pod, container, path)) is not None]
    layers, commands = parse_signal(contents[0] if contents else "")
    pod.say(SHELL, *(_command_line(command) for command in commands))
    succeeded = path.endswith(COMPLETE)
    word = "successful" if succeeded else "failed"
    pod.say(SHELL, f"{path} exists; Shell was marked {word}.", *([f"Removing {path}"] if succeeded else []))
    pod.say(SHELL, "Exiting ssh environment", "Touching /mnt/image/exiting flag")
    pod.end(SHELL)
    pod.say(SIDECAR, "SSH Shell is exiting; tearing down build environment", "Removing /mnt/image/exiting")
    if not succeeded:
        pod.say(SIDECAR, "Customization of image root marked as failed. A new IMS image will not be created.")
        pod.report_status_or_warn(SIDECAR, "error")
        pod.end(SIDECAR)
        pod.finish()
        return
    record = {"job": "customize", "parent": pod["source"], "layers": layers, "commands": commands}
    pod.save_file(ROOTFS, with_record(pod.file(ROOTFS) or b"", record))
    package(pod, "/mnt/image/image-root")


def _read(pod: JobPod, container: str, path: str) -> str | None:
    return pod.context.cluster.read_file(NAMESPACE, pod["pod"], container, path)


def _command_line(command: object) -> str:
    return f"+ {command if isinstance(command, str) else json.dumps(command)}"


def node_lost(pod: JobPod, _: int) -> None:
    """The remote build node stopped: its heartbeats have failed for one minute."""
    for count in range(1, 13):
        pod.say(SHELL, f"Remote container heartbeat failed - error count: {count}")
    pod.say(SHELL, "Remote job is no longer accessible after 12 consecutive errors - exiting wait loop")
    pod.say(SHELL, "/mnt/image/failed exists; Shell was marked failed.", "Exiting ssh environment")
    pod.end(SHELL, 1)
    pod.say(SIDECAR, "SSH Shell is exiting; tearing down build environment")
    pod.fail(SIDECAR, "Customization of image root marked as failed. A new IMS image will not be created.")
