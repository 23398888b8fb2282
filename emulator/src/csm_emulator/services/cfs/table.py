"""Records by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from csm_emulator.state.tables import Shelf

Record = dict[str, Any]


class Table:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def get(self, name: str) -> Record | None:
        found: Record | None = self._shelf.get(name)
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._shelf

    def names(self) -> list[str]:
        return sorted(self._shelf)

    def all(self) -> Iterator[Record]:
        return iter(self._shelf.values())

    def put(self, name: str, record: Record) -> None:
        self._shelf[name] = record

    def delete(self, name: str) -> None:
        del self._shelf[name]
