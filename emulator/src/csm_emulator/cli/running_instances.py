"""The running emulators of this user: one small file for each, in a folder that holds nothing else."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from csm_emulator.errors import InvalidInput, NotFound

ENVIRONMENT = "CSM_EMULATOR"


@contextmanager
def registered() -> Iterator[Callable[[str, str], None]]:
    """Yields a function to call with machine and control API when ready; the file is removed at the end."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_private(folder):
        raise InvalidInput(
            f"{folder} is not private: another user owns it or may write to it; set XDG_RUNTIME_DIR to a private folder"
        )
    file = folder / f"{os.getpid()}.json"

    def write(machine: str, control: str) -> None:
        unfinished = file.with_suffix(".part")
        unfinished.write_text(json.dumps({"machine": machine, "control": control}))
        unfinished.replace(file)

    try:
        yield write
    finally:
        file.unlink(missing_ok=True)


def _is_private(folder: Path) -> bool:
    """Whether only this user can write to it: in /tmp, other users can create folders and links of this name."""
    try:
        status = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def find(url: str | None) -> str:
    """The control API to use: of ``--control``, of the environment, or of the only running emulator."""
    address = url or os.environ.get(ENVIRONMENT)
    if address:
        if not _is_address(address):
            origin = "--control" if url else ENVIRONMENT
            raise InvalidInput(
                f"{origin} is not the URL of a control API: {address!r}; it looks like http://127.0.0.1:40123/KEY,"
                " and `csm-emulator` prints it when it starts"
            )
        return address.rstrip("/")
    running = list(_running())
    if not running:
        raise NotFound("no emulator is running; start one with `csm-emulator tiny`, or name one with --control URL")
    if len(running) > 1:
        instances = ", ".join(f"{machine} at {control}" for machine, control in running)
        raise InvalidInput(
            f"several emulators are running ({instances}); choose one with --control URL or {ENVIRONMENT}"
        )
    return running[0][1]


def _is_address(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme == "http" and bool(url.hostname) and url.port is not None
    except ValueError:
        return False


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "csm-emulators" if runtime else Path(tempfile.gettempdir()) / f"csm-emulators-{os.getuid()}"


def _running() -> Iterator[tuple[str, str]]:
    folder = _folder()
    if not _is_private(folder):
        return
    for file in sorted(folder.glob("*.json")):
        if Path("/proc", file.stem).exists() or not Path("/proc").exists():
            try:
                note = json.loads(file.read_text())
                yield note["machine"], note["control"]
            except (OSError, ValueError, LookupError, TypeError):
                continue
        else:
            file.unlink(missing_ok=True)
