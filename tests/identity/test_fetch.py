"""Reading an issuer's documents: over verified TLS, and within a bounded time."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from canton.domain.errors import InvalidSetting, IssuerUnavailable
from canton.drivers.oidc import fetch
from canton.drivers.oidc.fetch import fetcher
from identity.fake_issuer import Drip, Publisher, publisher


@contextmanager
def over_tls(folder: Path, name: x509.GeneralName) -> Iterator[tuple[Publisher, Path]]:
    """A publisher with a self-signed certificate for ``name``, and the file to trust it by."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    _certify(certificate, key, name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with publisher(context) as tls_publisher:
        yield tls_publisher, certificate


def _certify(certificate: Path, key: Path, name: x509.GeneralName) -> None:
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder(subject, subject, private.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([name]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(private, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )


HERE = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))


def test_a_site_with_its_own_authority(tmp_path: Path) -> None:
    with over_tls(tmp_path, HERE) as (site, authority):
        assert site.url.startswith("https://")
        assert fetcher(authority)(f"{site.url}/jwks") == {"keys": []}
        with pytest.raises(IssuerUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            fetcher(None)(f"{site.url}/jwks")
    assert site.requested_paths == ["/jwks"]


def test_a_certificate_for_another_name(tmp_path: Path) -> None:
    with over_tls(tmp_path, x509.DNSName("login.example.org")) as (site, authority):
        with pytest.raises(IssuerUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            fetcher(authority)(f"{site.url}/jwks")
        assert site.requested_paths == []


def test_a_file_that_holds_no_certificates(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    for path in (tmp_path / "ca.pem", tmp_path / "missing.pem"):
        with pytest.raises(InvalidSetting, match="PEM"):
            fetcher(path)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "TIMEOUT", 0.2)


@pytest.mark.usefixtures("hasty")
def test_an_issuer_that_says_nothing() -> None:
    with publisher() as site:
        site.gate.clear()
        began = time.monotonic()
        with pytest.raises(IssuerUnavailable, match="timed out"):
            fetcher(None)(f"{site.url}/jwks")
        assert time.monotonic() - began < 30


@pytest.mark.usefixtures("hasty")
def test_an_issuer_that_never_comes_to_an_end() -> None:
    """Every single byte is in time, but not the whole answer."""
    with publisher() as site:
        stop = threading.Event()
        site.answers["/jwks"] = Drip(stop)
        began = time.monotonic()
        try:
            with pytest.raises(IssuerUnavailable, match="too slowly"):
                fetcher(None)(f"{site.url}/jwks")
        finally:
            stop.set()
        assert time.monotonic() - began < 15


@pytest.mark.usefixtures("hasty")
def test_an_issuer_whose_head_never_comes_to_an_end() -> None:
    stop = threading.Event()

    def drip(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\n")
            # Without a bound, the reader goes on until this ends.
            for _ in range(100):
                connection.sendall(b"x")
                if stop.wait(0.1):
                    break

    with socket.create_server(("127.0.0.1", 0)) as listening:
        dripping = threading.Thread(target=drip, args=(listening,))
        dripping.start()
        began = time.monotonic()
        try:
            with pytest.raises(IssuerUnavailable, match="could not be read"):
                fetcher(None)(f"http://127.0.0.1:{listening.getsockname()[1]}/jwks")
        finally:
            stop.set()
            dripping.join()
        assert time.monotonic() - began < 5


def test_no_server_listens() -> None:
    with publisher() as site:
        pass
    with pytest.raises(IssuerUnavailable, match="refused"):
        fetcher(None)(f"{site.url}/jwks")
