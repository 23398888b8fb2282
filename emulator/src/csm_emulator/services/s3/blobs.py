"""The bytes of objects: one blob for each object, or for each part of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import Any

from csm_emulator.errors import Unavailable
from csm_emulator.services.s3.errors import Refused
from csm_emulator.state.blobs import Blobs
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import ConnectionAborted

PIECE = 1 << 20
CHUNK = 4 << 20
"""What a reader holds in memory, however slow it is; to find a place in a blob takes longer the later it is."""
SEED = "seed:"
"""Begins the name of what lies there from the first day, and is never stored."""


class Store:
    def __init__(self, blobs: Blobs, numbers: RecordTable, seed: Callable[[str], bytes]) -> None:
        """``seed`` gives the bytes of the first day by their place, ``bucket/key``."""
        self._blobs = blobs
        self._numbers = numbers
        self._seed = seed
        self._read: Counter[str] = Counter()
        self._gone: set[str] = set()
        """Bytes that were dropped while somebody reads them: they go with the last reader."""

    def add(self, data: bytes) -> str:
        """Its name."""
        name = f"s3/{self.next_number('blob')}"
        try:
            self._blobs.put(name, data)
        except Unavailable as error:
            raise Refused("ServiceUnavailable") from error
        return name

    def next_number(self, of: str) -> int:
        number = int(self._numbers.get(of, 0)) + 1
        self._numbers[of] = number
        return number

    def drop(self, names: Iterable[str]) -> None:
        for name in names:
            if self._read[name]:
                self._gone.add(name)
            elif not name.startswith(SEED):
                self._blobs.delete(name)

    def read(self, parts: Sequence[Sequence[Any]], start: int, end: int) -> bytes:
        """From ``start`` up to, not including, ``end``."""
        return b"".join(self._pieces(parts, start, end, end - start))

    async def stream(self, parts: Sequence[Sequence[Any]], start: int, end: int) -> AsyncGenerator[bytes, None]:
        """The same, of which little is in memory. An object that is replaced in the middle is read to its end."""
        names = [name for name, _ in parts]
        self._read.update(names)
        try:
            for piece in self._pieces(parts, start, end, PIECE):
                yield piece
        finally:
            self._read.subtract(names)
            over = {name for name in names if not self._read[name]}
            self.drop(over & self._gone)
            self._gone -= over

    def copied(self, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """The same bytes under names of their own."""
        return [[name if name.startswith(SEED) else self.add(self._part(name, 0, size)), size] for name, size in parts]

    def _pieces(self, parts: Sequence[Sequence[Any]], start: int, end: int, longest: int) -> Iterator[bytes]:
        place = 0
        for name, size in parts:
            first, last = max(start - place, 0), min(end - place, size)
            place += size
            if first >= last:
                continue
            chunk = max(longest, CHUNK)
            for at in range(first, last, chunk):
                data = self._part(name, at, min(at + chunk, last))
                yield from (data[here : here + longest] for here in range(0, len(data), longest))

    def _part(self, name: str, start: int, end: int) -> bytes:
        if name.startswith(SEED):
            return self._seed(name.removeprefix(SEED))[start:end]
        data = self._blobs.part(name, start, end)
        if data is None:
            raise ConnectionAborted
        return data
