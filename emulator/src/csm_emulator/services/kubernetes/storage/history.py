"""Recent changes, for watches. A watcher stores only the version up to which it has read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from csm_emulator.records import Json

MOST_CHANGES = 4096
"""The history keeps at least this many changes; a watcher that is further behind must list again."""


@dataclass(frozen=True, slots=True)
class Change:
    version: int
    storage_key: str
    type: str
    """ADDED, MODIFIED or DELETED."""
    object: Json
    previous: Json
    """The object before the change; None when it was added."""


class History:
    def __init__(self, version: int) -> None:
        self._changes: list[Change] = []
        self._versions: list[int] = []
        self.oldest = version
        """The history holds all changes after this version."""

    def add(self, change: Change) -> None:
        self._changes.append(change)
        self._versions.append(change.version)
        if len(self._changes) > 2 * MOST_CHANGES:
            surplus = len(self._changes) - MOST_CHANGES
            self.oldest = self._versions[surplus - 1]
            del self._changes[:surplus], self._versions[:surplus]

    def after(self, version: int, storage_key: str) -> Iterator[Change]:
        for number in range(bisect_right(self._versions, version), len(self._changes)):
            if self._changes[number].storage_key == storage_key:
                yield self._changes[number]
