"""Named tables of plain data, for all state that must survive a restart.

A table maps text to JSON, on top of a *seed* that follows from the topology. Only differences from the seed are saved.
Never change a value of a table in place: assign a new one.

The owner of a table states the type of its values, which JSON must express: nothing checks the values of a state file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from enum import Enum
from typing import Any, Final, Generic, Literal, TypeVar

from csm_emulator.records import Json

T = TypeVar("T")
Row = tuple[str, str, str | None]
"""Table, key and JSON value.

``""``: a key of the seed was deleted. None: delete the stored row, either for good or so that it is inserted again at
the end.
"""


class _Mark(Enum):
    DELETED = "deleted"
    """The value of a deleted key of the seed."""
    UNCHANGED = "unchanged"
    """Result of a look-up: the key was neither assigned nor deleted."""


# Names of the module: they are read at each access to a table, and cost less than attributes.
_DELETED: Final = _Mark.DELETED
_UNCHANGED: Final = _Mark.UNCHANGED
Changes = Mapping[str, T | Literal[_Mark.DELETED]]
"""The new values by key, and the mark of the deleted keys."""


class RecordTable(MutableMapping[str, T], Generic[T]):
    """A table; its keys are in the order of the seed, then the added keys in the order of their addition."""

    def __init__(self, name: str, seed: Mapping[str, T], changed: Changes[T]) -> None:
        self.name = name
        self._seed = seed
        self._changes: dict[str, T | Literal[_Mark.DELETED]] = dict(changed)
        self._dirty: dict[str, bool] = {}
        """Keys changed since the last save, in order; True if a key was deleted meanwhile and so moves to the end."""
        self._added = {key: None for key, value in changed.items() if value is not _DELETED and key not in seed}
        deleted = sum(value is _DELETED and key in seed for key, value in changed.items())
        self._length = len(seed) + len(self._added) - deleted

    @property
    def seed(self) -> Mapping[str, T]:
        return self._seed

    def __getitem__(self, key: str) -> T:
        value = self._changes.get(key, _UNCHANGED)
        if value is _UNCHANGED:
            return self._seed[key]
        if value is _DELETED:
            raise KeyError(key)
        return value

    def __setitem__(self, key: str, value: T) -> None:
        moves_to_end = False
        if key not in self:
            self._length += 1
            if key not in self._seed:
                self._added[key] = None
            # A deleted key that is added again goes to the end, as a new one does.
            self._changes.pop(key, None)
            moves_to_end = self._dirty.pop(key, None) is not None
        self._changes[key] = value
        self._dirty[key] = moves_to_end or self._dirty.get(key, False)

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
        value = self._changes.get(key, _UNCHANGED)  # type: ignore[call-overload]
        return key in self._seed if value is _UNCHANGED else value is not _DELETED

    def __iter__(self) -> Iterator[str]:
        return self.keys_in_order(self._seed)

    def keys_in_order(self, seed_keys: Iterable[str]) -> Iterator[str]:
        """The given keys of the seed that are not deleted, then all added keys."""
        changes = self._changes
        for key in seed_keys:
            if changes.get(key) is not _DELETED:
                yield key
        yield from self._added

    def assigned_keys(self) -> Iterator[str]:
        """The keys, of the seed or added, to which a value was assigned."""
        return (key for key, value in self._changes.items() if value is not _DELETED)

    def __len__(self) -> int:
        return self._length

    def is_unchanged(self, key: str) -> bool:
        """Whether the key was neither assigned nor deleted."""
        return key not in self._changes

    def take_changes(self) -> list[Row]:
        """The rows to save for the changes since the last call."""
        dirty, self._dirty = self._dirty, {}
        rows: list[Row] = []
        for key, moves_to_end in dirty.items():
            if moves_to_end:
                rows.append((self.name, key, None))
            rows.append((self.name, key, self._saved_value(key)))
        return rows

    def mark_dirty(self, key: str, *, moves_to_end: bool) -> None:
        """The next ``take_changes`` returns the key again."""
        self._dirty[key] = self._dirty.get(key, False) or moves_to_end

    def _saved_value(self, key: str) -> str | None:
        if key not in self._changes:
            return None
        value = self._changes[key]
        return "" if value is _DELETED else json.dumps(value)


class RecordTables:
    def __init__(self, saved: Iterable[Row] = ()) -> None:
        self._saved = _by_table(saved)
        # Each table has values of another type, which only its owner knows.
        self._tables: dict[str, RecordTable[Any]] = {}

    def open(self, name: str, seed: Mapping[str, T] | None = None) -> RecordTable[T]:
        """Opens a table whose values have the type that the caller states.

        Raises ``ValueError`` if the table is open already, since a table has one owner.
        """
        if name in self._tables:
            raise ValueError(f"table {name} already has an owner")
        table: RecordTable[T] = RecordTable(name, seed or {}, self._saved.pop(name, {}))
        self._tables[name] = table
        return table

    def take_changes(self) -> list[Row]:
        """The rows to save for the changes of all tables since the last call."""
        return [row for table in self._tables.values() for row in table.take_changes()]

    def put_back(self, rows: Iterable[Row]) -> None:
        """Marks changes as unsaved again, after they could not be written."""
        for name, key, value in rows:
            self._tables[name].mark_dirty(key, moves_to_end=value is None)


def _by_table(rows: Iterable[Row]) -> dict[str, dict[str, Json]]:
    tables: dict[str, dict[str, Json]] = {}
    for name, key, value in rows:
        tables.setdefault(name, {})[key] = json.loads(value) if value else _DELETED
    return tables
