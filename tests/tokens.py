"""An issuer for tests: keys of its own, their JWKS on loopback, and tokens for any person.

The server under test verifies with the production driver; only the login is left out.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey

from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.mapping import preset

AUDIENCE = "canton"
NAME = "test"


class Mint:
    """Makes tokens; ``settings`` configures a server to trust them."""

    def __init__(self, url: str, key: ECKey) -> None:
        self.url = url
        self.key = key
        self.settings = IssuerSettings(NAME, url, (AUDIENCE,), preset("flat"))

    def token(self, user: str, roles: Sequence[str] = (), *, key: ECKey | None = None, **claims: Any) -> str:
        """``roles`` are those of the preset "flat": canton-provider-admin, canton-tenant-operator:psi."""
        now = int(time.time())
        standard: dict[str, Any] = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": f"id-of-{user}",
            "sid": f"session-of-{user}",
            "preferred_username": user,
            "iat": now,
            "exp": now + 3600,
            "roles": list(roles),
        }
        signer = key or self.key
        return jwt.encode({"alg": "ES256", "kid": self.key.kid, "typ": "at+jwt"}, standard | claims, signer)


def new_key() -> ECKey:
    return ECKey.generate_key("P-256", {"use": "sig", "alg": "ES256"}, auto_kid=True)


@contextmanager
def mint(latency: Callable[[], float] = lambda: 0.0) -> Iterator[Mint]:
    """``latency`` gives the seconds that the issuer takes to answer a request."""
    key = new_key()
    documents: dict[str, Any] = {"/jwks": {"keys": [key.as_dict(private=False)]}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(latency())
            body = json.dumps(documents.get(self.path, {})).encode()
            self.send_response(200 if self.path in documents else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            # A client that did not wait for a slow issuer is gone.
            with suppress(BrokenPipeError):
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    documents["/.well-known/openid-configuration"] = {"issuer": url, "jwks_uri": f"{url}/jwks"}
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Mint(url, key)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
