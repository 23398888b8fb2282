"""The bytes of objects: one blob for each object, or for each part of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence

from csm_emulator.errors import Unavailable
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.records import StoredPart
from csm_emulator.state.blobs import Blobs
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import ConnectionAborted

PIECE_SIZE = 1 << 20
CHUNK_SIZE = 4 << 20
"""Bytes that a reader holds in memory, at any speed; finding a position in a blob takes longer the later it is."""
SEED = "seed:"
"""The prefix of the names of seed data, which is never stored."""


class BlobStore:
    def __init__(self, blobs: Blobs, numbers: RecordTable[int], seed: Callable[[str], bytes]) -> None:
        """``seed`` returns the bytes of a seed object by its place, ``bucket/key``."""
        self._blobs = blobs
        self._numbers = numbers
        self._seed = seed
        self._readers: Counter[str] = Counter()
        self._dropped: set[str] = set()
        """Blobs that were dropped while they are read: they are deleted after the last reader."""

    def add(self, data: bytes) -> str:
        """Store the bytes and return the name of the blob."""
        name = f"s3/{self.next_number('blob')}"
        try:
            self._blobs.put(name, data)
        except Unavailable as error:
            raise S3Error("ServiceUnavailable") from error
        return name

    def next_number(self, counter: str) -> int:
        number = int(self._numbers.get(counter, 0)) + 1
        self._numbers[counter] = number
        return number

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            if self._readers[name]:
                self._dropped.add(name)
            elif not name.startswith(SEED):
                self._blobs.delete(name)

    def read(self, parts: Sequence[StoredPart], start: int, end: int) -> bytes:
        """The bytes from ``start`` up to, not including, ``end``."""
        return b"".join(self._pieces(parts, start, end, end - start))

    async def stream(self, parts: Sequence[StoredPart], start: int, end: int) -> AsyncGenerator[bytes, None]:
        """Like ``read``, in small pieces; an object that is replaced meanwhile can still be read to its end."""
        names = [name for name, _ in parts]
        self._readers.update(names)
        try:
            for piece in self._pieces(parts, start, end, PIECE_SIZE):
                yield piece
        finally:
            self._readers.subtract(names)
            unread = {name for name in names if not self._readers[name]}
            self.drop(unread & self._dropped)
            self._dropped -= unread

    def copy_parts(self, parts: Sequence[StoredPart]) -> list[StoredPart]:
        """Copy the parts; seed data is not copied."""
        return [[name if name.startswith(SEED) else self.add(self._part(name, 0, size)), size] for name, size in parts]

    def _pieces(self, parts: Sequence[StoredPart], start: int, end: int, longest: int) -> Iterator[bytes]:
        place = 0
        for name, size in parts:
            first, last = max(start - place, 0), min(end - place, size)
            place += size
            if first >= last:
                continue
            chunk = max(longest, CHUNK_SIZE)
            for position in range(first, last, chunk):
                data = self._part(name, position, min(position + chunk, last))
                yield from (data[offset : offset + longest] for offset in range(0, len(data), longest))

    def _part(self, name: str, start: int, end: int) -> bytes:
        if name.startswith(SEED):
            return self._seed(name.removeprefix(SEED))[start:end]
        data = self._blobs.part(name, start, end)
        if data is None:
            raise ConnectionAborted
        return data
