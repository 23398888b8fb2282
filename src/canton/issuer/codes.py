"""Authorization codes: valid once, for a minute, for one client, with its PKCE verifier (RFC 7636)."""

from __future__ import annotations

import hashlib
import hmac
import re
import sqlite3
from base64 import urlsafe_b64encode
from dataclasses import dataclass

from canton.issuer import refresh_tokens
from canton.issuer.refresh_tokens import Login
from canton.issuer.state import digest, fresh_secret

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """What the client requested when it sent a person to log in."""

    client: str
    redirect_uri: str
    challenge: str
    scope: str
    nonce: str | None


@dataclass(frozen=True, slots=True)
class RedeemedCode:
    login: Login
    nonce: str | None
    refresh_token: str | None


@dataclass(frozen=True, slots=True)
class CodeRedemption:
    """``login_until`` is None for a client that may not refresh."""

    code: str
    client: str
    redirect_uri: str
    verifier: str
    login_until: float | None


def issue(connection: sqlite3.Connection, request: AuthorizationRequest, username: str, expires_at: float) -> str:
    code = fresh_secret()
    connection.execute(
        "INSERT INTO code (digest, client, username, redirect_uri, challenge, scope, nonce, expires_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            digest(code),
            request.client,
            username,
            request.redirect_uri,
            request.challenge,
            request.scope,
            request.nonce,
            expires_at,
        ),
    )
    return code


def redeem(connection: sqlite3.Connection, redemption: CodeRedemption, now: float) -> RedeemedCode | None:
    """None if the code is not valid. Any attempt uses the code up; a second attempt ends the tokens of the first."""
    row = connection.execute("SELECT * FROM code WHERE digest = ?", (digest(redemption.code),)).fetchone()
    if row is None:
        return None
    connection.execute("UPDATE code SET used = 1 WHERE digest = ?", (digest(redemption.code),))
    if row["used"]:
        refresh_tokens.end(connection, row["family"] or "")
        return None
    matches = (
        row["client"] == redemption.client
        and row["redirect_uri"] == redemption.redirect_uri
        and row["expires_at"] > now
    )
    if not matches or not _proves(redemption.verifier, row["challenge"]):
        return None
    login = Login(row["client"], row["username"], row["scope"])
    if redemption.login_until is None:
        return RedeemedCode(login, row["nonce"], None)
    family, refresh_token = refresh_tokens.start(connection, login, redemption.login_until)
    connection.execute("UPDATE code SET family = ? WHERE digest = ?", (family, digest(redemption.code)))
    return RedeemedCode(login, row["nonce"], refresh_token)


def _proves(verifier: str, challenge: str) -> bool:
    if not _VERIFIER.fullmatch(verifier):
        return False
    digest_text = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    return hmac.compare_digest(digest_text, challenge)
