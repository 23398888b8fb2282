"""Refresh tokens: a token is valid once and its use issues the next one. All tokens of one login are a family.

A token that is used twice has been copied, and the issuer cannot tell the thief from the client. So the whole family
ends and the person logs in again (RFC 9700 §4.14.2).
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from canton.issuer.state import digest, fresh_secret


@dataclass(frozen=True, slots=True)
class Login:
    """Which user logged in, with which client and scope."""

    client: str
    username: str
    scope: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    login: Login
    token: str
    expires_at: float


def start(connection: sqlite3.Connection, login: Login, expires_at: float) -> tuple[str, str]:
    """The family's identifier and its first token."""
    family = fresh_secret()
    connection.execute(
        "INSERT INTO family (id, client, username, scope, expires_at) VALUES (?, ?, ?, ?, ?)",
        (family, login.client, login.username, login.scope, expires_at),
    )
    return family, _add(connection, family, expires_at)


def rotate(connection: sqlite3.Connection, token: str, client: str, now: float) -> Refreshed | None:
    """None if the token is not valid. A token that was used before, or by another client, also ends its family."""
    row = connection.execute(
        "SELECT family, used, family.* FROM refresh JOIN family ON family.id = refresh.family "
        "WHERE digest = ? AND family.expires_at > ?",
        (digest(token), now),
    ).fetchone()
    if row is None:
        return None
    if row["used"] or row["client"] != client:
        end(connection, row["id"])
        return None
    connection.execute("UPDATE refresh SET used = 1 WHERE digest = ?", (digest(token),))
    login = Login(row["client"], row["username"], row["scope"])
    return Refreshed(login, _add(connection, row["id"], row["expires_at"]), row["expires_at"])


def revoke(connection: sqlite3.Connection, token: str, client: str) -> None:
    row = connection.execute(
        "SELECT family.id FROM refresh JOIN family ON family.id = refresh.family WHERE digest = ? AND client = ?",
        (digest(token), client),
    ).fetchone()
    if row is not None:
        end(connection, row["id"])


def end(connection: sqlite3.Connection, family: str) -> None:
    connection.execute("DELETE FROM refresh WHERE family = ?", (family,))
    connection.execute("DELETE FROM family WHERE id = ?", (family,))


def _add(connection: sqlite3.Connection, family: str, expires_at: float) -> str:
    token = fresh_secret()
    connection.execute(
        "INSERT INTO refresh (digest, family, expires_at) VALUES (?, ?, ?)", (digest(token), family, expires_at)
    )
    return token
