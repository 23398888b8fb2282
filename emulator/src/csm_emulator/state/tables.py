"""All state that must survive, as plain data on named tables.

A table is a mapping from text to JSON over a *seed*, which is what the topology says. Only what differs from the seed
is written down. A value on a table is never changed in place: put a new one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

Row = tuple[str, str, str | None]
"""Shelf, key, and the value as JSON: empty for a key of the seed that is gone, None where there is nothing to keep."""

_DELETED = object()


class RecordTable(MutableMapping[str, Any]):
    """In the order of the seed, then as added."""

    def __init__(self, name: str, seed: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
        self.name = name
        self._seed = seed
        self._changes: dict[str, Any] = dict(changed)
        self._dirty: dict[str, bool] = {}
        """What changed since the last time, in order; whether it went in between, and so has another place."""
        self._added = {key: None for key, value in changed.items() if value is not _DELETED and key not in seed}
        deleted = sum(value is _DELETED and key in seed for key, value in changed.items())
        self._length = len(seed) + len(self._added) - deleted

    @property
    def seed(self) -> Mapping[str, Any]:
        return self._seed

    def __getitem__(self, key: str) -> Any:
        value = self._changes.get(key, self)
        if value is self:
            return self._seed[key]
        if value is _DELETED:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: Any) -> None:
        went = False
        if key not in self:
            self._length += 1
            if key not in self._seed:
                self._added[key] = None
            # A key that went and comes again goes to the end, as a new one does.
            self._changes.pop(key, None)
            went = self._dirty.pop(key, None) is not None
        self._changes[key] = value
        self._dirty[key] = went or self._dirty.get(key, False)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        if key in self._seed:
            self._changes[key] = _DELETED
        else:
            del self._changes[key], self._added[key]
        self._length -= 1
        self._dirty[key] = False

    def __contains__(self, key: object) -> bool:
        value = self._changes.get(key, self)  # type: ignore[call-overload]
        return key in self._seed if value is self else value is not _DELETED

    def __iter__(self) -> Iterator[str]:
        return self.in_order(self._seed)

    def in_order(self, of_seed: Iterable[str]) -> Iterator[str]:
        """Of these keys of the seed those that are there, then all that were added."""
        changes = self._changes
        for key in of_seed:
            if changes.get(key) is not _DELETED:
                yield key
        yield from self._added

    def touched(self) -> Iterator[str]:
        """The keys of all that was put, in place of what the seed has or beside it."""
        return (key for key, value in self._changes.items() if value is not _DELETED)

    def __len__(self) -> int:
        return self._length

    def is_of_seed(self, key: str) -> bool:
        """Whether nobody has put anything there, nor taken it away."""
        return key not in self._changes

    def take_changes(self) -> list[Row]:
        """What changed since the last time."""
        dirty, self._dirty = self._dirty, {}
        rows: list[Row] = []
        for key, went in dirty.items():
            if went:
                rows.append((self.name, key, None))
            rows.append((self.name, key, self._written(key)))
        return rows

    def changed_again(self, key: str, *, went: bool) -> None:
        self._dirty[key] = self._dirty.get(key, False) or went

    def _written(self, key: str) -> str | None:
        if key not in self._changes:
            return None
        value = self._changes[key]
        return "" if value is _DELETED else json.dumps(value)


class RecordTables:
    def __init__(self, saved: Iterable[Row] = ()) -> None:
        self._saved = _by_table(saved)
        self._tables: dict[str, RecordTable] = {}

    def open(self, name: str, seed: Mapping[str, Any] | None = None) -> RecordTable:
        """Each name once: a table has one owner."""
        if name in self._tables:
            raise ValueError(f"shelf {name} has an owner already")
        table = RecordTable(name, seed or {}, self._saved.pop(name, {}))
        self._tables[name] = table
        return table

    def take_changes(self) -> list[Row]:
        """What changed on any table since the last time."""
        return [row for table in self._tables.values() for row in table.take_changes()]

    def put_back(self, rows: Iterable[Row]) -> None:
        """They could not be written: they are changes still."""
        for name, key, value in rows:
            self._tables[name].changed_again(key, went=value is None)


def _by_table(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for name, key, value in rows:
        tables.setdefault(name, {})[key] = json.loads(value) if value else _DELETED
    return tables
