"""The system's git, in a private folder, with nothing of the host's settings."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

LIMIT = 20.0
"""Seconds that a short command may take."""
PACK_LIMIT = 64 << 20
HOOK = """#!/bin/sh
# What Gitea's own hook refuses: a push that touches a protected branch, and the end of the default branch.
set -f
refuse() { echo "Gitea: $1" >&2; exit 1; }
nothing=0000000000000000000000000000000000000000
while read -r old new ref; do
  case "$ref" in refs/heads/*) branch=${ref#refs/heads/} ;; *) continue ;; esac
  if [ "$branch" = "$VCS_DEFAULT" ] && [ "$new" = "$nothing" ]; then
    refuse "branch $branch is the default branch and cannot be deleted"
  fi
  for rule in $VCS_PROTECTED; do
    case "$branch" in $rule) ;; *) continue ;; esac
    [ "$new" != "$nothing" ] || refuse "branch $branch is protected from deletion"
    if [ "$old" != "$nothing" ] && [ -n "$(git rev-list --max-count=1 "$old" "^$new")" ]; then
      refuse "branch $branch is protected from force push"
    fi
    refuse "Not allowed to push to protected branch $branch"
  done
done
"""
_SETTINGS = {
    # One user owns the folder, and nobody else writes there.
    "safe.directory": "*",
    "protocol.allow": "never",
    "gc.auto": "0",
    "receive.autogc": "false",
    # What is kept is a bundle in the state file: these folders may be lost.
    "core.fsync": "none",
    "pack.threads": "1",
    "receive.maxInputSize": str(PACK_LIMIT),
    "receive.advertisePushOptions": "true",
    "uploadpack.allowFilter": "true",
    "uploadpack.allowAnySHA1InWant": "true",
}


class GitFailed(Exception):
    """What git said."""


class Git:
    def __init__(self) -> None:
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """Made on first need."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="canton-vcs-"))
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

    def run(self, repository: Path, *args: str, given: bytes = b"", more: Mapping[str, str] | None = None) -> bytes:
        """A short command; raises ``GitFailed``."""
        try:
            done = subprocess.run(  # noqa: S603 (git itself; what callers say never stands where options do)
                ["git", "--git-dir", str(repository), *args],  # noqa: S607
                input=given,
                capture_output=True,
                cwd=self.folder,
                env=self.environment(more),
                timeout=LIMIT,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise GitFailed(str(error)) from error
        if done.returncode:
            raise GitFailed(done.stderr.decode(errors="replace").strip())
        return done.stdout

    def make(self, path: Path) -> None:
        """An empty bare repository."""
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)
        path.mkdir(parents=True)
        self.run(path, "init", "--bare", "--quiet", "--template=", "--initial-branch=main")
