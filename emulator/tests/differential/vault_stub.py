"""The part of Vault that SMD needs: a login that always works, and a store in memory. ``python3 vault_stub.py PORT``.

With a Vault, SMD keeps the passwords of Redfish endpoints there and shows none; without, it shows them to every client.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Vault(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    secrets: dict[str, Any] = {}  # noqa: RUF012 (one store for all requests, on purpose)

    def _answer(self, status: int, body: Any = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
        if self.path.startswith("/v1/auth/"):
            self._answer(200, {"auth": {"client_token": "token", "renewable": True, "lease_duration": 86400}})
            return
        self.secrets[self.path] = body
        self._answer(204)

    do_POST = do_PUT  # noqa: N815

    def do_GET(self) -> None:
        data = {} if self.path == "/v1/auth/" else self.secrets.get(self.path)
        self._answer(*((200, {"data": data}) if data is not None else (404, {"errors": []})))

    def do_DELETE(self) -> None:
        self.secrets.pop(self.path, None)
        self._answer(204)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (as it is called)
        """Suppresses the log."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Vault).serve_forever()
