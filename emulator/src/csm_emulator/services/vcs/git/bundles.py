"""What repositories hold, each as one file; one that cannot be written down does not hold up everything else."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from csm_emulator.services.vcs.git.git import Bounds, Git, GitFailed

log = logging.getLogger("csm_emulator.vcs")
BUNDLE = Bounds(5.0, 512 << 20)
FIRST_PAUSE, LONGEST_PAUSE = 30, 600
"""Times that the state is written, about one a second, without a repository that could not be bundled."""


@dataclass(slots=True)
class _Pause:
    length: int
    left: int


class Bundles:
    def __init__(self, git: Git) -> None:
        self._git = git
        self._pauses: dict[int, _Pause] = {}

    def made(self, number: int, path: Path) -> bytes | None:
        """All that the repository's refs lead to; None for one that is to wait for a later time."""
        pause = self._pauses.get(number)
        if pause and pause.left:
            pause.left -= 1
            return None
        try:
            made = self._git.run(path, "bundle", "create", "--quiet", "-", "--all", bounds=BUNDLE)
        except GitFailed as error:
            self._put_off(number, error)
            return None
        self.forget(number)
        return made

    def forget(self, number: int) -> None:
        self._pauses.pop(number, None)

    def _put_off(self, number: int, error: GitFailed) -> None:
        """It is said once."""
        before = self._pauses.get(number)
        if before is None:
            log.error(
                "VCS repository %d is not kept: %s. After a restart it is as it was kept last; it is tried again "
                "from time to time. Delete what is large in it, or the repository",
                number,
                error,
            )
        length = min(before.length * 2, LONGEST_PAUSE) if before else FIRST_PAUSE
        self._pauses[number] = _Pause(length, length)
