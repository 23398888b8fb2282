"""Bytes by key, too large for shelves: in the state file, not in memory."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.errors import Unavailable
from csm_emulator.state.file import Blob, StateFile

MOST_WAITING = 32 << 20
"""More than this does not wait for the next time that the state is written. What refers to it is written later, so
that a kill in between leaves bytes that nobody knows of, and never a name without its bytes.
"""


class Blobs:
    def __init__(self, state_file: StateFile) -> None:
        self._state_file = state_file
        self._waiting: dict[str, bytes | None] = {}
        self._size = 0

    def put(self, key: str, data: bytes) -> None:
        """Raises ``Unavailable`` when it is too much to wait and cannot be written; then it is as it was before."""
        previous = {key: self._waiting[key]} if key in self._waiting else {}
        self._set(key, data)
        if self._size > MOST_WAITING:
            try:
                self._write_early()
            except Unavailable:
                self._forget(key)
                for previous_key, content in previous.items():
                    self._set(previous_key, content)
                raise

    def get(self, key: str) -> bytes | None:
        return self._waiting[key] if key in self._waiting else self._state_file.blob(key)

    def part(self, key: str, start: int, end: int) -> bytes | None:
        """From ``start`` up to, not including, ``end``; the rest does not come into memory."""
        if key not in self._waiting:
            return self._state_file.blob_part(key, start, end)
        data = self._waiting[key]
        return None if data is None else data[start:end]

    def delete(self, key: str) -> None:
        self._set(key, None)

    def _set(self, key: str, data: bytes | None) -> None:
        self._forget(key)
        self._size += len(data or b"")
        self._waiting[key] = data

    def _forget(self, key: str) -> None:
        self._size -= len(self._waiting.pop(key, None) or b"")

    def _write_early(self) -> None:
        written_blobs = [(key, data) for key, data in self._waiting.items() if data is not None]
        self._state_file.write((), (), written_blobs)
        for key, _ in written_blobs:
            del self._waiting[key]
        self._size = 0

    def take_changes(self) -> list[Blob]:
        changes, self._waiting, self._size = list(self._waiting.items()), {}, 0
        return changes

    def put_back(self, blobs: Sequence[Blob]) -> None:
        """They could not be written: what was put since then counts."""
        for key, data in blobs:
            if key not in self._waiting:
                self._set(key, data)
