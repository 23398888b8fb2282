"""All configurations, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from csm_emulator.records import Record
from csm_emulator.services.cfs.table import Table
from csm_emulator.state.tables import RecordTables


class Configurations(Table):
    def __init__(self, tables: RecordTables) -> None:
        super().__init__(tables.open("cfs.configurations"))
        self.watchers: list[Callable[[str], None]] = []
        """Called with the name of a configuration that was written or deleted."""

    def layers(self, name: str) -> list[Record] | None:
        """The layers of a configuration; None when it does not exist."""
        record = self.get(name) if name else None
        return None if record is None else record["layers"]

    def put(self, name: str, record: Record) -> None:
        super().put(name, record)
        self._notify(name)

    def delete(self, name: str) -> None:
        super().delete(name)
        self._notify(name)

    def _notify(self, name: str) -> None:
        for watcher in self.watchers:
            watcher(name)


def layers_and_inventory(record: Record) -> Iterator[Record]:
    """All parts of a configuration that name a repository."""
    yield from record["layers"]
    if record.get("additional_inventory"):
        yield record["additional_inventory"]
