"""The connection: the size of a head however it arrives, and clients that do not read."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from canton.api.middleware import connection as wire

ANSWER = b"x" * (8 * 2**20)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    large = scope["path"] == "/large"
    closing = [(b"connection", b"close")] if scope["query_string"] else []
    await send({"type": "http.response.start", "status": 200, "headers": closing})
    await send({"type": "http.response.body", "body": ANSWER if large else b"ok"})


class Server(uvicorn.Server):
    @property
    def port(self) -> int:
        return int(self.servers[0].sockets[0].getsockname()[1])

    def open(self) -> int:
        return len(self.server_state.connections)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(wire, "WRITE_SECONDS", 0.5, raising=False)
    config = uvicorn.Config(app, port=0, http=wire.Connection, log_config=None, lifespan="off", timeout_keep_alive=1)
    running = Server(config)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not running.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield running
    running.should_exit = True
    thread.join(20)


def connect(server: Server) -> socket.socket:
    client_socket = socket.socket()
    # Small, so that unread data stays with the server.
    client_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client_socket.settimeout(10)
    client_socket.connect(("127.0.0.1", server.port))
    return client_socket


def status(connection: socket.socket) -> int | None:
    try:
        received = connection.recv(4096)
    except ConnectionResetError:
        return None
    return int(received.split()[1]) if received else None


def head(size: int, shape: str) -> bytes:
    """The head of a request with exactly this many bytes."""
    start, end = b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n"
    room = size - len(start) - len(end)
    if shape == "target":
        return start.replace(b"/ ", b"/?" + b"a" * (room - 1) + b" ", 1) + end
    if shape == "one header":
        return start + b"a: " + b"v" * (room - 5) + b"\r\n" + end
    if shape == "spaces":
        return start + b"a:" + b" " * (room - 5) + b"v\r\n" + end
    line = b"a: v\r\n"
    return start + line * (room // len(line) - 2) + b"a: " + b"v" * (room % len(line) + 7) + b"\r\n" + end


@pytest.mark.parametrize("shape", ["target", "one header", "spaces", "many headers"])
@pytest.mark.parametrize("pieces", [1, 3, 50])
@pytest.mark.parametrize(
    ("size", "accepted"), [(wire.HEAD_LIMIT, True), (wire.HEAD_LIMIT + 1, False), (200_000, False)]
)
def test_the_limit_of_a_head_holds_for_any_pieces(
    server: Server, shape: str, pieces: int, size: int, accepted: bool
) -> None:
    text = head(size, shape)
    assert len(text) == size
    with connect(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for n in range(pieces):
                connection.sendall(text[n * size // pieces : (n + 1) * size // pieces])
                time.sleep(0.002 if pieces > 1 else 0)
        except (BrokenPipeError, ConnectionResetError):
            assert not accepted
        assert status(connection) in ([200] if accepted else [431, None])


def test_the_limit_holds_for_a_head_behind_a_body_in_the_same_read(server: Server) -> None:
    first = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
    with connect(server) as connection:
        connection.sendall(first + head(120_000, "many headers"))
        received = b""
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                break
            if not part:
                break
            received += part
    assert received.count(b"HTTP/1.1 200") <= 1


@pytest.mark.parametrize("bound", ["HEADS_EACH", "most"])
def test_connections_without_a_request_make_room_for_others(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, bound: str
) -> None:
    if bound == "most":
        monkeypatch.setattr(wire.Connection, "limiter", wire.ConnectionLimiter(10))
    else:
        monkeypatch.setattr(wire.Connection, "limiter", wire.ConnectionLimiter())
        monkeypatch.setattr(wire, "HEADS_EACH", 10)
    connections = [connect(server) for _ in range(40)]
    try:
        for connection in connections:
            connection.sendall(b"GET / HT")
        with connect(server) as late_connection:
            late_connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert status(late_connection) == 200
        _until(lambda: server.open() <= 10)
        assert status(connections[0]) is None
        connections[-1].sendall(b"TP/1.1\r\n\r\n")
        assert status(connections[-1]) == 200
    finally:
        for connection in connections:
            connection.close()
    assert len([record for record in caplog.records if "too many connections" in record.message]) == 1


def test_of_many_that_come_at_once_the_newest_stay(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are accepted within a few ticks of uvloop's clock, which counts whole milliseconds."""
    monkeypatch.setattr(wire.Connection, "limiter", wire.ConnectionLimiter(5))
    busy, go_on = threading.Event(), threading.Event()

    def stand_still() -> None:
        busy.set()
        go_on.wait(20)

    server.servers[0].get_loop().call_soon_threadsafe(stand_still)
    assert busy.wait(20)
    try:
        connections = [connect(server) for _ in range(40)]
    finally:
        go_on.set()
    try:
        assert [status(dropped) for dropped in connections[:35]] == [None] * 35
        for connection in connections[35:]:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert status(connection) == 200
    finally:
        for connection in connections:
            connection.close()


