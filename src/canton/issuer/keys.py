"""The signing keys: the newest key signs; older ones stay published until they are deleted."""

from __future__ import annotations

import json
import sqlite3
import time
from typing import Any

from joserfc.jwk import ECKey, OKPKey, RSAKey

from canton.issuer.state import State

Key = RSAKey | ECKey | OKPKey


def ensure_key(state: State, algorithm: str) -> None:
    """At start: create a key unless the newest one is of the configured algorithm."""
    with state.transaction() as connection:
        newest = _newest(connection)
        if newest is None or newest["algorithm"] != algorithm:
            _add(connection, algorithm)


def rotate_key(state: State) -> str:
    """Create a key that signs from now on, and return its kid. Tokens signed by older keys stay valid."""
    with state.transaction() as connection:
        newest = _newest(connection)
        return _add(connection, newest["algorithm"] if newest else "ES256")


def drop_old_keys(state: State) -> None:
    """Delete all keys but the newest; tokens that they signed are invalid from now on."""
    with state.transaction() as connection:
        newest = _newest(connection)
        if newest is not None:
            connection.execute("DELETE FROM signing_key WHERE kid <> ?", (newest["kid"],))


def signing_key(connection: sqlite3.Connection) -> tuple[str, str, Key]:
    """The kid, the algorithm and the key that signs now."""
    row = _newest(connection)
    if row is None:
        raise LookupError("the issuer's state file has lost its keys; start the server again")
    return row["kid"], row["algorithm"], _TYPES[row["algorithm"]].import_key(json.loads(row["private"]))


def published(connection: sqlite3.Connection) -> dict[str, Any]:
    rows = connection.execute("SELECT * FROM signing_key ORDER BY created_at DESC, rowid DESC").fetchall()
    return {"keys": [_public(row) for row in rows]}


_TYPES: dict[str, type[RSAKey] | type[ECKey] | type[OKPKey]] = {"RS256": RSAKey, "ES256": ECKey, "EdDSA": OKPKey}


def _newest(connection: sqlite3.Connection) -> sqlite3.Row | None:
    row: sqlite3.Row | None = connection.execute(
        "SELECT * FROM signing_key ORDER BY created_at DESC, rowid DESC LIMIT 1"
    ).fetchone()
    return row


def _add(connection: sqlite3.Connection, algorithm: str) -> str:
    key = _generate(algorithm)
    kid = key.thumbprint()
    connection.execute(
        "INSERT INTO signing_key (kid, algorithm, private, created_at) VALUES (?, ?, ?, ?)",
        (kid, algorithm, json.dumps(key.as_dict(private=True)), time.time()),
    )
    return kid


def _generate(algorithm: str) -> Key:
    if algorithm == "RS256":
        return RSAKey.generate_key(2048)
    return ECKey.generate_key("P-256") if algorithm == "ES256" else OKPKey.generate_key("Ed25519")


def _public(row: sqlite3.Row) -> dict[str, Any]:
    key = _TYPES[row["algorithm"]].import_key(json.loads(row["private"]))
    return {**key.as_dict(private=False), "kid": row["kid"], "alg": row["algorithm"], "use": "sig"}
