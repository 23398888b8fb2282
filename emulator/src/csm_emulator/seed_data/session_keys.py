"""Credentials that are valid for an hour, which STS issues and S3 accepts.

They are verified with the site's seed and the token alone, so the two services share no storage.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from dataclasses import dataclass

from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.sigv4 import Keys

LIFE = 3600


@dataclass(frozen=True, slots=True)
class Session:
    keys: Keys
    token: str
    expires: float
    """In real time."""


def issue(random: SeededRandom, number: int, now: float) -> Session:
    """The session with this number."""
    access, expires = random.hex(20, "sts.access-key", number).upper(), now + LIFE
    claims = json.dumps({"access": access, "expires": expires}).encode()
    token = base64.b64encode(_seal(random, claims) + claims).decode()
    return Session(_keys(random, access), token, expires)


def verify_token(random: SeededRandom, token: str) -> Session | None:
    """The session of a token, even an expired one; None if this site did not issue it."""
    try:
        data = base64.b64decode(token, validate=True)
    except (binascii.Error, ValueError):
        return None
    seal, claims = data[:32], data[32:]
    if not hmac.compare_digest(seal, _seal(random, claims)):
        return None
    fields = json.loads(claims)
    return Session(_keys(random, fields["access"]), token, fields["expires"])


def _keys(random: SeededRandom, access: str) -> Keys:
    return Keys(access, random.hex(40, "sts.secret-key", access))


def _seal(random: SeededRandom, claims: bytes) -> bytes:
    return hmac.digest(s3_keys(random).secret.encode(), b"session token " + claims, "sha256")
