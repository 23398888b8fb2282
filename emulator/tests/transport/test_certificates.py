"""The emulator's own CA and the server certificate that it issues."""

from __future__ import annotations

import ssl
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import create_connection, create_server

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from csm_emulator.errors import InvalidMachine
from csm_emulator.transport import certificates
from csm_emulator.transport.certificates import IssuedFiles, issue, issue_client


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _shake_hands(issued: IssuedFiles, name: str) -> None:
    """A client that trusts the CA and asks for this name."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(issued.certificate, issued.key)
    client = ssl.create_default_context(cafile=issued.ca)
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    with create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_answer, args=(listening, server))
        thread.start()
        try:
            with create_connection(listening.getsockname()) as plain, client.wrap_socket(plain, server_hostname=name):
                pass
        finally:
            thread.join()


def _answer(listening: object, server: ssl.SSLContext) -> None:
    plain, _ = listening.accept()  # type: ignore[attr-defined]
    with plain:
        try:
            server.wrap_socket(plain, server_side=True).close()
        except OSError:
            return  # the client refused the certificate, which is the subject of some tests


@pytest.mark.parametrize(
    "name", ["localhost", "127.0.0.1", "::1", "api-gw-service-nmn.local", "emulator.lab", "10.1.2.3"]
)
def test_clients_that_trust_the_ca_connect(tmp_path: Path, name: str) -> None:
    _shake_hands(issue(tmp_path / "tls", ("emulator.lab", "10.1.2.3")), name)


def test_other_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        _shake_hands(issue(tmp_path), "elsewhere.lab")


def test_what_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "tls"
    issued = issue(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    for name in ("ca-key.pem", "server-key.pem"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    assert sorted(_files(folder)) == ["ca-key.pem", "ca.pem", "server-key.pem", "server.pem"]
    key = x509.load_pem_x509_certificate(issued.certificate.read_bytes()).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert key.curve.name == "secp256r1"
    assert len(x509.load_pem_x509_certificates(issued.certificate.read_bytes())) == 2


def test_a_restart_uses_the_same_files(tmp_path: Path) -> None:
    issue(tmp_path, ("emulator.lab",))
    files_before = _files(tmp_path)
    issue(tmp_path, ("emulator.lab", "localhost"))
    assert _files(tmp_path) == files_before


def test_another_name_takes_another_certificate_of_the_same_ca(tmp_path: Path) -> None:
    issued = issue(tmp_path)
    files_before = _files(tmp_path)
    issue(tmp_path, ("emulator.lab",))
    files_after = _files(tmp_path)
    assert files_after["ca.pem"] == files_before["ca.pem"]
    assert files_after["server.pem"] != files_before["server.pem"]
    _shake_hands(issued, "emulator.lab")


def _pass_days(monkeypatch: pytest.MonkeyPatch, days: int) -> None:
    later = datetime.now(UTC) + timedelta(days=days)

    class Later(datetime):
        @classmethod
        def now(cls, tz: object = None) -> Later:  # noqa: ARG003
            return cls.fromtimestamp(later.timestamp(), UTC)

    monkeypatch.setattr(certificates, "datetime", Later)


def test_certificates_that_run_out_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    issue(tmp_path)
    files_before = _files(tmp_path)
    _pass_days(monkeypatch, 390)
    issue(tmp_path)
    assert _files(tmp_path) == files_before
    _pass_days(monkeypatch, 397)
    issue(tmp_path)
    files_after = _files(tmp_path)
    assert (
        files_after["ca.pem"] == files_before["ca.pem"],
        files_after["server.pem"] == files_before["server.pem"],
    ) == (True, False)
    _pass_days(monkeypatch, 3650)
    issue(tmp_path)
    assert _files(tmp_path)["ca.pem"] != files_before["ca.pem"]


@pytest.mark.parametrize("name", ["ca.pem", "ca-key.pem", "server.pem", "server-key.pem"])
@pytest.mark.parametrize("data", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\n", None])
def test_what_is_broken_or_gone_is_made_anew(tmp_path: Path, name: str, data: bytes | None) -> None:
    issue(tmp_path)
    if data is None:
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes(data)
    _shake_hands(issue(tmp_path), "localhost")


def test_files_of_two_cas_do_not_go_together(tmp_path: Path) -> None:
    first, second = issue(tmp_path / "1"), issue(tmp_path / "2")
    first.certificate.write_bytes(second.certificate.read_bytes())
    first.key.write_bytes(second.key.read_bytes())
    _shake_hands(issue(tmp_path / "1"), "localhost")


def test_a_client_is_known_by_its_certificate(tmp_path: Path) -> None:
    issued = issue(tmp_path)
    client = issue_client(tmp_path, "kubernetes-admin", "system:masters")
    assert issue_client(tmp_path, "kubernetes-admin", "system:masters") == client, "the same as long as it is valid"
    assert (tmp_path / "kubernetes-admin-key.pem").stat().st_mode & 0o777 == 0o600
    certificate = x509.load_pem_x509_certificate(client.certificate.encode())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate(issued.ca.read_bytes()))
    assert certificate.subject.rfc4514_string() == "CN=kubernetes-admin,O=system:masters"
    with pytest.raises(InvalidMachine, match="no certificate authority"):
        issue_client(tmp_path / "nowhere", "kubernetes-admin", "system:masters")
