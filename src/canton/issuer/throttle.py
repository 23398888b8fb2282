"""Guessing gets slower: after five tries at one thing, each further one waits twice as long, up to a minute."""

from __future__ import annotations

import math
import sqlite3

_FREE = 5
_LONGEST = 60


def try_once(connection: sqlite3.Connection, subject: str, now: float) -> int:
    """How many seconds to wait; 0 lets the try through, and counts it before anybody knows how it ends.

    Counted first, so that many tries at the same moment are not all the first one.
    """
    row = connection.execute("SELECT number, last_at FROM attempts WHERE subject = ?", (subject,)).fetchone()
    number: int = row["number"] if row else 0
    if number >= _FREE:
        wait: float = row["last_at"] + min(2.0 ** (number - _FREE), _LONGEST) - now
        if wait > 0:
            return math.ceil(wait)
    connection.execute(
        "INSERT INTO attempts (subject, number, last_at) VALUES (?, ?, ?) "
        "ON CONFLICT (subject) DO UPDATE SET number = min(excluded.number, 60), last_at = excluded.last_at",
        (subject, number + 1, now),
    )
    return 0


def succeeded(connection: sqlite3.Connection, subject: str) -> None:
    connection.execute("DELETE FROM attempts WHERE subject = ?", (subject,))
