"""The keys of the realm: the newest one signs, older ones verify until they are dropped."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey, RSAKey

from csm_emulator.records import Record
from csm_emulator.services.keycloak import wall_clock
from csm_emulator.state.tables import RecordTable

Claims = Record
BITS = 2048
YEARS = 10
_ALGORITHM = {"sig": "RS256", "enc": "RSA-OAEP"}
_SECRET = "refresh"  # noqa: S105 (the name of a row)
# The exceptions of base64, JSON and joserfc for a text that is not a token.
_INVALID_TOKEN = (JoseError, ValueError, TypeError, KeyError, RecursionError)


class Keys:
    """Keys are generated when they are first needed: most machines of the tests never issue a token."""

    def __init__(self, table: RecordTable[Record]) -> None:
        self._table = table
        self._imported: dict[str, RSAKey] = {}
        self._published: bytes | None = None

    def rotate(self) -> str:
        """Generates the key that signs from now on, and returns its kid. Tokens of older keys stay valid."""
        self._ensure("sig")
        return self._add("sig")

    def drop(self, kid: str) -> bool:
        """Drops an older key. False for an unknown key, and for the one that signs, which stays."""
        if kid not in self._kids("sig")[:-1]:
            return False
        del self._table[kid]
        self._imported.pop(kid, None)
        self._published = None
        return True

    def kids(self) -> list[str]:
        """The kids of all signing keys; the last one is active."""
        self._ensure("sig")
        return self._kids("sig")

    def jwks(self) -> bytes:
        """The published keys. As in Keycloak, one is for encryption, so that a client has to select the right key."""
        if self._published is None:
            self._ensure("enc", "sig")
            entries = [_jwk(kid, self._table[kid]) for use in ("enc", "sig") for kid in self._kids(use)]
            self._published = json.dumps({"keys": entries}, separators=(",", ":")).encode()
        return self._published

    def public_key(self) -> str:
        """The active key, as the description of the realm has it."""
        key = _private(self._table[self.kids()[-1]]["pem"]).public_key()
        return _base64(key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))

    def sign(self, claims: Claims) -> str:
        kid = self.kids()[-1]
        return jwt.encode({"alg": "RS256", "typ": "JWT", "kid": kid}, claims, self._key(kid), algorithms=["RS256"])

    def read(self, token: str) -> Claims | None:
        """The claims of a token that is signed by one of the keys. They are not validated."""
        try:
            kid = json.loads(_unbase64(token.partition(".")[0]))["kid"]
            return jwt.decode(token, self._key(kid), algorithms=["RS256"]).claims if kid in self.kids() else None
        except _INVALID_TOKEN:
            return None

    def seal(self, claims: Claims) -> str:
        """Signs a refresh token, which only Keycloak itself reads."""
        secret = self._secret()
        header = {"alg": "HS512", "typ": "JWT", "kid": secret["kid"]}
        return jwt.encode(header, claims, OctKey.import_key(secret["value"]), algorithms=["HS512"])

    def unseal(self, token: str) -> Claims | None:
        try:
            return jwt.decode(token, OctKey.import_key(self._secret()["value"]), algorithms=["HS512"]).claims
        except _INVALID_TOKEN:
            return None

    def _secret(self) -> dict[str, str]:
        if _SECRET not in self._table:
            self._table[_SECRET] = {
                "kid": wall_clock.identifier(wall_clock.now(), "0" * 20),
                "value": secrets.token_hex(64),
            }
        secret: dict[str, str] = self._table[_SECRET]
        return secret

    def _kids(self, use: str) -> list[str]:
        numbered = [(row["number"], kid) for kid, row in self._table.items() if row.get("use") == use]
        return [kid for _, kid in sorted(numbered)]

    def _ensure(self, *uses: str) -> None:
        for use in uses:
            if not self._kids(use):
                self._add(use)

    def _add(self, use: str) -> str:
        key = rsa.generate_private_key(65537, BITS)
        form, public = serialization.PublicFormat.SubjectPublicKeyInfo, key.public_key()
        kid = _base64url(hashlib.sha256(public.public_bytes(serialization.Encoding.DER, form)).digest())
        number = max((row.get("number", 0) for row in self._table.values()), default=0) + 1
        self._table[kid] = {"use": use, "number": number, "pem": _pem(key), "certificate": _base64(_certificate(key))}
        self._published = None
        return kid

    def _key(self, kid: str) -> RSAKey:
        if kid not in self._imported:
            self._imported[kid] = RSAKey.import_key(self._table[kid]["pem"])
        return self._imported[kid]


def _jwk(kid: str, row: Record) -> Record:
    numbers = _private(row["pem"]).public_key().public_numbers()
    certificate = base64.b64decode(row["certificate"])
    return {
        "kid": kid,
        "kty": "RSA",
        "alg": _ALGORITHM[row["use"]],
        "use": row["use"],
        "x5c": [row["certificate"]],
        "x5t": _base64url(hashlib.sha1(certificate).digest()),  # noqa: S324 (RFC 7517 §4.8 requires it)
        "x5t#S256": _base64url(hashlib.sha256(certificate).digest()),
        "n": _base64url(numbers.n.to_bytes(BITS // 8)),
        "e": _base64url(numbers.e.to_bytes(3)),
    }


def _private(pem: str) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(pem.encode(), None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise TypeError("the realm's keys are RSA keys")
    return key


def _pem(key: rsa.RSAPrivateKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def _certificate(key: rsa.RSAPrivateKey) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "shasta")])
    begin = datetime.fromtimestamp(wall_clock.now(), UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(begin).not_valid_after(begin + timedelta(days=365 * YEARS))
    return built.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _unbase64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
