"""The loopback port to which the browser is redirected after a login (RFC 8252, section 7.3)."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

from canton.domain.errors import NotAuthenticated

PAGE = "<!doctype html><meta charset=utf-8><title>Canton</title><p>You can close this page and go back to the terminal."


class Listener(HTTPServer):
    """Listens on loopback for one redirect, which must carry our state; other requests get 404."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = ""
        self.parameters: dict[str, str] | None = None

    @property
    def redirect(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/callback"

    def wait(self, deadline: float, state: str) -> dict[str, str]:
        """The query parameters of the redirect; NotAuthenticated if it did not come before the deadline."""
        self.state = state
        while self.parameters is None:
            self.timeout = deadline - time.monotonic()
            if self.timeout <= 0:
                raise NotAuthenticated("no login came from the browser in time; run canton login --web again")
            self.handle_request()
        return self.parameters


class _Handler(BaseHTTPRequestHandler):
    server: Listener
    timeout = 10

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        parameters = dict(parse_qsl(parts.query))
        if parts.path != "/callback" or not self.server.state or parameters.get("state") != self.server.state:
            self.send_error(404)
            return
        self.server.parameters = parameters
        body = PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 (the name is http.server's)
        """Log nothing: the address holds the code."""
