"""Which emulators of this user run: one small file each, beside which nothing else is kept."""

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
    """To be called with machine and control API once it is ready; the note is gone with the process."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_ours(folder):
        raise InvalidInput(f"{folder} belongs to somebody else; name a folder of your own with XDG_RUNTIME_DIR")
    file = folder / f"{os.getpid()}.json"

    def write(machine: str, control: str) -> None:
        unfinished = file.with_suffix(".part")
        unfinished.write_text(json.dumps({"machine": machine, "control": control}))
        unfinished.replace(file)

    try:
        yield write
    finally:
        file.unlink(missing_ok=True)


def _is_ours(folder: Path) -> bool:
    """Beside it in /tmp everybody may plant folders, and links to ours."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def find(given: str | None) -> str:
    """The control API of the one that is meant."""
    named = given or os.environ.get(ENVIRONMENT)
    if named:
        if not _is_address(named):
            origin = "--control" if given else ENVIRONMENT
            raise InvalidInput(
                f"{named!r} of {origin} is no address; a control API's is as http://127.0.0.1:40123/KEY,"
                " and `csm-emulator` prints it when it starts"
            )
        return named.rstrip("/")
    running = list(_running())
    if not running:
        raise NotFound(
            "no emulator of yours runs here; start one with `csm-emulator tiny`, or name it with --control URL"
        )
    if len(running) > 1:
        listed = ", ".join(f"{machine} at {control}" for machine, control in running)
        raise InvalidInput(f"several emulators run ({listed}); name one with --control URL or {ENVIRONMENT}")
    return running[0][1]


def _is_address(text: str) -> bool:
    try:
        place = urlsplit(text)
        return place.scheme == "http" and bool(place.hostname) and place.port is not None
    except ValueError:
        return False


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime) / "csm-emulators" if runtime else Path(tempfile.gettempdir()) / f"csm-emulators-{os.getuid()}"


def _running() -> Iterator[tuple[str, str]]:
    folder = _folder()
    if not _is_ours(folder):
        return
    for file in sorted(folder.glob("*.json")):
        if Path("/proc", file.stem).exists() or not Path("/proc").exists():
            try:
                told = json.loads(file.read_text())
                yield told["machine"], told["control"]
            except (OSError, ValueError, LookupError, TypeError):
                continue
        else:
            file.unlink(missing_ok=True)
