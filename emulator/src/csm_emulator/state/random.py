"""Random numbers that depend on the seed and the arguments, not on earlier calls."""

from __future__ import annotations

import hashlib
from uuid import UUID


class SeededRandom:
    def __init__(self, seed: int) -> None:
        self.seed = seed

    def roll(self, *about: object) -> float:
        """A number from 0 up to, not including, 1."""
        return int.from_bytes(self._bytes(about)[:7]) / (1 << 56)

    def between(self, low: float, high: float, *about: object) -> float:
        return low + (high - low) * self.roll(*about)

    def uuid(self, *about: object) -> str:
        return str(UUID(bytes=self._bytes(about)[:16], version=4))

    def hex(self, digits: int, *about: object) -> str:
        return self._bytes(about).hex()[:digits]

    def _bytes(self, about: tuple[object, ...]) -> bytes:
        return hashlib.blake2b(repr((self.seed, *about)).encode(), digest_size=32).digest()
