"""The claim ``sub`` of users and clients: random, as in Keycloak.

It stays in the state file as long as the users file has the name. When a server starts, it deletes users that are no
longer in the file, with their logins: a later user of the same name is another person and inherits no binding.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable


def subject_of(connection: sqlite3.Connection, username: str) -> str:
    """The ``sub`` of this name, created on its first use."""
    connection.execute("INSERT OR IGNORE INTO subject (username, sub) VALUES (?, ?)", (username, str(uuid.uuid4())))
    row = connection.execute("SELECT sub FROM subject WHERE username = ?", (username,)).fetchone()
    return str(row["sub"])


def delete_absent(connection: sqlite3.Connection, usernames: Iterable[str]) -> None:
    """Delete the ``sub``, the logins, the codes and the device codes of all names but these; called at start."""
    connection.execute("CREATE TEMP TABLE present (username TEXT PRIMARY KEY)")
    connection.executemany("INSERT OR IGNORE INTO temp.present VALUES (?)", ((name,) for name in usernames))
    is_absent = "username NOT IN (SELECT username FROM temp.present)"
    connection.execute(f"DELETE FROM refresh WHERE family IN (SELECT id FROM family WHERE {is_absent})")  # noqa: S608
    for table in ("subject", "family", "code", "device"):
        connection.execute(f"DELETE FROM {table} WHERE {is_absent}")  # noqa: S608 (names of our own)
