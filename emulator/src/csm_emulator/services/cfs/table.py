"""Records by name."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.records import Record
from csm_emulator.state.tables import RecordTable


class Table:
    def __init__(self, table: RecordTable[Record]) -> None:
        self._table = table

    def get(self, name: str) -> Record | None:
        record: Record | None = self._table.get(name)
        return record

    def __contains__(self, name: str) -> bool:
        return name in self._table

    def names(self) -> list[str]:
        return sorted(self._table)

    def all(self) -> Iterator[Record]:
        return iter(self._table.values())

    def put(self, name: str, record: Record) -> None:
        self._table[name] = record

    def delete(self, name: str) -> None:
        del self._table[name]
