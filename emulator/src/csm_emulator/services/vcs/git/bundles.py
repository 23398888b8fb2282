"""Bundles: each stores the objects of one repository. A repository that cannot be bundled does not block the others."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from csm_emulator.services.vcs.git.git import Bounds, Git, GitError

log = logging.getLogger("csm_emulator.vcs")
BUNDLE = Bounds(5.0, 512 << 20)
FIRST_PAUSE, LONGEST_PAUSE = 30, 600
"""Writes of the state, about one a second, that skip a repository after its bundle failed."""


@dataclass(slots=True)
class _Pause:
    length: int
    remaining: int


class Bundles:
    def __init__(self, git: Git) -> None:
        self._git = git
        self._pauses: dict[int, _Pause] = {}

    def create(self, number: int, path: Path) -> bytes | None:
        """A bundle of all refs and their objects; None when it failed or must wait after a failure."""
        pause = self._pauses.get(number)
        if pause and pause.remaining:
            pause.remaining -= 1
            return None
        try:
            bundle = self._git.run(path, "bundle", "create", "--quiet", "-", "--all", bounds=BUNDLE)
        except GitError as error:
            self._postpone(number, error)
            return None
        self.forget(number)
        return bundle

    def forget(self, number: int) -> None:
        self._pauses.pop(number, None)

    def _postpone(self, number: int, error: GitError) -> None:
        """Retry later; the error is logged once."""
        previous = self._pauses.get(number)
        if previous is None:
            log.error(
                "VCS repository %d cannot be saved: %s. After a restart it has the content that was saved last; "
                "saving is retried from time to time. Delete large files in it, or the repository",
                number,
                error,
            )
        length = min(previous.length * 2, LONGEST_PAUSE) if previous else FIRST_PAUSE
        self._pauses[number] = _Pause(length, length)
