"""Reads a published key set, and decides which of its keys can verify tokens, and with which algorithm.

The key decides the algorithm: RSA is RS256, P-256 is ES256, Ed25519 is EdDSA. Symmetric keys are ignored.
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

MAX_KEYS = 100
_MIN_RSA_BITS = 2048  # RFC 7518 §3.3


@dataclass(frozen=True, slots=True)
class _Family:
    algorithm: str
    names: frozenset[str]
    """The values of ``alg`` that the key may have; RFC 9864 has a second name for EdDSA with Ed25519."""
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
    """Keys by kid and algorithm. Keys of other kinds are ignored: issuers publish them for other purposes."""
    entries = document.get("keys")
    if not isinstance(entries, list) or len(entries) > MAX_KEYS:
        raise IssuerUnavailable(f"{where} is not a key set with a list of at most {MAX_KEYS} keys", url=where)
    keys: dict[tuple[str, str], Key] = {}
    for entry in entries:
        family = _family(entry) if isinstance(entry, dict) else None
        key = family and _public_key(family, entry)
        if family and key:
            keys.setdefault((entry["kid"], family.algorithm), key)
    return keys


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
    """The public part of the key only, even if the issuer publishes more; None for a key that cannot be used."""
    try:
        public = {name: str(entry[name]) for name in family.public}
        if family.type is RSAKey and base64_to_int(public["n"]).bit_length() < _MIN_RSA_BITS:
            return None
        return family.type.import_key(dict(public))
    except (JoseError, KeyError, ValueError):
        return None
