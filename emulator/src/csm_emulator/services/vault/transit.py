"""Vault's transit engine, as far as TAPMS needs it: it creates, shows and rotates keys."""

from __future__ import annotations

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.vault.request_ids import RequestIds
from csm_emulator.services.vault.responses import Refusal, envelope, no_content, read, text
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply

_RSA = {"rsa-2048": 2048, "rsa-3072": 3072, "rsa-4096": 4096}
_CURVES: dict[str, ec.EllipticCurve] = {
    "ecdsa-p256": ec.SECP256R1(),
    "ecdsa-p384": ec.SECP384R1(),
    "ecdsa-p521": ec.SECP521R1(),
}
_SYMMETRIC = ("aes128-gcm96", "aes256-gcm96", "chacha20-poly1305")
_EDWARDS = "ed25519"
_DEFAULT_TYPE = "aes256-gcm96"
_WRITES = ("POST", "PUT")


class Transit:
    def __init__(self, context: Context, requests: RequestIds) -> None:
        self._clock = context.clock
        self._requests = requests
        self._table: RecordTable[Record] = context.tables.open("vault.transit")
        """By ``mount/key``."""

    def answer(self, call: Call, method: str, mount: str, inner: str) -> Reply:
        kind, _, remainder = inner.partition("/")
        name, _, action = remainder.partition("/")
        if kind != "keys" or action not in ("", "rotate"):
            raise Refusal(501, f"this Vault keeps transit keys and does not work with them: {inner}")
        if method == "LIST":
            return self._list(mount)
        if not name:
            raise Refusal(404)
        if method in _WRITES:
            return self._rotate(mount, name) if action else self._create(call, mount, name)
        if method == "DELETE" and not action:
            return self._delete(mount, name)
        return self._read(mount, name)

    def forget_all(self, mount: str) -> None:
        for key in [key for key in self._table if key.startswith(f"{mount}/")]:
            del self._table[key]

    def _create(self, call: Call, mount: str, name: str) -> Reply:
        """An existing key stays as it is."""
        kind = text(read(call), "type", _DEFAULT_TYPE)
        if kind not in (*_RSA, *_CURVES, *_SYMMETRIC, _EDWARDS):
            raise Refusal(400, f"unknown key type {kind}")
        if f"{mount}/{name}" not in self._table:
            self._table[f"{mount}/{name}"] = {"type": kind, "versions": {"1": self._new_version(kind)}}
        return no_content()

    def _rotate(self, mount: str, name: str) -> Reply:
        key = self._key(mount, name)
        number = str(len(key["versions"]) + 1)
        versions = {**key["versions"], number: self._new_version(key["type"])}
        self._table[f"{mount}/{name}"] = {**key, "versions": versions}
        return no_content()

    def _delete(self, mount: str, name: str) -> Reply:
        self._key(mount, name)
        raise Refusal(400, f"error deleting policy {name}: deletion is not allowed for this key")

    def _list(self, mount: str) -> Reply:
        names = sorted(key.removeprefix(f"{mount}/") for key in self._table if key.startswith(f"{mount}/"))
        if not names:
            raise Refusal(404)
        return envelope(self._requests.next(), {"keys": names})

    def _read(self, mount: str, name: str) -> Reply:
        key = self._key(mount, name)
        kind, versions = key["type"], key["versions"]
        is_symmetric = kind in _SYMMETRIC
        return envelope(
            self._requests.next(),
            {
                "allow_plaintext_backup": False,
                "auto_rotate_period": 0,
                "deletion_allowed": False,
                "derived": False,
                "exportable": False,
                "imported_key": False,
                "keys": {number: _version_view(kind, version) for number, version in versions.items()},
                "latest_version": len(versions),
                "min_available_version": 0,
                "min_decryption_version": 1,
                "min_encryption_version": 0,
                "name": name,
                "supports_decryption": is_symmetric or kind in _RSA,
                "supports_derivation": is_symmetric or kind == _EDWARDS,
                "supports_encryption": is_symmetric or kind in _RSA,
                "supports_signing": not is_symmetric,
                "type": kind,
            },
        )

    def _key(self, mount: str, name: str) -> Json:
        key = self._table.get(f"{mount}/{name}")
        if key is None:
            raise Refusal(404)
        return key

    def _new_version(self, kind: str) -> Json:
        """A new version, without its private key, which the emulator never uses."""
        return {"created": self._clock.now(), "public": _public(kind)}


def _public(kind: str) -> str:
    if kind in _SYMMETRIC:
        return ""
    key = _private(kind).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_bytes(serialization.Encoding.PEM, form).decode()


def _private(kind: str) -> rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey:
    if kind in _RSA:
        return rsa.generate_private_key(65537, _RSA[kind])
    return ec.generate_private_key(_CURVES[kind]) if kind in _CURVES else ed25519.Ed25519PrivateKey.generate()


def _version_view(kind: str, version: Json) -> Json:
    if kind in _SYMMETRIC:
        return int(version["created"])
    return {
        "certificate_chain": "",
        "creation_time": rfc3339(version["created"]),
        "name": {"ecdsa-p256": "P-256", "ecdsa-p384": "P-384", "ecdsa-p521": "P-521"}.get(kind, kind),
        "public_key": version["public"],
    }
