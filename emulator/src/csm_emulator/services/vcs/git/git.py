"""The system's git, in a private folder, with nothing of the host's settings."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from csm_emulator.services.vcs.git.pre_receive_hook import HOOK

PIECE = 1 << 16
PATIENCE = 4
"""How many times as long as its work a command may take."""
PACK_LIMIT = 64 << 20
_SETTINGS = {
    # One user owns the folder, and nobody else writes there.
    "safe.directory": "*",
    "protocol.allow": "never",
    "gc.auto": "0",
    "receive.autogc": "false",
    # What is kept is a bundle in the state file: these folders may be lost.
    "core.fsync": "none",
    # A pack is kept as it came, so that bundles and clones copy it: deltas are never looked for.
    "transfer.unpackLimit": "1",
    "pack.window": "0",
    "pack.threads": "1",
    "pack.compression": "1",
    "core.bigFileThreshold": "8m",
    "receive.maxInputSize": str(PACK_LIMIT),
    "receive.advertisePushOptions": "true",
    "uploadpack.allowFilter": "true",
    "uploadpack.allowAnySHA1InWant": "true",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of a command: nothing else happens until it ends."""

    seconds: float
    """Of work. A machine that is busy with other things is waited for a while longer."""
    said: int
    """Bytes."""


READ = Bounds(2.0, 16 << 20)
WRITE = Bounds(20.0, 64 << 20)
"""For what a client was told is done, and for what nothing can be read without."""


_WORKED_TOO_LONG = (-signal.SIGXCPU, -signal.SIGKILL)


class GitFailed(Exception):
    """What git said."""


class TooMuch(GitFailed):
    """It took longer, or said more, than is waited for; git was ended."""


class Git:
    def __init__(self) -> None:
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """Made on first need."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="csm-emulator-vcs-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            hooks = self._folder / "hooks"
            hooks.mkdir()
            (hooks / "pre-receive").write_text(HOOK)
            (hooks / "pre-receive").chmod(0o700)
        return self._folder

    def end(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def environment(self, more: Mapping[str, str] | None = None, hooks: bool = False) -> dict[str, str]:
        settings = {**_SETTINGS, "core.hooksPath": str(self.folder / "hooks") if hooks else os.devnull}
        numbered = {f"GIT_CONFIG_KEY_{at}": key for at, key in enumerate(settings)}
        numbered |= {f"GIT_CONFIG_VALUE_{at}": value for at, value in enumerate(settings.values())}
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ALLOW_PROTOCOL": "",
            "GIT_CONFIG_COUNT": str(len(settings)),
            **numbered,
            **(more or {}),
        }

    def run(
        self,
        repository: Path,
        *args: str,
        given: bytes = b"",
        more: Mapping[str, str] | None = None,
        bounds: Bounds = READ,
    ) -> bytes:
        """One command, to its end; raises ``GitFailed``."""
        said, whole = self.beginning(repository, *args, given=given, more=more, bounds=bounds)
        if not whole:
            raise TooMuch(f"git {args[0]} said more than {bounds.said >> 20} MB")
        return said

    def beginning(
        self,
        repository: Path,
        *args: str,
        given: bytes = b"",
        more: Mapping[str, str] | None = None,
        bounds: Bounds = READ,
    ) -> tuple[bytes, bool]:
        """What a command says, as far as its bounds go, and whether that is all of it; raises ``GitFailed``."""
        # What git hears and complains of stands in files: only what it says has to be waited for.
        folder = self.folder
        try:
            with tempfile.TemporaryFile(dir=folder) as heard, tempfile.TemporaryFile(dir=folder) as complaints:
                heard.write(given)
                heard.seek(0)
                with subprocess.Popen(  # noqa: S603 (git itself; what callers say never stands where options do)
                    ["git", "--git-dir", str(repository), *args],  # noqa: S607
                    stdin=heard,
                    stdout=subprocess.PIPE,
                    stderr=complaints,
                    cwd=folder,
                    env=self.environment(more),
                    start_new_session=True,
                ) as process:
                    _limit_work(process, bounds)
                    said, whole = _heard_out(process, bounds)
                if whole and process.returncode:
                    complaints.seek(0)
                    raise GitFailed(complaints.read(PIECE).decode(errors="replace").strip())
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise TooMuch(f"git {args[0]} took more than {bounds.seconds:g} s") from error
        except (OSError, ValueError) as error:
            raise GitFailed(str(error)) from error
        return said, whole

    def make(self, path: Path) -> None:
        """An empty bare repository."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)
        path.mkdir(parents=True)
        self.run(path, "init", "--bare", "--quiet", "--template=", "--initial-branch=main", bounds=WRITE)


def _limit_work(process: subprocess.Popen[bytes], bounds: Bounds) -> None:
    """Linux has it; elsewhere time on the clock is all there is."""
    if hasattr(resource, "prlimit"):
        most = math.ceil(bounds.seconds)
        with contextlib.suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (most, most))


def _heard_out(process: subprocess.Popen[bytes], bounds: Bounds) -> tuple[bytes, bool]:
    """What it says, and whether that is all. It has ended then; raises ``TimeoutError`` or ``TimeoutExpired``."""
    until = time.monotonic() + bounds.seconds * PATIENCE
    try:
        said = _read(process, until, bounds.said)
        whole = len(said) <= bounds.said
        if whole:
            process.wait(max(until - time.monotonic(), 0))
            if process.returncode in _WORKED_TOO_LONG:
                raise TimeoutError
        return said, whole
    finally:
        if process.poll() is None:
            # Git has children of its own, which end with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _read(process: subprocess.Popen[bytes], until: float, most: int) -> bytes:
    """Until it has said everything, or more than ``most``; raises ``TimeoutError``."""
    said = bytearray()
    if process.stdout is None:
        return b""
    talk = select.poll()
    talk.register(process.stdout, select.POLLIN)
    while len(said) <= most:
        if not talk.poll(max(until - time.monotonic(), 0) * 1000):
            raise TimeoutError
        piece = os.read(process.stdout.fileno(), PIECE)
        if not piece:
            break
        said += piece
    return bytes(said)
