"""Listening sockets, and the servers on them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from csm_emulator.errors import Unavailable
from csm_emulator.transport.asgi import App
from csm_emulator.transport.connection import Connection


@dataclass(frozen=True, slots=True)
class Certificate:
    """The certificate of a TLS listener."""

    chain: Path
    key: Path
    clients: Path | None = None
    """The CA of client certificates: a client may present one, which identifies it, but need not."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A bound socket and the application that answers on it."""

    bound: socket.socket
    app: App
    certificate: Certificate | None = None
    path: str = ""
    """The path of the URL."""

    @property
    def url(self) -> str:
        host, port = self.bound.getsockname()[:2]
        host_text = f"[{host}]" if ":" in host else host
        return f"{'https' if self.certificate else 'http'}://{host_text}:{port}{self.path}"


def bind(host: str, port: int) -> socket.socket:
    if not host:
        raise Unavailable("the address to listen on is empty; use 0.0.0.0 for all addresses")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(1024)
    except (OSError, UnicodeError) as error:
        bound.close()
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Unavailable(
            f"cannot listen on {host} port {port}: {reason}; stop what uses it, or use --port 0 for a free port"
        ) from error
    return bound


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Server(uvicorn.Server):
    """One of several servers in a process, which handles signals itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Servers:
    """All listeners of the emulator, started and stopped together."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        self._pairs = [(_Server(_loaded(listener)), listener.bound) for listener in listeners]
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(server.serve(sockets=[bound])) for server, bound in self._pairs]
        while not all(server.started for server, _ in self._pairs):
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        for server, _ in self._pairs:
            server.should_exit = True
        await asyncio.gather(*self._tasks)


def _loaded(listener: Listener) -> uvicorn.Config:
    config = _config(listener)
    config.load()
    if config.ssl is not None:
        # Some clients wait for a readable socket and then block in TLS: a session ticket would make them hang.
        config.ssl.num_tickets = 0
    return config


def _config(listener: Listener) -> uvicorn.Config:
    certificate = listener.certificate
    return uvicorn.Config(
        listener.app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # There is no proxy before these listeners: the client is the peer, whatever a header says.
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=75,
        ssl_certfile=str(certificate.chain) if certificate else None,
        ssl_keyfile=str(certificate.key) if certificate else None,
        ssl_ca_certs=str(certificate.clients) if certificate and certificate.clients else None,
        ssl_cert_reqs=ssl.CERT_OPTIONAL if certificate and certificate.clients else ssl.CERT_NONE,
    )
