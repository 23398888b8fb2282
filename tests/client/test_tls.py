"""TLS: nothing is sent to a server whose certificate is not for its name or not of a trusted authority."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from canton.client import Client, Unreachable
from client import samples
from client.scripted_server import Reply, Script, serving


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate for 127.0.0.1 only; the key is in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "scripted")])
    now = datetime.now(UTC)
    x509_certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "server.pem"
    pkcs8 = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, pkcs8, serialization.NoEncryption())
    path.write_bytes(secret + x509_certificate.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture
def script(certificate: Path) -> Iterator[Script]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(Script(), context) as served:
        served.on("GET /v1/whoami", Reply(body=samples.whoami()))
        yield served


def test_a_trusted_server_is_asked(script: Script, certificate: Path) -> None:
    with Client(script.url, "t", ca=str(certificate)) as client:
        assert client.whoami()["id"] == "cscs:alice"


def test_an_unknown_authority_is_not_trusted(script: Script) -> None:
    with Client(script.url, "t") as client, pytest.raises(Unreachable, match=r"certificate of .* is not trusted"):
        client.whoami()
    assert script.requests == []


def test_another_name_is_not_trusted(script: Script, certificate: Path) -> None:
    url = script.url.replace("127.0.0.1", "localhost")
    with Client(url, "t", ca=str(certificate)) as client, pytest.raises(Unreachable, match="is not trusted"):
        client.whoami()
    assert script.requests == []


def test_a_missing_file_of_authorities_is_named(script: Script, tmp_path: Path) -> None:
    with Client(script.url, "t", ca=str(tmp_path / "no.pem")) as client, pytest.raises(Unreachable, match=r"no\.pem"):
        client.whoami()
