"""The state file of a machine, in SQLite: a kill during a write leaves the state before it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from csm_emulator.errors import InvalidMachine, Unavailable
from csm_emulator.state.tables import Row

FORMAT = 2
"""To be raised when a stored name changes: of an SQL table, a record table or a scheduled action."""
LOCK_WAIT = 1.0
"""Seconds; an emulator that is stopping releases its file within this time."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS metadata (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (
  number INTEGER PRIMARY KEY, table_name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
  UNIQUE (table_name, key)
);
CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, entry TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS blobs (key TEXT PRIMARY KEY, data BLOB NOT NULL);
"""
_UPSERT_ROW = """
INSERT INTO records (table_name, key, value) VALUES (?, ?, ?)
ON CONFLICT (table_name, key) DO UPDATE SET value = excluded.value
"""
_DELETE_ROW = "DELETE FROM records WHERE table_name = ? AND key = ?"
_METADATA_TABLES = ("metadata", "about")
"""The table that holds the format: ``about`` in format 1, ``metadata`` since then."""
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY
Entry = tuple[int, str]
"""Number and JSON of an entry of the event log."""
Blob = tuple[str, bytes | None]
"""Key and content; None for a deleted blob."""


class StateFile:
    """The only writer of a file. Other threads than the one that opened it may use it, one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _make_private(path)
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=LOCK_WAIT)
        try:
            self._open()
        except sqlite3.OperationalError as error:
            self._connection.close()
            raise InvalidMachine(f"{path} cannot be used: {error}; does another emulator use it?") from error
        except (sqlite3.DatabaseError, ValueError) as error:
            self._connection.close()
            raise InvalidMachine(f"{path} is not a state of the emulator: {error}; name another file") from error
        except InvalidMachine:
            self._connection.close()
            raise

    def _open(self) -> None:
        # Locked until it is closed: two emulators would overwrite each other's changes.
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        tables = _table_names(self._connection)
        file_format = _read_format(self._connection, tables)
        if tables and file_format is None:
            raise InvalidMachine(f"{self.path} is not a state of the emulator; name another file")
        if file_format not in (None, FORMAT):
            raise InvalidMachine(
                f"{self.path} has format {file_format}, but this emulator reads format {FORMAT}; name another file"
            )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_SCHEMA)
        self.set_metadata("format", FORMAT)

    def metadata(self, name: str) -> Any:
        row = self._connection.execute("SELECT value FROM metadata WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def set_metadata(self, name: str, value: object) -> None:
        self._connection.execute("INSERT OR REPLACE INTO metadata VALUES (?, ?)", (name, json.dumps(value)))

    def rows(self) -> list[Row]:
        return self._connection.execute("SELECT table_name, key, value FROM records ORDER BY number").fetchall()

    def blob(self, key: str) -> bytes | None:
        row = self._connection.execute("SELECT data FROM blobs WHERE key = ?", (key,)).fetchone()
        return None if row is None else row[0]

    def blob_part(self, key: str, start: int, end: int) -> bytes | None:
        """These bytes of a blob; the others are not read."""
        row = self._connection.execute("SELECT rowid FROM blobs WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        with self._connection.blobopen("blobs", "data", row[0], readonly=True) as blob:
            blob.seek(min(start, len(blob)))
            return blob.read(max(end - start, 0))

    def write(self, rows: Sequence[Row], entries: Sequence[Entry], blobs: Sequence[Blob] = ()) -> None:
        """Writes all or nothing; raises ``Unavailable``, for example when the disk is full."""
        try:
            with self._connection:
                self._connection.execute("BEGIN")
                # A key that was deleted and added again is in both lists and goes to the end.
                self._connection.executemany(_DELETE_ROW, [row[:2] for row in rows if row[2] is None])
                self._connection.executemany(_UPSERT_ROW, [row for row in rows if row[2] is not None])
                self._connection.executemany("INSERT INTO log VALUES (?, ?)", entries)
                for key, data in blobs:
                    if data is None:
                        self._connection.execute("DELETE FROM blobs WHERE key = ?", (key,))
                    else:
                        self._connection.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?)", (key, data))
        except (sqlite3.Error, ValueError) as error:
            raise Unavailable(f"the state {self.path} cannot be written: {error}; is the disk full?") from error

    def entries(self, number: int, limit: int) -> list[Entry]:
        return self._connection.execute(
            "SELECT number, entry FROM log WHERE number > ? ORDER BY number LIMIT ?", (number, limit)
        ).fetchall()

    def last_entry(self) -> int:
        return self._connection.execute("SELECT coalesce(max(number), 0) FROM log").fetchone()[0]  # type: ignore[no-any-return]

    def copy_to(self, path: Path) -> None:
        """Writes a copy, which replaces ``path`` once it is complete; raises ``InvalidMachine``."""
        try:
            if path.exists():
                self._check_replaceable(path)
            unfinished = path.with_name(f".{path.name}.unfinished")
            unfinished.unlink(missing_ok=True)
            os.close(os.open(unfinished, _NEW, 0o600))
            self._connection.execute("VACUUM INTO ?", (str(unfinished),))
            unfinished.replace(path)
        except (sqlite3.Error, OSError, ValueError) as error:
            raise InvalidMachine(f"the state cannot be saved as {path}: {error}; name another file") from error

    def _check_replaceable(self, path: Path) -> None:
        """Raises ``InvalidMachine`` unless the file is a saved state or empty: other files are never overwritten."""
        if path.samefile(self.path):
            raise InvalidMachine(f"{path} is the state file in use; name another file")
        if not path.is_file() or (path.stat().st_size and not _is_state(path)):
            raise InvalidMachine(f"{path} exists and is not a saved state; name another file")

    def replace_with(self, other: Path) -> None:
        """Replaces the whole content by that of another file, which is closed; all or nothing."""
        self._connection.execute("ATTACH DATABASE ? AS other", (str(other),))
        try:
            with self._connection:
                self._connection.execute("BEGIN")
                for table in ("metadata", "records", "log", "blobs"):
                    self._connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 (names of our own)
                    self._connection.execute(f"INSERT INTO main.{table} SELECT * FROM other.{table}")  # noqa: S608
        finally:
            self._connection.execute("DETACH DATABASE other")

    def close(self) -> None:
        self._connection.close()


def _make_private(path: Path) -> None:
    """Creates the file with mode 600, as it holds passwords and keys; SQLite's files beside it get the same mode."""
    try:
        os.close(os.open(path, _NEW, 0o600))
    except FileExistsError:
        return
    except (OSError, ValueError) as error:
        raise InvalidMachine(f"{path} cannot be created: {error}; name another file") from error


def _table_names(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _read_format(connection: sqlite3.Connection, tables: set[str]) -> Any:
    """The format of a state file, also of an older one; None if the file is not a state."""
    for name in _METADATA_TABLES:
        if name in tables:
            row = connection.execute(f"SELECT value FROM {name} WHERE name = 'format'").fetchone()  # noqa: S608
            return None if row is None else json.loads(row[0])
    return None


def _is_state(path: Path) -> bool:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        return _read_format(connection, _table_names(connection)) is not None
    except (sqlite3.Error, ValueError):
        return False
    finally:
        connection.close()
