"""An API server that gives scripted answers and records every request."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from canton import __version__
from client import api_description


@dataclass(frozen=True)
class RecordedRequest:
    """A request as it arrived; header names in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent as it is, instead of the body as JSON."""
    cut: bool = False
    """Close the connection without an answer, or after ``raw`` in the middle of one."""


Answer = Reply | Callable[[RecordedRequest], Reply]


class Script:
    """The replies to each request line such as ``GET /v1/tenants``, in turn; the last one is repeated.

    A body that the API's description does not allow fails the test.
    """

    def __init__(self) -> None:
        self.requests: list[RecordedRequest] = []
        self.version = __version__
        self.url = ""
        self._answers: dict[str, list[Answer]] = {}

    def on(self, line: str, *replies: Answer) -> None:
        for reply in replies:
            if isinstance(reply, Reply) and reply.body is not None and reply.status < 300:
                wrong = api_description.problems(line, reply.status, reply.body)
                assert wrong == [], f"{line} is not answered so: {wrong}"
        self._answers[line] = list(replies)

    def reply(self, request: RecordedRequest) -> Reply:
        self.requests.append(request)
        replies = self._answers.get(request.line)
        if not replies:
            return problem(404, "no-such-route", f"nothing is scripted for {request.line}")
        answer = replies.pop(0) if len(replies) > 1 else replies[0]
        return answer(request) if callable(answer) else answer

    @property
    def last(self) -> RecordedRequest:
        return self.requests[-1]

    def lines(self) -> list[str]:
        return [request.line for request in self.requests]


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **details: Any) -> Reply:
    body = {"code": code, "detail": detail, "status": status, "details": details, "request": "req-1"}
    return Reply(status, body, headers or {})


def items(*rows: Any, next_page: str | None = None) -> Reply:
    return Reply(body={"items": list(rows), "next": next_page})


@contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[Script]:
    """Serve the script on a free port of the loopback interface."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script))
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    script.url = f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _handler(script: Script) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def answer(self) -> None:
            reply = script.reply(self._asked())
            if reply.cut and reply.raw is None:
                self.close_connection = True
                return
            self._send(reply)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 (names of http.server)

        def _asked(self) -> RecordedRequest:
            parts = urlsplit(self.path)
            length = int(self.headers.get("Content-Length", 0))
            content = self.rfile.read(length)
            form = self.headers.get("Content-Type") == "application/x-www-form-urlencoded"
            body = dict(parse_qsl(content.decode())) if form else json.loads(content) if content else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            return RecordedRequest(self.command, parts.path, dict(parse_qsl(parts.query)), headers, body)

        def _send(self, reply: Reply) -> None:
            body = (
                reply.raw if reply.raw is not None else b"" if reply.body is None else json.dumps(reply.body).encode()
            )
            headers = {"Content-Type": "application/json", "Canton-Request": "req-1", **reply.headers}
            if script.version:
                headers["Canton-Version"] = script.version
            if reply.raw is None and "gzip" in self.headers.get("Accept-Encoding", "") and body:
                body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
            self.send_response(reply.status)
            for name, value in headers.items():
                self.send_header(name, value)
            if reply.cut:
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the name is http.server's)
            """Say nothing."""

    return Handler
