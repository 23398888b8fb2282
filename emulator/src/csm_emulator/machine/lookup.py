"""Answers about one thing that do not look at all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.state.tables import RecordTable


class Lookup:
    """Which records of a table may have a value.

    Those of the seed, which never changes, are read once; those that were put since are always among the candidates.
    """

    def __init__(self, table: RecordTable, pairs: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """``pairs`` gives a value and the key of its record, for every record of the seed."""
        self._table = table
        self._pairs = pairs
        self._keys: dict[str, list[str]] | None = None

    def candidates(self, values: Iterable[str]) -> list[str]:
        """Keys of records that are there; a superset of those that have one of the values."""
        if self._keys is None:
            self._keys = {}
            for value, key in self._pairs():
                self._keys.setdefault(value, []).append(key)
        of_seed = [key for value in dict.fromkeys(values) for key in self._keys.get(value, ())]
        untouched = (key for key in dict.fromkeys(of_seed) if self._table.is_of_seed(key) and key in self._table)
        return [*untouched, *self._table.touched()]
