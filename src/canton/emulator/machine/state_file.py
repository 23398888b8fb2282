"""The file that a machine is kept in, SQLite: a kill in the middle of a write leaves what was there before it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from canton.domain.errors import InvalidMachine
from canton.emulator.machine.shelves import Row

FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept (
  number INTEGER PRIMARY KEY, shelf TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (shelf, key)
);
CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, entry TEXT NOT NULL);
"""
_KEEP = """
INSERT INTO kept (shelf, key, value) VALUES (?, ?, ?) ON CONFLICT (shelf, key) DO UPDATE SET value = excluded.value
"""
_DROP = "DELETE FROM kept WHERE shelf = ? AND key = ?"
Entry = tuple[int, str]
"""Number and JSON of an entry of the truth's log."""


class StateFile:
    """One writer. Reading and writing may happen on another thread than the one that opened it, one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(_SCHEMA)
            found = self.about("format")
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise InvalidMachine(f"{path} is not a state of the emulator: {error}; name another file") from error
        if found not in (None, FORMAT):
            self._connection.close()
            raise InvalidMachine(f"{path} has format {found}, this emulator reads {FORMAT}; name another file")
        self.set_about("format", FORMAT)

    def about(self, name: str) -> Any:
        found = self._connection.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return None if found is None else json.loads(found[0])

    def set_about(self, name: str, value: object) -> None:
        self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, json.dumps(value)))

    def rows(self) -> Iterator[Row]:
        yield from self._connection.execute("SELECT shelf, key, value FROM kept ORDER BY number")

    def write(self, rows: Sequence[Row], entries: Sequence[Entry]) -> None:
        """All or nothing."""
        with self._connection:
            self._connection.execute("BEGIN")
            # A key that went and came again is in both, and is to come last.
            self._connection.executemany(_DROP, [row[:2] for row in rows if row[2] is None])
            self._connection.executemany(_KEEP, [row for row in rows if row[2] is not None])
            self._connection.executemany("INSERT INTO log VALUES (?, ?)", entries)

    def entries(self, after: int, limit: int) -> list[Entry]:
        return self._connection.execute(
            "SELECT number, entry FROM log WHERE number > ? ORDER BY number LIMIT ?", (after, limit)
        ).fetchall()

    def last_entry(self) -> int:
        return self._connection.execute("SELECT coalesce(max(number), 0) FROM log").fetchone()[0]  # type: ignore[no-any-return]

    def copy_to(self, path: Path) -> None:
        """A whole copy; it is at ``path`` when it is whole, and takes the place of what was there."""
        unfinished = path.with_name(f".{path.name}.unfinished")
        unfinished.unlink(missing_ok=True)
        try:
            self._connection.execute("VACUUM INTO ?", (str(unfinished),))
            unfinished.replace(path)
        except (sqlite3.Error, OSError) as error:
            raise InvalidMachine(f"the state cannot be saved as {path}: {error}; name another file") from error

    def become(self, other: StateFile) -> None:
        """Hold what the other holds, and nothing else; all or nothing."""
        self._connection.execute("ATTACH DATABASE ? AS other", (str(other.path),))
        try:
            with self._connection:
                self._connection.execute("BEGIN")
                for table in ("about", "kept", "log"):
                    self._connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 (names of our own)
                    self._connection.execute(f"INSERT INTO main.{table} SELECT * FROM other.{table}")  # noqa: S608
        finally:
            self._connection.execute("DETACH DATABASE other")

    def close(self) -> None:
        self._connection.close()
