"""Who a name stands for: a random ``sub`` for each user and each client, as Keycloak has it.

It is kept in the state file as long as the users file has the name. A user that was removed (and the server started
since) is forgotten with all logins: who gets the name later is another person, and inherits no binding.
"""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable


def subject_of(connection: sqlite3.Connection, username: str) -> str:
    """The ``sub`` of this name; made the first time that somebody has it."""
    connection.execute("INSERT OR IGNORE INTO subject (username, sub) VALUES (?, ?)", (username, str(uuid.uuid4())))
    row = connection.execute("SELECT sub FROM subject WHERE username = ?", (username,)).fetchone()
    return str(row["sub"])


def forget_others(connection: sqlite3.Connection, usernames: Iterable[str]) -> None:
    """At start: names that nobody has any more lose their ``sub``, their logins, and what could become one."""
    connection.execute("CREATE TEMP TABLE present (username TEXT PRIMARY KEY)")
    connection.executemany("INSERT OR IGNORE INTO temp.present VALUES (?)", ((name,) for name in usernames))
    gone = "username NOT IN (SELECT username FROM temp.present)"
    connection.execute(f"DELETE FROM refresh WHERE family IN (SELECT id FROM family WHERE {gone})")  # noqa: S608
    for table in ("subject", "family", "code", "device"):
        connection.execute(f"DELETE FROM {table} WHERE {gone}")  # noqa: S608 (names of our own)
