"""Byte strings by key, too large for record tables: they are in the state file, not in memory."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.errors import Unavailable
from csm_emulator.state.file import Blob, StateFile

MOST_WAITING = 32 << 20
"""Bytes that may wait in memory for the next save; more are written at once. Records that refer to them are saved
later, so a kill in between leaves unreferenced blobs, and never a reference without its blob.
"""


class Blobs:
    def __init__(self, state_file: StateFile) -> None:
        self._state_file = state_file
        self._waiting: dict[str, bytes | None] = {}
        self._size = 0

    def put(self, key: str, data: bytes) -> None:
        """Stores a blob; raises ``Unavailable``, without any change, when it must be written now and cannot be."""
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
        """The bytes from ``start`` up to, not including, ``end``; the others are not read into memory."""
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
        """Takes changes back that could not be written; blobs put since then are newer and stay."""
        for key, data in blobs:
            if key not in self._waiting:
                self._set(key, data)
