"""Slows guessing down: after five failed attempts on a subject the wait doubles with each further one, up to 60 s."""

from __future__ import annotations

import math
import sqlite3

_FREE_ATTEMPTS = 5
_MAX_WAIT = 60


def count_attempt(connection: sqlite3.Connection, subject: str, now: float) -> int:
    """The seconds to wait; 0 if the attempt may go on, which is then counted before its result is known.

    Otherwise many attempts at the same moment would all count as the first one.
    """
    row = connection.execute("SELECT number, last_at FROM attempts WHERE subject = ?", (subject,)).fetchone()
    number: int = row["number"] if row else 0
    if number >= _FREE_ATTEMPTS:
        wait: float = row["last_at"] + min(2.0 ** (number - _FREE_ATTEMPTS), _MAX_WAIT) - now
        if wait > 0:
            return math.ceil(wait)
    connection.execute(
        "INSERT INTO attempts (subject, number, last_at) VALUES (?, ?, ?) "
        "ON CONFLICT (subject) DO UPDATE SET number = min(excluded.number, 60), last_at = excluded.last_at",
        (subject, number + 1, now),
    )
    return 0


def reset(connection: sqlite3.Connection, subject: str) -> None:
    connection.execute("DELETE FROM attempts WHERE subject = ?", (subject,))
