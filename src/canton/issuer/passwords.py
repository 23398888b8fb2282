"""Passwords are stored as scrypt hashes (RFC 7914) together with their parameters."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from binascii import a2b_base64, b2a_base64

_PREFIX = "scrypt"
_COST, _BLOCK, _PARALLEL = 2**14, 8, 1  # 16 MB and about 50 ms per attempt
_MEMORY = 64 * 1024 * 1024
_HASH = re.compile(rf"{_PREFIX}(\$[0-9]+){{3}}(\$[A-Za-z0-9+/]+=*){{2}}", re.ASCII)


def hash_password(password: str) -> str:
    salt = secrets.token_bytes(16)
    digest = _scrypt(password, salt, _COST, _BLOCK, _PARALLEL)
    return "$".join((_PREFIX, str(_COST), str(_BLOCK), str(_PARALLEL), _text(salt), _text(digest)))


def is_hash(text: str) -> bool:
    return _HASH.fullmatch(text) is not None


def check_password(password: str, password_hash: str) -> bool:
    _, cost, block, parallel, salt, digest = password_hash.split("$")
    candidate = _scrypt(password, a2b_base64(salt), int(cost), int(block), int(parallel))
    return hmac.compare_digest(candidate, a2b_base64(digest))


def _scrypt(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    text = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=cost, r=block, p=parallel, maxmem=_MEMORY, dklen=32)


def _text(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()
