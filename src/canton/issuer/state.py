"""The issuer's state in a private SQLite file. Codes and tokens are stored as digests only.

The signing keys are stored in the clear: a reader could sign a token for any user. Only the owner can read it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from canton.domain.errors import InvalidSetting

_TABLES = """
CREATE TABLE IF NOT EXISTS signing_key (
    kid TEXT PRIMARY KEY, algorithm TEXT NOT NULL, private TEXT NOT NULL, created_at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS family (
    id TEXT PRIMARY KEY, client TEXT NOT NULL, username TEXT NOT NULL, scope TEXT NOT NULL, expires_at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS refresh (
    digest TEXT PRIMARY KEY, family TEXT NOT NULL, used INTEGER NOT NULL DEFAULT 0, expires_at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS code (
    digest TEXT PRIMARY KEY, client TEXT NOT NULL, username TEXT NOT NULL, redirect_uri TEXT NOT NULL,
    challenge TEXT NOT NULL, scope TEXT NOT NULL, nonce TEXT, used INTEGER NOT NULL DEFAULT 0, family TEXT,
    expires_at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS device (
    digest TEXT PRIMARY KEY, user_code TEXT NOT NULL UNIQUE, client TEXT NOT NULL, scope TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending', username TEXT, pause REAL NOT NULL, polled_at REAL, expires_at REAL NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS subject (
    username TEXT PRIMARY KEY, sub TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE IF NOT EXISTS attempts (
    subject TEXT PRIMARY KEY, number INTEGER NOT NULL, last_at REAL NOT NULL
) STRICT;
"""
# A used code stays as long as the tokens that it led to: a second use of the code must still end them.
_DELETE_EXPIRED = """
DELETE FROM refresh WHERE expires_at < :now;
DELETE FROM family WHERE expires_at < :now;
DELETE FROM code WHERE expires_at < :now AND (family IS NULL OR family NOT IN (SELECT id FROM family));
DELETE FROM device WHERE expires_at < :now - 60;
DELETE FROM attempts WHERE last_at < :now - 900;
"""


class State:
    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Created here, because SQLite would make it readable for others.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
            path.chmod(0o600)
            with closing(self._connect()) as connection:
                connection.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise InvalidSetting(f"the issuer cannot keep its state in {path}: {error}; choose another file") from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One writer at a time, so that two requests never use the same code or token."""
        with closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=10, isolation_level=None)
        connection.row_factory = sqlite3.Row
        return connection


def delete_expired(connection: sqlite3.Connection, now: float) -> None:
    for statement in _DELETE_EXPIRED.split(";\n"):
        if statement:
            connection.execute(statement, {"now": now})


def fresh_secret() -> str:
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """SHA-256 of a random secret of 256 bits, which needs no salt."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
