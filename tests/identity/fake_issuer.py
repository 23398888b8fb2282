"""A fake issuer: keys, tokens signed correctly and incorrectly, and a small server that publishes its keys."""

from __future__ import annotations

import json
import ssl
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

Key = RSAKey | ECKey | OKPKey
FAMILIES = ("RS256", "ES256", "EdDSA")


def make_key(algorithm: str) -> Key:
    if algorithm == "RS256":
        return RSAKey.generate_key(2048)
    return ECKey.generate_key("P-256") if algorithm == "ES256" else OKPKey.generate_key("Ed25519")


def public(key: Key, kid: str, **more: Any) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": kid, "use": "sig", **more}


def part(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return urlsafe_b64encode(text).rstrip(b"=").decode()


def sign(key: Key, algorithm: str, header: dict[str, Any], claims: object) -> str:
    return assemble({"alg": algorithm} | header, claims, lambda text: JWSRegistry.algorithms[algorithm].sign(text, key))


def assemble(header: dict[str, Any], claims: object, signer: Callable[[bytes], bytes]) -> str:
    signed = f"{part(header)}.{part(claims)}"
    return f"{signed}.{part(signer(signed.encode()))}"


def claims_of(token: str) -> dict[str, Any]:
    return _opened(token.split(".")[1])


def header_of(token: str) -> dict[str, Any]:
    return _opened(token.partition(".")[0])


def _opened(text: str) -> dict[str, Any]:
    opened: dict[str, Any] = json.loads(urlsafe_b64decode(text.encode()))
    return opened


@dataclass
class Clock:
    """A clock that a test sets by assigning ``now`` (seconds since the epoch)."""

    now: float = field(default_factory=lambda: float(int(time.time())))

    def __call__(self) -> float:
        return self.now


@dataclass
class Drip:
    """An answer of one byte every 20 ms, until ``stop`` is set."""

    stop: threading.Event


@dataclass
class Publisher:
    """``answers`` has for each path a JSON value, bytes, a status with headers, or a Drip."""

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    requested_paths: list[str] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    down: bool = False

    def publish(self, *keys: dict[str, Any]) -> None:
        self.answers["/jwks"] = {"keys": list(keys)}

    @property
    def fetches(self) -> int:
        return self.requested_paths.count("/jwks")


@contextmanager
def publisher(tls: ssl.SSLContext | None = None) -> Iterator[Publisher]:
    server = _Server(("127.0.0.1", 0), _Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    published = Publisher(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}")
    published.gate.set()
    published.answers["/.well-known/openid-configuration"] = {
        "issuer": published.url,
        "jwks_uri": f"{published.url}/jwks",
    }
    published.publish()
    server.publisher = published  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield published
    finally:
        published.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Callers that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        published: Publisher = self.server.publisher  # type: ignore[attr-defined]
        published.requested_paths.append(self.path)
        published.gate.wait(60)
        if published.down:
            self.close_connection = True
            return
        answer = published.answers.get(self.path, (404, {}))
        if isinstance(answer, Drip):
            self._drip(answer)
            return
        status, headers = answer if isinstance(answer, tuple) else (200, {})
        body = (
            b"" if isinstance(answer, tuple) else answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        )
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _drip(self, answer: Drip) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b" ")
            if answer.stop.wait(0.02):
                self.close_connection = True
                return

    def log_message(self, *_: object) -> None:
        pass
