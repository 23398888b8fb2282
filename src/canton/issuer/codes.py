"""Authorization codes: good once, for a minute, for the client that asked, with the verifier it made (RFC 7636)."""

from __future__ import annotations

import hashlib
import hmac
import re
import sqlite3
from base64 import urlsafe_b64encode
from dataclasses import dataclass

from canton.issuer import families
from canton.issuer.families import Login
from canton.issuer.state import digest, fresh_secret

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the client wanted when it sent somebody to log in."""

    client: str
    redirect_uri: str
    challenge: str
    scope: str
    nonce: str | None


@dataclass(frozen=True, slots=True)
class Redeemed:
    login: Login
    nonce: str | None
    refresh_token: str | None


@dataclass(frozen=True, slots=True)
class Redemption:
    """``login_until`` is None for a client that may not refresh."""

    code: str
    client: str
    redirect_uri: str
    verifier: str
    login_until: float | None


def issue(connection: sqlite3.Connection, asked: Asked, username: str, expires_at: float) -> str:
    code = fresh_secret()
    connection.execute(
        "INSERT INTO code (digest, client, username, redirect_uri, challenge, scope, nonce, expires_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            digest(code),
            asked.client,
            username,
            asked.redirect_uri,
            asked.challenge,
            asked.scope,
            asked.nonce,
            expires_at,
        ),
    )
    return code


def redeem(connection: sqlite3.Connection, wanted: Redemption, now: float) -> Redeemed | None:
    """None if it is not good. A try uses the code up, however it ends; a second try ends the first one's tokens."""
    row = connection.execute("SELECT * FROM code WHERE digest = ?", (digest(wanted.code),)).fetchone()
    if row is None:
        return None
    connection.execute("UPDATE code SET used = 1 WHERE digest = ?", (digest(wanted.code),))
    if row["used"]:
        families.end(connection, row["family"] or "")
        return None
    fits = row["client"] == wanted.client and row["redirect_uri"] == wanted.redirect_uri and row["expires_at"] > now
    if not fits or not _proves(wanted.verifier, row["challenge"]):
        return None
    login = Login(row["client"], row["username"], row["scope"])
    if wanted.login_until is None:
        return Redeemed(login, row["nonce"], None)
    family, refresh_token = families.start(connection, login, wanted.login_until)
    connection.execute("UPDATE code SET family = ? WHERE digest = ?", (family, digest(wanted.code)))
    return Redeemed(login, row["nonce"], refresh_token)


def _proves(verifier: str, challenge: str) -> bool:
    if not _VERIFIER.fullmatch(verifier):
        return False
    found = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    return hmac.compare_digest(found, challenge)
