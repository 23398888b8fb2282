"""The bytes of objects: one blob for each object, or for each part of one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from typing import Any

from canton.domain.errors import Unavailable
from canton.emulator.faces.s3.refusals import Refused
from canton.emulator.machine.blobs import Blobs
from canton.emulator.machine.shelves import Shelf
from canton.emulator.wire.call import Cut

PIECE = 1 << 20
SEED = "seed:"
"""Begins the name of what lies there from the first day, and is never stored."""


class Store:
    def __init__(self, blobs: Blobs, numbers: Shelf, seed: Callable[[str], bytes]) -> None:
        """``seed`` gives the bytes of the first day by their place, ``bucket/key``."""
        self._blobs = blobs
        self._numbers = numbers
        self._seed = seed

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
            if not name.startswith(SEED):
                self._blobs.delete(name)

    def read(self, parts: Sequence[Sequence[Any]], start: int, end: int) -> bytes:
        """From ``start`` up to, not including, ``end``."""
        return b"".join(self._pieces(parts, start, end, end - start))

    async def stream(self, parts: Sequence[Sequence[Any]], start: int, end: int) -> AsyncGenerator[bytes, None]:
        """The same, of which one part at most is in memory. Cut off when the object goes in the middle."""
        for piece in self._pieces(parts, start, end, PIECE):
            yield piece

    def copied(self, parts: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """The same bytes under names of their own."""
        return [[name if name.startswith(SEED) else self.add(self._whole(name)), size] for name, size in parts]

    def _pieces(self, parts: Sequence[Sequence[Any]], start: int, end: int, longest: int) -> Iterator[bytes]:
        place = 0
        for name, size in parts:
            first, last = max(start - place, 0), min(end - place, size)
            place += size
            if first >= last:
                continue
            data = self._whole(name)
            for at in range(first, last, longest):
                yield data[at : min(at + longest, last)]

    def _whole(self, name: str) -> bytes:
        if name.startswith(SEED):
            return self._seed(name.removeprefix(SEED))
        data = self._blobs.get(name)
        if data is None:
            raise Cut
        return data
