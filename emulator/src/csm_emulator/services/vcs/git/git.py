"""Runs the system's git, in a private folder and without the host's git configuration."""

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
WALL_TIME_FACTOR = 4
"""A command may take this many times its CPU limit in real time."""
PACK_LIMIT = 64 << 20
_SETTINGS = {
    # The folder belongs to one user, and no other user writes there.
    "safe.directory": "*",
    "protocol.allow": "never",
    "gc.auto": "0",
    "receive.autogc": "false",
    # The state file holds bundles of all repositories: these folders may be lost.
    "core.fsync": "none",
    # A received pack stays as it is, so that bundles and clones copy it without searching for deltas.
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
    """Limits of a command: it blocks everything else until it ends."""

    seconds: float
    """CPU seconds. On a busy host the command may take longer in real time."""
    output_bytes: int
    """Bytes of output."""


READ = Bounds(2.0, 16 << 20)
WRITE = Bounds(20.0, 64 << 20)
"""For changes that were already confirmed to a client, and for work that every read depends on."""


_CPU_LIMIT_SIGNALS = (-signal.SIGXCPU, -signal.SIGKILL)


class GitError(Exception):
    """Git failed; the message is its error output."""


class LimitExceeded(GitError):
    """Git was stopped, since it ran too long or wrote too much."""


class Git:
    def __init__(self) -> None:
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """The private folder; it is created at the first use."""
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

    def environment(self, variables: Mapping[str, str] | None = None, hooks: bool = False) -> dict[str, str]:
        settings = {**_SETTINGS, "core.hooksPath": str(self.folder / "hooks") if hooks else os.devnull}
        numbered = {f"GIT_CONFIG_KEY_{index}": key for index, key in enumerate(settings)}
        numbered |= {f"GIT_CONFIG_VALUE_{index}": value for index, value in enumerate(settings.values())}
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
            **(variables or {}),
        }

    def run(
        self,
        repository: Path,
        *args: str,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
        bounds: Bounds = READ,
    ) -> bytes:
        """Run a command and return its output; raises ``GitError``."""
        output, complete = self.run_truncated(repository, *args, stdin=stdin, variables=variables, bounds=bounds)
        if not complete:
            raise LimitExceeded(f"git {args[0]} wrote more than {bounds.output_bytes >> 20} MB")
        return output

    def run_truncated(
        self,
        repository: Path,
        *args: str,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
        bounds: Bounds = READ,
    ) -> tuple[bytes, bool]:
        """(output up to the bound, whether that is all of it); raises ``GitError``."""
        # Input and error output are files, so that only the standard output has to be read while git runs.
        folder = self.folder
        try:
            with tempfile.TemporaryFile(dir=folder) as stdin_file, tempfile.TemporaryFile(dir=folder) as stderr_file:
                stdin_file.write(stdin)
                stdin_file.seek(0)
                with subprocess.Popen(  # noqa: S603 (git itself; callers' values are never in the place of options)
                    ["git", "--git-dir", str(repository), *args],  # noqa: S607
                    stdin=stdin_file,
                    stdout=subprocess.PIPE,
                    stderr=stderr_file,
                    cwd=folder,
                    env=self.environment(variables),
                    start_new_session=True,
                ) as process:
                    _limit_work(process, bounds)
                    output, complete = _collect_output(process, bounds)
                if complete and process.returncode:
                    stderr_file.seek(0)
                    raise GitError(stderr_file.read(PIECE).decode(errors="replace").strip())
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise LimitExceeded(f"git {args[0]} took more than {bounds.seconds:g} s") from error
        except (OSError, ValueError) as error:
            raise GitError(str(error)) from error
        return output, complete

    def make(self, path: Path) -> None:
        """Create an empty bare repository."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)
        path.mkdir(parents=True)
        self.run(path, "init", "--bare", "--quiet", "--template=", "--initial-branch=main", bounds=WRITE)


def _limit_work(process: subprocess.Popen[bytes], bounds: Bounds) -> None:
    """Limit the CPU time, on Linux; other systems have the limit of real time only."""
    if hasattr(resource, "prlimit"):
        most = math.ceil(bounds.seconds)
        with contextlib.suppress(OSError):
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (most, most))


def _collect_output(process: subprocess.Popen[bytes], bounds: Bounds) -> tuple[bytes, bool]:
    """(output, whether it is complete), after the process has ended; raises ``TimeoutError`` or ``TimeoutExpired``."""
    deadline = time.monotonic() + bounds.seconds * WALL_TIME_FACTOR
    try:
        output = _read(process, deadline, bounds.output_bytes)
        complete = len(output) <= bounds.output_bytes
        if complete:
            process.wait(max(deadline - time.monotonic(), 0))
            if process.returncode in _CPU_LIMIT_SIGNALS:
                raise TimeoutError
        return output, complete
    finally:
        if process.poll() is None:
            # Git has child processes; they end with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _read(process: subprocess.Popen[bytes], deadline: float, most: int) -> bytes:
    """Read to the end of the output, or until it is longer than ``most``; raises ``TimeoutError``."""
    output = bytearray()
    if process.stdout is None:
        return b""
    poller = select.poll()
    poller.register(process.stdout, select.POLLIN)
    while len(output) <= most:
        if not poller.poll(max(deadline - time.monotonic(), 0) * 1000):
            raise TimeoutError
        piece = os.read(process.stdout.fileno(), PIECE)
        if not piece:
            break
        output += piece
    return bytes(output)
