"""Records that belong to a tenant or to no tenant: templates, sessions and final session statuses."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha1

from csm_emulator.records import Record
from csm_emulator.state.tables import RecordTable


def owned_key(name: str, tenant: str | None) -> str:
    """The key in BOS's database; lists are in the order of these keys."""
    return f"{_hash(tenant or '')}-{_hash(name)}"


def _hash(text: str) -> str:
    return sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


class OwnedRecords:
    def __init__(self, table: RecordTable[Record]) -> None:
        self._table = table

    def get(self, name: str, tenant: str | None) -> Record | None:
        record: Record | None = self._table.get(owned_key(name, tenant))
        return record

    def put(self, name: str, tenant: str | None, record: Record) -> None:
        self._table[owned_key(name, tenant)] = record

    def delete(self, name: str, tenant: str | None) -> bool:
        """Delete the record; return whether it existed."""
        return self._table.pop(owned_key(name, tenant), None) is not None

    def __iter__(self) -> Iterator[Record]:
        for key in sorted(self._table):
            yield self._table[key]
