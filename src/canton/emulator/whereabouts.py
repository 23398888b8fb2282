"""Which emulators of this user run: one small file each, beside which nothing else is kept."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canton.domain.errors import Invalid, NotFound

ENVIRONMENT = "CANTON_EMULATOR"


@contextmanager
def registered() -> Iterator[Path]:
    """A file to be filled in once it is ready; gone with the process."""
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = folder / f"{os.getpid()}.json"
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def find(given: str | None) -> str:
    """The side channel of the one that is meant."""
    named = given or os.environ.get(ENVIRONMENT)
    if named:
        return named.rstrip("/")
    running = list(_running())
    if not running:
        raise NotFound(
            "no emulator of yours runs here; start one with `canton emulate tiny`, or name it with --truth URL"
        )
    if len(running) > 1:
        listed = ", ".join(f"{machine} at {truth}" for machine, truth in running)
        raise Invalid(f"several emulators run ({listed}); name one with --truth URL or {ENVIRONMENT}")
    return running[0][1]


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return (
        Path(runtime) / "canton-emulators"
        if runtime
        else Path(tempfile.gettempdir()) / f"canton-emulators-{os.getuid()}"
    )


def _running() -> Iterator[tuple[str, str]]:
    folder = _folder()
    if not folder.is_dir() or folder.stat().st_uid != os.getuid():
        return
    for file in sorted(folder.glob("*.json")):
        if Path("/proc", file.stem).exists() or not Path("/proc").exists():
            try:
                told = json.loads(file.read_text())
                yield told["machine"], told["truth"]
            except (OSError, ValueError, KeyError):
                continue
        else:
            file.unlink(missing_ok=True)
