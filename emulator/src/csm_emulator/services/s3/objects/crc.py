"""Cyclic redundancy checks that the standard library lacks: CRC-32C and CRC-64/NVME, and how two are combined.

They are polynomials over GF(2), reflected: the lowest bit is the highest power. Long data is folded in halves as one
large number, which is about ten times faster in Python than byte after byte.
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

    def compute(self, data: bytes) -> int:
        ones = (1 << self.width) - 1
        if len(data) * 8 <= self.width:
            return self._by_table(data, ones) ^ ones
        # An initial state of all ones is the same as inverting the first bits.
        number, bits = int.from_bytes(data, "little") ^ ones, len(data) * 8
        while bits > _SHORT * 8:
            number, bits = self._fold(number, bits)
        return self._by_table(number.to_bytes((bits + 7) // 8, "little"), 0) ^ ones

    def combine(self, first: int, second: int, second_size: int) -> int:
        """The checksum of two pieces, one after the other, from their checksums."""
        return self._multiply(first, self._power(second_size * 8)) ^ second

    def _fold(self, number: int, bits: int) -> tuple[int, int]:
        """A number of about half as many bits with the same remainder: the front is multiplied by x to the power of its
        distance and added to the end.
        """
        front_bits = (bits - self.width) // 2 & ~7
        front_part, back_part = number & ((1 << front_bits) - 1), number >> front_bits
        remaining = bits - front_bits
        factor = self._power(remaining)
        product = 0
        while factor:
            lowest = factor & -factor
            product ^= front_part << (lowest.bit_length() - 1)
            factor ^= lowest
        return back_part ^ (product << (remaining - front_bits - self.width + 1)), remaining

    def _by_table(self, data: bytes, state: int) -> int:
        table = self._table
        for byte in data:
            state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
        return state

    @cached_property
    def _table(self) -> list[int]:
        return [self._multiply_by_x(byte, 8) for byte in range(256)]

    def _multiply_by_x(self, state: int, times: int) -> int:
        """The state multiplied by x, ``times`` times."""
        for _ in range(times):
            state = (state >> 1) ^ (self.polynomial if state & 1 else 0)
        return state

    def _multiply(self, factor: int, right: int) -> int:
        product = 0
        for place in range(self.width - 1, -1, -1):
            if right >> place & 1:
                product ^= factor
            factor = self._multiply_by_x(factor, 1)
        return product

    def _power(self, exponent: int) -> int:
        """x to this power."""
        result, square = 1 << (self.width - 1), 1 << (self.width - 2)
        while exponent:
            if exponent & 1:
                result = self._multiply(result, square)
            square = self._multiply(square, square)
            exponent >>= 1
        return result


CRC32 = Crc(32, 0xEDB88320)
CRC32C = Crc(32, 0x82F63B78)
CRC64NVME = Crc(64, 0x9A6C9329AC4BC9B5)
