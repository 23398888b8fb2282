"""A customisation: the image is laid out, somebody works in it over ssh, and says when it is done."""

from __future__ import annotations

import json

from csm_emulator.seed_data.images import ROOTFS
from csm_emulator.services.ims.images.layers import told_by, with_record
from csm_emulator.services.ims.jobs import download as fetching
from csm_emulator.services.ims.jobs.pod import NAMESPACE, Run
from csm_emulator.services.ims.jobs.upload import package

PREPARE, SIDECAR, SHELL = "prepare", "buildenv-sidecar", "sshd"
COMPLETE, FAILED = "complete", "failed"
FOLDERS = ("/mnt/image", "/mnt/image/image-root/tmp")
"""Where the end is signalled; the second is /tmp of those who are held in a jail."""
LOOKS = 5.0
"""Seconds between two looks for the signal."""


def fetch(run: Run, tries: int) -> None:
    if not tries and not fetching.begin(run, PREPARE, "image"):
        return
    data = fetching.download(run, PREPARE, "fetch", tries)
    if data is None:
        return
    run.save_file(ROOTFS, data)
    fetching.fetch_others(run)
    if run["remote"]:
        fetching.log(run, PREPARE, "Deleting signal files", "Skipping image unsquash")
        run.say(PREPARE, f"Configuring remote job on host: {run['remote']}")
    else:
        fetching.log(run, PREPARE, "Deleting signal files", "Uncompressing image into /mnt/image")
    run.go("unpacked", run.chance(20, 90, "unpack"))


def unpacked(run: Run, _: int) -> None:
    if not run["remote"]:
        fetching.log(run, PREPARE, "Deleting compressed image /mnt/image/image.sqsh")
    fetching.log(run, PREPARE, "Done")
    run.end(PREPARE)
    run.begin(SIDECAR, SHELL)
    run.say(
        SIDECAR, "Copying SMS CA Public Certificate to target image root", "Running user shell for customize action"
    )
    run.say(SIDECAR, "IMS SSH shell environment is ready.", *_howto(run), "")
    run.say(SHELL, "Running user shell for customize action", "Waiting for /mnt/image/ready flag")
    run.go("ready", LOOKS)


def ready(run: Run, _: int) -> None:
    run.tell_or_warn(SIDECAR, "waiting_on_user")
    run.say(SIDECAR, "Waiting for SSH container to set /mnt/image/exiting flag")
    dkms = "True" if run["dkms"] else "False"
    run.say(SHELL, f"JOB_ENABLE_DKMS: {dkms}", f"is_dkms={dkms.lower()}", *_mounts(run))
    run.say(SHELL, f"Checking build architecture: {run['arch']}", *_howto(run))
    run.keep(next="user", since=run.context.clock.now())


def _howto(run: Run) -> tuple[str, ...]:
    folder = FOLDERS[1] if run["jail"] and not run["remote"] else FOLDERS[0]
    return (
        f'To mark this shell as successful, touch the file "{folder}/{COMPLETE}".',
        f'To mark this shell as failed, touch the file "{folder}/{FAILED}".',
        "Waiting for User to mark this shell as either successful or failed.",
    )


def _mounts(run: Run) -> tuple[str, ...]:
    if not run["dkms"]:
        return ("DKMS not enabled",)
    if run["remote"]:
        return (" dkms mounts not set in sshd pod for remote jobs",)
    return ("Mounted /sys", "Mounted /proc", "Mounted /dev")


def signalled(run: Run, path: str) -> None:
    """Somebody wrote the file that ends it; both containers look now and then."""
    if run["next"] != "user" or path.rpartition("/")[0] not in FOLDERS:
        return
    since, now = run["since"], run.context.clock.now()
    look = since + LOOKS * (int((now - since) // LOOKS) + 2)
    run.keep(signal=path)
    run.go("left", look - now)


def left(run: Run, _: int) -> None:
    path = run["signal"]
    told = [text for one in (SHELL, SIDECAR, PREPARE) if (text := _read(run, one, path)) is not None]
    layers, commands = told_by(told[0] if told else "")
    run.say(SHELL, *(_shown(command) for command in commands))
    well = path.endswith(COMPLETE)
    word = "successful" if well else "failed"
    run.say(SHELL, f"{path} exists; Shell was marked {word}.", *([f"Removing {path}"] if well else []))
    run.say(SHELL, "Exiting ssh environment", "Touching /mnt/image/exiting flag")
    run.end(SHELL)
    run.say(SIDECAR, "SSH Shell is exiting; tearing down build environment", "Removing /mnt/image/exiting")
    if not well:
        run.say(SIDECAR, "Customization of image root marked as failed. A new IMS image will not be created.")
        run.tell_or_warn(SIDECAR, "error")
        run.end(SIDECAR)
        run.finish()
        return
    record = {"job": "customize", "parent": run["source"], "layers": layers, "commands": commands}
    run.save_file(ROOTFS, with_record(run.file(ROOTFS) or b"", record))
    package(run, "/mnt/image/image-root")


def _read(run: Run, container: str, path: str) -> str | None:
    return run.context.cluster.read_file(NAMESPACE, run["pod"], container, path)


def _shown(command: object) -> str:
    return f"+ {command if isinstance(command, str) else json.dumps(command)}"


def lost(run: Run, _: int) -> None:
    """The node that the image was laid out on is gone: a minute of heartbeats without an answer."""
    for count in range(1, 13):
        run.say(SHELL, f"Remote container heartbeat failed - error count: {count}")
    run.say(SHELL, "Remote job is no longer accessible after 12 consecutive errors - exiting wait loop")
    run.say(SHELL, "/mnt/image/failed exists; Shell was marked failed.", "Exiting ssh environment")
    run.end(SHELL, 1)
    run.say(SIDECAR, "SSH Shell is exiting; tearing down build environment")
    run.fail(SIDECAR, "Customization of image root marked as failed. A new IMS image will not be created.")
