"""The device flow (RFC 8628): a program shows a short code, a person types it into a page and allows it there."""

from __future__ import annotations

import secrets
import sqlite3
from dataclasses import dataclass

from canton.issuer.oauth import OAuthError, invalid_grant
from canton.issuer.refresh_tokens import Login
from canton.issuer.state import digest, fresh_secret

# Consonants only: they form no word by accident, and none looks like 0, 1 or 5 (RFC 8628 §6.1). 34 bits.
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_MAX_PENDING = 1000
_SLOW_DOWN = 5  # seconds more between polls (RFC 8628 §3.5)


@dataclass(frozen=True, slots=True)
class DeviceCodes:
    device_code: str
    user_code: str


def start(connection: sqlite3.Connection, client: str, scope: str, pause: float, expires_at: float) -> DeviceCodes:
    (pending,) = connection.execute("SELECT count(*) FROM device").fetchone()
    if pending >= _MAX_PENDING:
        raise OAuthError(
            "temporarily_unavailable", "too many devices wait for a person; try again in some minutes", 503
        )
    codes = DeviceCodes(fresh_secret(), "".join(secrets.choice(_LETTERS) for _ in range(8)))
    connection.execute(
        "INSERT INTO device (digest, user_code, client, scope, pause, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
        (digest(codes.device_code), codes.user_code, client, scope, pause, expires_at),
    )
    return codes


def format_user_code(user_code: str) -> str:
    return f"{user_code[:4]}-{user_code[4:]}"


def parse_user_code(text: str) -> str:
    """The code in a text that a person typed: letter case, spaces and dashes do not matter."""
    return "".join(letter for letter in text.upper() if letter in _LETTERS)[:9]


def poll(connection: sqlite3.Connection, device_code: str, client: str, now: float) -> Login | OAuthError:
    """Returns an error and does not raise it, so that the transaction that records this poll is committed."""
    row = connection.execute(
        "SELECT * FROM device WHERE digest = ? AND client = ?", (digest(device_code), client)
    ).fetchone()
    if row is None or row["state"] == "used":
        return invalid_grant("no such device code, or it was used; start again")
    if row["expires_at"] <= now:
        return OAuthError("expired_token", "this device was not allowed in time; start again")
    if row["state"] == "refused":
        return OAuthError("access_denied", "the request was refused on the page")
    if row["state"] == "pending":
        return _not_yet(connection, row, now)
    connection.execute("UPDATE device SET state = 'used' WHERE digest = ?", (row["digest"],))
    return Login(client, row["username"], row["scope"])


def _not_yet(connection: sqlite3.Connection, row: sqlite3.Row, now: float) -> OAuthError:
    # A poll that was sent in time may arrive up to 0.1 s early.
    is_early = row["polled_at"] is not None and now - row["polled_at"] < row["pause"] - 0.1
    pause = row["pause"] + (_SLOW_DOWN if is_early else 0)
    connection.execute("UPDATE device SET polled_at = ?, pause = ? WHERE digest = ?", (now, pause, row["digest"]))
    if is_early:
        return OAuthError("slow_down", f"ask every {pause:.0f} seconds, not more often")
    return OAuthError("authorization_pending", "this device is not allowed yet; ask again")


def decide(connection: sqlite3.Connection, user_code: str, username: str, now: float, *, allow: bool) -> bool:
    """False if no device waits with this code."""
    return (
        connection.execute(
            "UPDATE device SET state = ?, username = ? WHERE user_code = ? AND state = 'pending' AND expires_at > ?",
            ("allowed" if allow else "refused", username, user_code, now),
        ).rowcount
        == 1
    )
