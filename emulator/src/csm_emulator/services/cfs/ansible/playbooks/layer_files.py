"""What the reading of one layer has in common: files that were read already, and how much may be read in all."""

from __future__ import annotations

from typing import Any

from csm_emulator.services.cfs.ansible.playbooks.plays import Manner
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import (
    MOST_PIECES,
    OTHER_ERROR,
    AnsibleError,
    count_pieces,
    load,
)

MOST_TASKS = 10_000
"""Of one layer, with those of roles and imports."""
MOST_READ = 10 * MOST_PIECES
"""Values in all files of one layer."""
_A_FILE = 3000
"""What it takes to get a file, in values."""
_INHERITED = 16
"""As many variables, conditions and tags that a task takes over count as another task."""


class Paused(Exception):
    """Others get their turn; whoever asks again with the same ``Reading`` gets further."""


class Reading:
    def __init__(self, *, pausing: bool = True) -> None:
        self._pausing = pausing
        self._loaded: dict[str, Any] = {}
        self._pieces = 0
        self._since_pause = 0
        self._tasks = 0

    def again(self) -> None:
        """Begin with the tasks from the first; files that are known stay so."""
        self._tasks = 0

    def load(self, text: str, path: str) -> Any:
        """Each path once; raises ``AnsibleError`` and ``Paused``."""
        if path not in self._loaded:
            self._loaded[path] = self._load(text, path)
        found = self._loaded[path]
        if isinstance(found, AnsibleError):
            raise found.with_traceback(None)
        return found

    def _load(self, text: str, path: str) -> Any:
        pieces = count_pieces(text)
        if pieces <= MOST_PIECES:
            self._count_pieces(pieces, path)
        try:
            return load(text, path)
        except AnsibleError as error:
            return error

    def _count_pieces(self, pieces: int, path: str) -> None:
        if self._pausing and self._since_pause and self._since_pause + pieces > MOST_PIECES:
            self._since_pause = 0
            raise Paused
        self._since_pause += pieces + _A_FILE
        self._pieces += pieces
        if self._pieces > MOST_READ:
            raise AnsibleError(
                f"more than {MOST_READ} values in the files of this layer, found in {path}; "
                "make several layers of it, with fewer files each",
                code=OTHER_ERROR,
            )

    def count_task(self, manner: Manner) -> None:
        self._tasks += 1 + (len(manner.vars) + len(manner.when) + len(manner.tags)) // _INHERITED
        if self._tasks > MOST_TASKS:
            raise AnsibleError(
                f"more than {MOST_TASKS} tasks in this layer, with those of roles and imports; "
                "look for files that import each other many times, or make several layers of it",
                code=OTHER_ERROR,
            )
