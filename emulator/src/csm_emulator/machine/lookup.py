"""An index of a record table by value, so that a query does not scan all records."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.records import Record
from csm_emulator.state.tables import RecordTable


class Lookup:
    """Finds the records of a table that may have a value.

    The seed, which never changes, is indexed once; records written since are always candidates.
    """

    def __init__(self, table: RecordTable[Record], pairs: Callable[[], Iterable[tuple[str, str]]]) -> None:
        """``pairs`` yields a value and the key of its record, for each record of the seed."""
        self._table = table
        self._pairs = pairs
        self._keys: dict[str, list[str]] | None = None

    def candidates(self, values: Iterable[str]) -> list[str]:
        """Keys of existing records: a superset of those that have one of the values."""
        if self._keys is None:
            self._keys = {}
            for value, key in self._pairs():
                self._keys.setdefault(value, []).append(key)
        seed_keys = [key for value in dict.fromkeys(values) for key in self._keys.get(value, ())]
        unchanged_keys = (
            key for key in dict.fromkeys(seed_keys) if self._table.is_unchanged(key) and key in self._table
        )
        return [*unchanged_keys, *self._table.assigned_keys()]
