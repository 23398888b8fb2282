"""The emulator's certificate authority, and the certificates of its TLS listeners and clients."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from csm_emulator.errors import InvalidMachine

NAMES = ("localhost", "127.0.0.1", "::1", "api-gw-service-nmn.local")
AUTHORITY_DAYS = 3650
# The longest validity that browsers accept (CA/Browser Forum, ballot SC31).
SERVER_DAYS = 397
SPARE = timedelta(days=1)
_EARLIER = timedelta(hours=1)
"""Certificates are valid from this long ago, for clients whose clock is slow."""


@dataclass(frozen=True, slots=True)
class IssuedFiles:
    """Paths of files. ``ca`` is the certificate to trust; ``certificate`` has the whole chain."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """Certificate and private key of a client, PEM."""

    certificate: str
    key: str


@dataclass(frozen=True, slots=True)
class _KeyPair:
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def issue(folder: Path, extra_names: Iterable[str] = ()) -> IssuedFiles:
    """The certificates in the folder; they are made anew unless they are valid and for these names."""
    names = tuple(dict.fromkeys((*NAMES, *extra_names)))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    issued = IssuedFiles(folder / "ca.pem", folder / "server.pem", folder / "server-key.pem")
    ca_key = folder / "ca-key.pem"
    now = datetime.now(UTC)
    authority, server = _read(issued.ca, ca_key), _read(issued.certificate, issued.key)
    if authority is None or not _valid(authority, now):
        authority = _new_authority(now)
        _write(authority.certificate, issued.ca, authority.key, ca_key)
        server = None
    if server is None or not _valid(server, now) or not _by(authority, server) or _names(server) != _general(names):
        server = _new_server(authority, names, now)
        _write(server.certificate, issued.certificate, server.key, issued.key, authority.certificate)
    return issued


def issue_client(folder: Path, name: str, organization: str) -> ClientCertificate:
    """A client certificate of the authority in the folder, stored there as ``NAME.pem`` and ``NAME-key.pem``."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}-key.pem"
    authority, client = _read(folder / "ca.pem", folder / "ca-key.pem"), _read(certificate, key)
    if authority is None:
        raise InvalidMachine(f"no certificate authority in {folder}; delete the folder, and restart to create one")
    now = datetime.now(UTC)
    if client is None or not _valid(client, now) or not _by(authority, client):
        client = _new_client(authority, name, organization, now)
        _write(client.certificate, certificate, client.key, key)
    return ClientCertificate(certificate.read_text(), key.read_text())


def _read(certificate: Path, key: Path) -> _KeyPair | None:
    """Certificate and key; None if a file is missing or unreadable, or if they do not match."""
    try:
        loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
        private = serialization.load_pem_private_key(key.read_bytes(), None)
    except (OSError, ValueError, TypeError):
        return None
    if not isinstance(private, ec.EllipticCurvePrivateKey) or private.public_key() != loaded.public_key():
        return None
    return _KeyPair(private, loaded)


def _valid(pair: _KeyPair, now: datetime) -> bool:
    return pair.certificate.not_valid_before_utc <= now < pair.certificate.not_valid_after_utc - SPARE


def _by(authority: _KeyPair, server: _KeyPair) -> bool:
    try:
        server.certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names(pair: _KeyPair) -> list[x509.GeneralName]:
    try:
        return list(pair.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _general(names: Iterable[str]) -> list[x509.GeneralName]:
    return [_general_name(name) for name in names]


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _new_authority(now: datetime) -> _KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _called("Canton emulator CA")
    built = _builder(name, name, key, now, AUTHORITY_DAYS).add_extension(x509.BasicConstraints(True, 0), critical=True)
    built = built.add_extension(_usage(signs_certificates=True), critical=True)
    return _KeyPair(key, built.sign(key, hashes.SHA256()))


def _new_server(authority: _KeyPair, names: Iterable[str], now: datetime) -> _KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    built = _end_entity(authority, _called("Canton emulator"), key, ExtendedKeyUsageOID.SERVER_AUTH, now)
    built = built.add_extension(x509.SubjectAlternativeName(_general(names)), critical=False)
    return _KeyPair(key, built.sign(authority.key, hashes.SHA256()))


def _new_client(authority: _KeyPair, name: str, organization: str, now: datetime) -> _KeyPair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization), *_called(name)])
    built = _end_entity(authority, subject, key, ExtendedKeyUsageOID.CLIENT_AUTH, now)
    return _KeyPair(key, built.sign(authority.key, hashes.SHA256()))


def _end_entity(
    authority: _KeyPair,
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    purpose: x509.ObjectIdentifier,
    now: datetime,
) -> x509.CertificateBuilder:
    by = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    built = _builder(subject, authority.certificate.subject, key, now, SERVER_DAYS)
    built = built.add_extension(x509.BasicConstraints(False, None), critical=True)
    built = built.add_extension(_usage(signs_certificates=False), critical=True)
    return built.add_extension(by, critical=False).add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)


def _called(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, days: int
) -> x509.CertificateBuilder:
    public = key.public_key()
    built = x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number())
    built = built.not_valid_before(now - _EARLIER).not_valid_after(now + timedelta(days=days))
    return built.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _write(
    certificate: x509.Certificate,
    where: Path,
    key: ec.EllipticCurvePrivateKey,
    key_path: Path,
    issuer: x509.Certificate | None = None,
) -> None:
    _put(key_path, _pem(key), 0o600)
    chain = [certificate] if issuer is None else [certificate, issuer]
    _put(where, b"".join(one.public_bytes(serialization.Encoding.PEM) for one in chain), 0o644)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain)


def _put(path: Path, data: bytes, mode: int) -> None:
    """Writes a file whole or not at all: a truncated key would be replaced, and clients would distrust the new CA."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