def test_connections_between_two_requests_make_room_for_others(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire.Connection, "limiter", wire.ConnectionLimiter(10))
    server.config.timeout_keep_alive = 60
    connections = [connect(server) for _ in range(10)]
    try:
        for connection in connections:
            connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert status(connection) == 200
            connection.sendall(b"\r\n")
        with connect(server) as late_connection:
            late_connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert status(late_connection) == 200
            assert status(connections[0]) is None
            connections[-1].sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert status(connections[-1]) == 200
    finally:
        for connection in connections:
            connection.close()


def test_empty_lines_after_an_answer_do_not_keep_a_connection(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "HEAD_SECONDS", 0.5)
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert status(connection) == 200
        for _ in range(3):
            connection.sendall(b"\r\n")
            time.sleep(0.05)
        assert status(connection) is None
    _until(lambda: server.open() == 0)
    assert not wire.Connection.limiter.idle
    assert not wire.Connection.limiter.awaiting_head
    assert not wire.Connection.limiter.closing


@pytest.mark.parametrize("length", [18, 600], ids=["many in one part", "few in a part"])
def test_a_connection_with_too_many_requests_at_once_is_dropped(
    server: Server, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    cycles: list[object] = []
    original_init = RequestResponseCycle.__init__

    def count(self: RequestResponseCycle, *args: Any, **options: Any) -> None:
        cycles.append(self)
        original_init(self, *args, **options)

    monkeypatch.setattr(RequestResponseCycle, "__init__", count)
    request = b"GET /" + b"a" * (length - 18) + b" HTTP/1.1\r\n\r\n"
    with connect(server) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(request * (256 * 1024 // length))
        while connection.recv(65536):
            pass
    # The rest of the requests may come in a second read, after some answers.
    assert wire.PIPELINE_LIMIT <= len(cycles) <= 4 * wire.PIPELINE_LIMIT


def test_a_few_requests_at_once_are_answered_in_turn(server: Server) -> None:
    with connect(server) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n" * (wire.PIPELINE_LIMIT - 1) + b"GET /?close HTTP/1.1\r\n\r\n")
        received = b""
        while part := connection.recv(65536):
            received += part
    assert received.count(b"HTTP/1.1 200") == wire.PIPELINE_LIMIT


@pytest.mark.parametrize("path", ["/large", "/large?close"])
def test_a_client_that_does_not_read_is_dropped_without_a_trace(
    server: Server, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    caplog.set_level(logging.INFO)
    with connect(server) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * 3)
        _until(lambda: server.open() == 1)
        _until(lambda: server.open() == 0, 10)
    assert [record.message for record in caplog.records if record.exc_info or record.levelno >= logging.WARNING] == []


def test_a_client_that_reads_slowly_gets_all_of_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    # A busy machine may let it read a few times only in half a second.
    monkeypatch.setattr(wire, "WRITE_LEAST", 1)
    with connect(server) as connection:
        connection.sendall(b"GET /large?close HTTP/1.1\r\nHost: x\r\n\r\n")
        received, began = 0, time.monotonic()
        while part := connection.recv(65536):
            received += len(part)
            # Longer than a client that takes nothing would have.
            time.sleep(0.02 if time.monotonic() < began + 2 else 0)
    assert received > len(ANSWER)


def test_unread_answers_of_all_clients_are_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "WRITE_SECONDS", 60.0, raising=False)
    monkeypatch.setattr(wire, "WRITE_TOTAL", 3 * len(ANSWER), raising=False)
    connections = [connect(server) for _ in range(8)]
    try:
        for connection in connections:
            connection.sendall(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.05)
        _until(lambda: 1 <= server.open() <= 4)
    finally:
        for connection in connections:
            connection.close()


def _until(holds: Any, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)
