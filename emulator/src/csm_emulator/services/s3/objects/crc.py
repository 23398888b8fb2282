"""Cyclic redundancy checks that the standard library lacks: CRC-32C and CRC-64/NVME, and how two become one.

Polynomials over two elements, reflected as the bytes come: the lowest bit is the highest power. Long data is folded in
halves as one large number, which Python does some ten times faster than byte after byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

_SHORT = 1024
"""Bytes below which a table is faster than folding."""


@dataclass(frozen=True)
class Crc:
    width: int
    polynomial: int
    """Reflected, without its highest power."""

    def of(self, data: bytes) -> int:
        ones = (1 << self.width) - 1
        if len(data) * 8 <= self.width:
            return self._by_table(data, ones) ^ ones
        # All ones at the start are the same as the first bits turned over.
        number, bits = int.from_bytes(data, "little") ^ ones, len(data) * 8
        while bits > _SHORT * 8:
            number, bits = self._folded(number, bits)
        return self._by_table(number.to_bytes((bits + 7) // 8, "little"), 0) ^ ones

    def combined(self, first: int, second: int, second_size: int) -> int:
        """Of two pieces, one after the other, from theirs."""
        return self._times(first, self._power(second_size * 8)) ^ second

    def _folded(self, number: int, bits: int) -> tuple[int, int]:
        """The same rest, of about half as many bits: the front is multiplied by its distance and laid over the end."""
        front = (bits - self.width) // 2 & ~7
        ahead, behind = number & ((1 << front) - 1), number >> front
        left = bits - front
        factor = self._power(left)
        product = 0
        while factor:
            lowest = factor & -factor
            product ^= ahead << (lowest.bit_length() - 1)
            factor ^= lowest
        return behind ^ (product << (left - front - self.width + 1)), left

    def _by_table(self, data: bytes, state: int) -> int:
        table = self._table
        for byte in data:
            state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
        return state

    @cached_property
    def _table(self) -> list[int]:
        return [self._stepped(byte, 8) for byte in range(256)]

    def _stepped(self, state: int, times: int) -> int:
        """Multiplied by x so many times."""
        for _ in range(times):
            state = (state >> 1) ^ (self.polynomial if state & 1 else 0)
        return state

    def _times(self, left: int, right: int) -> int:
        product = 0
        for place in range(self.width - 1, -1, -1):
            if right >> place & 1:
                product ^= left
            left = self._stepped(left, 1)
        return product

    def _power(self, exponent: int) -> int:
        """x to this power."""
        result, square = 1 << (self.width - 1), 1 << (self.width - 2)
        while exponent:
            if exponent & 1:
                result = self._times(result, square)
            square = self._times(square, square)
            exponent >>= 1
        return result


CRC32 = Crc(32, 0xEDB88320)
CRC32C = Crc(32, 0x82F63B78)
CRC64NVME = Crc(64, 0x9A6C9329AC4BC9B5)
