"""Reads a token: its size, its three parts and its header. Nothing here proves that a token is genuine.

Keys that the token itself names or contains are never used: a forger would bring their own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from joserfc.util import urlsafe_b64decode

from canton.domain.errors import TokenInvalid

ALGORITHMS = ("RS256", "ES256", "EdDSA")
MAX_LENGTH = 16 * 1024
_PART = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_KEY_HEADERS = ("jwk", "jku", "x5u", "x5c")


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    text: str
    algorithm: str
    kid: str
    kind: str | None
    """The header's ``typ``, in small letters and without ``application/``."""
    claims: dict[str, object]


def read(text: str) -> UnverifiedToken:
    header_part, payload_part = _parts(text)
    header = _object(header_part, "header")
    _refuse_extensions(header)
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise TokenInvalid(
            f"the token is not signed with {', '.join(ALGORITHMS[:-1])} or {ALGORITHMS[-1]}; get another"
        )
    if not isinstance(kid, str) or not kid:
        raise TokenInvalid("the token does not name the key that signed it (kid); get one from the issuer")
    if kind is not None and not isinstance(kind, str):
        raise TokenInvalid("the token's typ is not text; get one from the issuer")
    kind = None if kind is None else kind.lower().removeprefix("application/")
    return UnverifiedToken(text, algorithm, kid, kind, _object(payload_part, "payload"))


def _parts(text: str) -> tuple[str, str]:
    if len(text) > MAX_LENGTH:
        raise TokenInvalid(f"the token has more than {MAX_LENGTH} characters; ask the issuer for one with fewer claims")
    parts = text.split(".")
    if len(parts) == 5:
        raise TokenInvalid("the token is encrypted; Canton takes signed tokens only")
    if len(parts) != 3 or not all(map(_PART.fullmatch, parts)):
        raise TokenInvalid("the token is not a signed JWT: three parts of base64url with dots between them")
    return parts[0], parts[1]


def _refuse_extensions(header: dict[str, object]) -> None:
    for name in _KEY_HEADERS:
        if name in header:
            raise TokenInvalid(f"the token brings its own key ({name}), and such keys are not trusted")
    # Canton supports no extension, so none may be critical (RFC 7515 §4.1.11); b64 and cty change what is signed.
    for name in ("crit", "b64", "cty", "zip"):
        if name in header:
            raise TokenInvalid(f"the token's header uses {name}, which Canton does not take")


def _object(part: str, what: str) -> dict[str, object]:
    try:
        # Decoded here: of bytes, json would take UTF-16 and UTF-32 as well (RFC 7519 §3 has UTF-8 alone).
        value = json.loads(urlsafe_b64decode(part.encode()).decode("utf-8"), object_pairs_hook=_refuse_duplicates)
    except (ValueError, RecursionError):
        raise TokenInvalid(f"the token's {what} is not JSON in base64url; get one from the issuer") from None
    if not isinstance(value, dict):
        raise TokenInvalid(f"the token's {what} is not a JSON object; get one from the issuer")
    return value


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """RFC 7519 §4: names are unique. Of two values, another party may have checked the one that we ignore."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name appears twice")
    return value
