"""``canton serve`` and ``canton worker`` as processes: they start, stop, and survive faults."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from canton.domain.nodeset.nodeset import expand
from canton.store.database import open_database
from canton.store.maintenance import migrate
from tokens import Mint, mint

NODES = "x1000c0s[0-2]b0n[0-1]"
CANTON = (sys.executable, "-m", "canton")


@pytest.fixture(scope="module")
def tokens() -> Iterator[Mint]:
    with mint() as issuer:
        yield issuer


@pytest.fixture
def config(tmp_path: Path, tokens: Mint) -> Path:
    """A site with a few nodes that take their time, and a database."""
    database = open_database(f"sqlite:///{tmp_path / 'canton.db'}")
    migrate.upgrade(database)
    database.close()
    (tmp_path / "power").mkdir()
    for node in expand(NODES):
        (tmp_path / "power" / node).write_text("off")
    path = tmp_path / "server.toml"
    path.write_text(f"""
        database = "sqlite:///{tmp_path / "canton.db"}"
        api = {{ listen = "127.0.0.1:0", drain = 60 }}
        worker = {{ lease = 1.5, grace = 5, power_interval = 1 }}
        issuers.test = {{ url = "{tokens.url}", preset = "flat" }}
        sites.alps = {{ power = "demo", folder = "{tmp_path / "power"}", latency = 0.3 }}
    """)
    return path


@dataclass
class Server:
    process: subprocess.Popen[str]
    url: str
    log: Path
    token: str

    def connect(self) -> HTTPConnection:
        where = urlsplit(self.url)
        return HTTPConnection(where.hostname or "", where.port, timeout=20)

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = self.connect()
        sent_headers = {
            "Authorization": f"Bearer {self.token}",
            "Canton-Reason": "test",
            "Content-Type": "application/json",
        }
        connection.request(method, path, None if body is None else json.dumps(body), sent_headers | headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        is_json = "json" in answer.getheader("content-type", "")
        return answer.status, json.loads(text) if is_json else text

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def workers(self) -> list[int]:
        """The pids of the workers that have started, oldest first; a worker's name contains its pid."""
        names = [line["event"].split() for line in self.lines() if line["logger"] == "canton.worker"]
        return [int(words[1].split("-")[-2]) for words in names if words[-1] == "started"]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Stop the process; it must end well before its limit for requests under way."""
        self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def serving(config: Path, tokens: Mint, *arguments: str, **environment: str) -> Iterator[Server]:
    log = config.with_name("log")
    command = [*CANTON, "serve", "--json", "--config", str(config), *arguments]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CANTON_")}
    with (
        log.open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=clean | environment) as process,
    ):
        try:
            assert process.stdout is not None
            first_line = process.stdout.readline()
            assert first_line, log.read_text()
            ready = json.loads(first_line)
            assert ready["pid"] == process.pid
            yield Server(process, ready["url"], log, tokens.token("alice", ["canton-provider-admin"]))
        finally:
            if process.poll() is None:
                process.kill()


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return True
    return state == "Z"


def follow(server: Server) -> tuple[HTTPConnection, HTTPResponse]:
    connection = server.connect()
    request_headers = {"Authorization": f"Bearer {server.token}", "Accept": "text/event-stream"}
    connection.request("GET", "/v1/events", headers=request_headers)
    answer = connection.getresponse()
    assert answer.status == 200
    assert answer.readline().startswith(b"retry:")
    return connection, answer


def begin_upload(server: Server) -> HTTPConnection:
    """Start a request that stays under way until its body is complete."""
    connection = server.connect()
    connection.putrequest("POST", "/v1/tenants")
    for name, value in {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Transfer-Encoding": "chunked",
    }.items():
        connection.putheader(name, value)
    connection.endheaders()
    send_chunk(connection, b'{"name": ')
    time.sleep(0.2)
    return connection


def send_chunk(connection: HTTPConnection, data: bytes) -> None:
    connection.send(b"%x\r\n%s\r\n" % (len(data), data))


def send_often(connection: HTTPConnection, data: bytes) -> None:
    for _ in range(4000):
        connection.send(data)


def test_it_says_where_it_is_and_stops_when_asked(config: Path, tokens: Mint) -> None:
    with serving(config, tokens) as server:
        assert server.call("GET", "/healthz") == (200, {"ok": True})
        status, ready = server.call("GET", "/readyz")
        assert (status, ready["checks"][-1]["name"]) == (503, "worker")
        assert server.end() == 0
    events = [line["event"] for line in server.lines()]
    assert f"serving {server.url}" in events
    assert events[-2:] == ["stopping", "stopped"]


def test_the_log_names_request_and_principal_and_never_the_token(config: Path, tokens: Mint) -> None:
    with serving(config, tokens) as server:
        assert server.call("GET", f"/v1/whoami?access_token={server.token}", **{"X-Request-Id": "r-1"})[0] in (200, 400)
        assert server.call("GET", "/v1/whoami", Authorization="Bearer canton_aaaaaaaaaaaaaaaaaaaaaaaa")[0] == 401
        server.end()
    [line] = [line for line in server.lines() if line.get("request") == "r-1"]
    assert (line["path"], line["principal"], line["method"]) == ("/v1/whoami", "test:alice", "GET")
    assert server.token not in server.log.read_text()
    assert "canton_aaaa" not in server.log.read_text()


def test_a_stop_ends_streams_and_finishes_what_is_under_way(config: Path, tokens: Mint) -> None:
    with serving(config, tokens, "--all") as server:
        until(lambda: server.call("GET", "/readyz")[0] == 200)
        stream, events = follow(server)
        upload = begin_upload(server)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert b"id: e1~" in events.read()
        assert time.monotonic() - began < 30, "it does not wait for the upload first"
        stream.close()
        with pytest.raises(ConnectionError):
            server.call("GET", "/healthz")
        assert server.process.poll() is None, "it waits for the upload"
        send_chunk(upload, b'"psi"}')
        upload.send(b"0\r\n\r\n")
        answer = upload.getresponse()
        assert (answer.status, json.loads(answer.read())["name"]) == (201, "psi")
        upload.close()
        assert server.process.wait(30) == 0
        assert all(gone(pid) for pid in server.workers())
    assert [line["event"] for line in server.lines() if line["logger"] == "canton.worker"][-1].endswith("stopped")


def test_what_does_not_end_is_cut_off_at_the_limit(config: Path, tokens: Mint) -> None:
    with serving(config, tokens, CANTON_API_DRAIN="1") as server:
        upload = begin_upload(server)
        began = time.monotonic()
        assert server.end() == 0
        assert time.monotonic() - began > 0.9
        upload.close()


def test_a_second_signal_ends_it_at_once(config: Path, tokens: Mint) -> None:
    with serving(config, tokens, "--all") as server:
        until(lambda: bool(server.workers()))
        upload = begin_upload(server)
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        assert server.end(signal.SIGINT) == 128 + signal.SIGINT
        until(lambda: all(gone(pid) for pid in server.workers()))
        upload.close()


def test_a_worker_does_not_outlive_a_server_that_was_killed(config: Path, tokens: Mint) -> None:
    with serving(config, tokens, "--all") as server:
        until(lambda: bool(server.workers()))
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        until(lambda: all(gone(pid) for pid in server.workers()))


def test_a_worker_reads_the_power_of_nodes_without_being_asked(config: Path, tokens: Mint) -> None:
    with serving(config, tokens, "--all") as server:
        assert server.call("POST", "/v1/sites", {"name": "alps"})[0] == 201
        rows = [{"xname": node} for node in expand(NODES)]
        assert server.call("POST", "/v1/nodes/import", {"site": "alps", "nodes": rows})[0] == 200

        def power() -> set[str | None]:
            return {node["power"] for node in server.call("GET", "/v1/nodes")[1]["items"]}

        until(lambda: power() == {"off"})
        for node in expand(NODES):
            (config.with_name("power") / node).write_text("on")
        until(lambda: power() == {"on"})


def test_a_worker_that_is_killed_half_way_is_replaced_and_its_work_finished(config: Path, tokens: Mint) -> None:
    switched = [config.with_name("power") / node for node in expand(NODES)]

    def on() -> int:
        return sum(file.read_text() == "on" for file in switched)

    with serving(config, tokens, "--all") as server:
        assert server.call("POST", "/v1/sites", {"name": "alps"})[0] == 201
        imported_nodes = [{"xname": node, "state": "free"} for node in expand(NODES)]
        assert server.call("POST", "/v1/nodes/import", {"site": "alps", "nodes": imported_nodes})[0] == 200
        until(lambda: bool(server.workers()))
        status, operation = server.call("POST", "/v1/nodes/power", {"nodes": NODES, "to": "on"})
        assert status == 202, operation
        until(lambda: on() >= 2)
        os.kill(server.workers()[-1], signal.SIGKILL)
        assert on() < len(switched)
        until(lambda: server.call("GET", f"/v1/operations/{operation['id']}")[1]["state"] == "done")
        assert on() == len(switched)
        assert len(server.workers()) == 2
        assert server.end() == 0


def test_a_worker_alone_serves_two_servers(config: Path, tokens: Mint) -> None:
    command = [*CANTON, "worker", "--config", str(config)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as worker:
        try:
            with serving(config, tokens) as server:
                until(lambda: server.call("GET", "/readyz")[0] == 200)
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0
        finally:
            worker.kill()


def test_a_head_that_is_too_large_or_never_ends_is_cut_off(config: Path, tokens: Mint) -> None:
    with serving(config, tokens) as server:
        where = urlsplit(server.url)
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=10) as raw:
            raw.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
            response = b""
            try:
                for _ in range(400):
                    raw.sendall(b"a" * 4096)
            except ConnectionError:
                pass
            try:
                response = raw.recv(100)
            except ConnectionError:
                response = b""
            assert response == b"" or response.startswith(b"HTTP/1.1 431")
        assert server.call("GET", "/healthz")[0] == 200
        many = {f"X-{n}": "1" for n in range(70)}
        status, problem = server.call("GET", "/v1/whoami", **many)
        assert (status, problem["code"]) == (431, "headers-too-large")


def test_what_follows_a_body_is_bounded_and_no_header(config: Path, tokens: Mint) -> None:
    with serving(config, tokens) as server:
        connection = begin_upload(server)
        send_chunk(connection, b'"psi"}')
        connection.send(b"0\r\nCanton-Reason: %00\r\nX-Request-Id: mine\r\n\r\n")
        answer = connection.getresponse()
        assert (answer.status, answer.getheader("Canton-Request") == "mine") == (201, False)
        connection.close()
        connection = begin_upload(server)
        connection.send(b"0\r\n")
        with pytest.raises(ConnectionError):
            send_often(connection, b"X-Trailer: yes\r\n" * 256)
        connection.close()
        assert server.call("GET", "/healthz")[0] == 200


def test_a_client_that_leaves_in_the_middle_is_no_defect(config: Path, tokens: Mint) -> None:
    with serving(config, tokens) as server:
        connection = server.connect()
        connection.putrequest("POST", "/v1/tenants/psi/resume")
        connection.putheader("Authorization", f"Bearer {server.token}")
        connection.putheader("Content-Length", "10")
        connection.endheaders(b"{")
        time.sleep(0.2)
        connection.close()
        until(lambda: any(line["event"] == "request" for line in server.lines()))
        server.end()
    assert [line for line in server.lines() if line["level"] == "error"] == []


@pytest.mark.parametrize(("proxies", "client"), [("127.0.0.1", "192.0.2.9"), ("", "127.0.0.1")])
def test_only_a_proxy_that_is_named_is_believed(config: Path, tokens: Mint, proxies: str, client: str) -> None:
    with serving(config, tokens, CANTON_API_PROXIES=proxies) as server:
        server.call("GET", "/v1/whoami", **{"X-Forwarded-For": "192.0.2.9"})
        server.end()
    assert [line["client"] for line in server.lines() if line["event"] == "request"] == [client]


def test_it_can_speak_tls_itself(config: Path, tokens: Mint) -> None:
    certificate, key = certify(config.parent)
    key.chmod(0o600)
    with serving(config, tokens, CANTON_API_TLS_CERTIFICATE=str(certificate), CANTON_API_TLS_KEY=str(key)) as server:
        where = urlsplit(server.url)
        assert where.scheme == "https"
        trust = ssl.create_default_context(cafile=certificate)
        connection = HTTPSConnection(where.hostname or "", where.port, context=trust, timeout=10)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=20) as silent:
            began = time.monotonic()
            assert silent.recv(1) == b"", (
                "a client that begins no handshake is dropped; asyncio would wait for a minute"
            )
            assert time.monotonic() - began < 20
        assert server.end() == 0


def certify(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    x509_certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(_loopback())]), False)
        .sign(key, hashes.SHA256())
    )
    certificate, private = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(x509_certificate.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private


def _loopback() -> Any:
    from ipaddress import ip_address  # noqa: PLC0415

    return ip_address("127.0.0.1")


@pytest.mark.parametrize(
    ("environment", "status", "message"),
    [
        ({"CANTON_API_LISTEN": "nowhere"}, 2, 'api.listen is "nowhere"; write host:port'),
        ({"CANTON_API_LISTN": "127.0.0.1:0"}, 2, "did you mean CANTON_API_LISTEN?"),
        ({"CANTON_API_LISTEN": "192.0.2.1:1"}, 8, "cannot listen on 192.0.2.1:1"),
        ({"CANTON_API_LISTEN": "192.0.2.1:1"}, 8, "or listen elsewhere with --listen HOST:PORT"),
        ({"CANTON_DATABASE": "sqlite:////nowhere/canton.db"}, 1, "create it with: canton db upgrade"),
        ({"CANTON_POLICY_TWO_PERSON": "tenant.delet"}, 2, 'did you mean "tenant.delete"?'),
    ],
)
@pytest.mark.parametrize("command", ["serve", "worker"])
def test_what_is_wrong_is_said_before_anything_starts(
    config: Path, command: str, environment: dict[str, str], status: int, message: str
) -> None:
    if command == "worker" and ("listen" in message or "tenant.delete" in message):
        return
    result = subprocess.run(
        [*CANTON, command, "--config", str(config)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env=os.environ | environment,
    )
    assert (result.returncode, result.stdout) == (status, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_settings_shows_values_origins_and_no_password(config: Path) -> None:
    def ask(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = [*CANTON, "settings", "--config", str(config), *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=30, check=False, env=os.environ | environment
        )

    text = ask(CANTON_DATABASE="postgresql://canton:hunter2@db/canton", CANTON_LOG_LEVEL="debug").stdout
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines()}
    assert rows["log.level"] == ['"debug"', "CANTON_LOG_LEVEL"]
    assert rows["worker.sweep"] == ["60.0", "default"]
    assert "sites.alps.folder" in rows
    assert "hunter2" not in text
    assert "postgresql://canton:(hidden)@db/canton" in text
    assert re.fullmatch(rf"{re.escape(str(config))}: [0-9]+ settings are good\n", ask("--check").stdout)
    settings_by_key = {it["key"]: it for it in json.loads(ask("--json").stdout)}
    assert settings_by_key["worker.lease"]["value"] == 1.5
    assert ask("--check", CANTON_LOG_LEVEL="loud").returncode == 2
