"""A published key set, and which of its keys may verify what.

The key decides the algorithm: RSA is RS256, P-256 is ES256, Ed25519 is EdDSA, and a symmetric key is nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.util import base64_to_int

from canton.domain.errors import IssuerUnavailable

Key = RSAKey | ECKey | OKPKey

MOST_KEYS = 100
_SMALLEST_RSA = 2048  # RFC 7518 §3.3


@dataclass(frozen=True, slots=True)
class _Family:
    algorithm: str
    names: frozenset[str]
    """What ``alg`` may say in the key; RFC 9864 has a second name for EdDSA with Ed25519."""
    public: tuple[str, ...]
    type: type[RSAKey] | type[ECKey] | type[OKPKey]


_FAMILIES: Mapping[object, _Family] = MappingProxyType(
    {
        ("RSA", None): _Family("RS256", frozenset({"RS256"}), ("kty", "n", "e"), RSAKey),
        ("EC", "P-256"): _Family("ES256", frozenset({"ES256"}), ("kty", "crv", "x", "y"), ECKey),
        ("OKP", "Ed25519"): _Family("EdDSA", frozenset({"EdDSA", "Ed25519"}), ("kty", "crv", "x"), OKPKey),
    }
)


def read(document: Mapping[str, object], where: str) -> dict[tuple[str, str], Key]:
    """Keys by kid and algorithm. Keys of other kinds are passed over: issuers publish them for other purposes."""
    listed = document.get("keys")
    if not isinstance(listed, list) or len(listed) > MOST_KEYS:
        raise IssuerUnavailable(f"{where} is not a key set with a list of at most {MOST_KEYS} keys", url=where)
    found: dict[tuple[str, str], Key] = {}
    for entry in listed:
        family = _family(entry) if isinstance(entry, dict) else None
        key = family and _public_key(family, entry)
        if family and key:
            found.setdefault((entry["kid"], family.algorithm), key)
    return found


def _family(entry: Mapping[str, object]) -> _Family | None:
    kind, curve = entry.get("kty"), entry.get("crv")
    family = _FAMILIES.get((kind, curve)) if isinstance(kind, str) and isinstance(curve, str | None) else None
    if family is None or not isinstance(entry.get("kid"), str) or entry.get("use", "sig") != "sig":
        return None
    operations = entry.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    algorithm = entry.get("alg", family.algorithm)
    return family if isinstance(algorithm, str) and algorithm in family.names else None


def _public_key(family: _Family, entry: Mapping[str, object]) -> Key | None:
    """Only what is public is taken, even from an issuer that publishes more."""
    try:
        public = {name: str(entry[name]) for name in family.public}
        if family.type is RSAKey and base64_to_int(public["n"]).bit_length() < _SMALLEST_RSA:
            return None
        return family.type.import_key(dict(public))
    except (JoseError, KeyError, ValueError):
        return None
