"""All configurations, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from canton.emulator.machine.shelves import Shelves

Record = dict[str, Any]


class Configurations:
    def __init__(self, shelves: Shelves) -> None:
        self._shelf = shelves.open("cfs.configurations")
        self.watchers: list[Callable[[str], None]] = []
        """Called with the name of one that was put or is gone."""

    def get(self, name: str) -> Record | None:
        found: Record | None = self._shelf.get(name)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._shelf

    def names(self) -> list[str]:
        return sorted(self._shelf)

    def all(self) -> Iterator[Record]:
        return iter(self._shelf.values())

    def layers(self, name: str) -> list[Record] | None:
        """None when there is no such configuration."""
        record = self._shelf.get(name) if name else None
        return None if record is None else record["layers"]

    def put(self, name: str, record: Record) -> None:
        self._shelf[name] = record
        self._tell(name)

    def delete(self, name: str) -> None:
        del self._shelf[name]
        self._tell(name)

    def _tell(self, name: str) -> None:
        for watcher in self.watchers:
            watcher(name)


def layers_and_inventory(record: Record) -> Iterator[Record]:
    """Everything in it that names a repository."""
    yield from record["layers"]
    if record.get("additional_inventory"):
        yield record["additional_inventory"]
