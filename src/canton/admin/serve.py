"""``canton serve``: the API, with ``--all`` a worker beside it, with ``--dev`` all that a laptop needs."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import math
import os
import resource
import socket
import ssl
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import FrameType

import click
import uvicorn
import uvloop
from anyio import to_thread

from canton import wiring
from canton.admin import dev as laptop
from canton.admin.options import config_option, database_option, describe, load_settings, upgrade_hint
from canton.admin.worker_process import WorkerProcess
from canton.api.middleware.connection import bounded
from canton.domain.errors import InvalidSetting, Unavailable
from canton.settings import loading
from canton.settings.kinds import Address
from canton.settings.model import Api, Settings

log = logging.getLogger("canton.serve")
THREADS = 16
BACKLOG = 512
HANDSHAKE_SECONDS = 5.0
# For the database, the log, the libraries, and connections that are accepted before others were dropped for them.
SPARE_FILES = 100 + BACKLOG


@click.command(
    epilog="\b\nExamples:\n  canton serve --dev\n  canton serve --config /etc/canton/server.toml\n"
    "  canton serve --all --listen 127.0.0.1:0 --json"
)
@config_option
@click.option(
    "--listen", metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.  [env var: CANTON_API_LISTEN]"
)
@database_option
@click.option("--all", "everything", is_flag=True, help="Also run a worker, in a process that is restarted if it dies.")
@click.option("--dev", is_flag=True, help="Run a server for development, without any configuration; see above.")
@click.option("--json", "as_json", is_flag=True, help="When ready, print one JSON line: url and pid.")
def serve(
    config: Path | None, listen: str | None, address: str | None, everything: bool, dev: bool, as_json: bool
) -> None:
    """Run the API server.

    With --dev it needs no configuration: at the first start it creates a configuration, a database, an issuer with one
    administrator, whose password is printed once, and a few pretend nodes in canton/dev under $XDG_STATE_HOME. It
    also runs a worker, listens on this machine only, and prints the commands to try next. It is not for production.

    On SIGTERM or Ctrl-C it takes no new requests, ends the streams of events, finishes the requests under way within
    `api.drain` and exits with 0. A second signal ends it at once.
    """
    flags = loading.Flags(config, address, listen)
    if dev:
        flags = laptop.prepare(flags, os.environ)
    settings = load_settings(flags)
    if dev:
        laptop.check(settings)
    wiring.start_logging(settings)
    connections = _allow_connections(settings.api.readers + settings.api.concurrency)
    with closing(_bind(settings.api.listen)) as listening:
        url = _url(settings.api, listening)
        with laptop.shown_once(laptop.fill(settings) if dev else "") as show_password:
            log.info("%s", describe(flags))
            with upgrade_hint(flags):
                serving = wiring.make_app(settings, settings.api.public_url or url)
            worker_process = (
                WorkerProcess(_environment(flags, settings), settings.worker.grace) if everything or dev else None
            )
            steps = laptop.first_steps(url, flags.config) if dev and flags.config else ""
            announce = _announcing(url, steps, show_password, as_json=as_json)
            server = Server(
                _uvicorn(settings.api, serving, connections), ServerParts(serving, worker_process, announce)
            )
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(server.serve([listening]))


def _allow_connections(most: int) -> int:
    """How many connections there can be: each is an open file, and the usual 1,024 are fewer than the settings want."""
    files_needed = most + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    ceiling = files_needed if hard == resource.RLIM_INFINITY else min(files_needed, hard)
    if soft != resource.RLIM_INFINITY and soft < ceiling:
        resource.setrlimit(resource.RLIMIT_NOFILE, (ceiling, hard))
    if ceiling < files_needed:
        log.warning(
            "only %d files may be open, %d are wanted: raise the limit, or lower api.readers", ceiling, files_needed
        )
    return max(ceiling - SPARE_FILES, ceiling // 2)


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What starts and stops with the server."""

    serving: wiring.Serving
    worker_process: WorkerProcess | None
    announce: Callable[[], None]


class Server(uvicorn.Server):
    """Ends the streams of events before it waits for connections: they would not end by themselves."""

    def __init__(self, config: uvicorn.Config, parts: ServerParts) -> None:
        super().__init__(config)
        self._parts = parts

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        worker_process = self._parts.worker_process
        if worker_process is not None:
            worker_process.start()
        try:
            await super().serve(sockets)
        finally:
            self._parts.serving.hub.close()
            if worker_process is not None:
                await worker_process.stop()
            self._parts.serving.refusals.flush(self._parts.serving.database)
            self._parts.serving.database.close()
            log.info("stopped")

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self.config.is_ssl:
            loop = asyncio.get_running_loop()
            # uvicorn has no setting for it, and asyncio would wait for a minute, without counting these connections.
            with_limit = partial(loop.create_server, ssl_handshake_timeout=HANDSHAKE_SECONDS)
            loop.create_server = with_limit  # type: ignore[method-assign]
        await super().startup(sockets)
        # Exclude the loaded modules from garbage collection: a full collection over them takes longer than rendering a
        # long list.
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 50, 50)
        # As many as there are database connections; more threads would only fight for the interpreter.
        to_thread.current_default_thread_limiter().total_tokens = THREADS
        self._parts.announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("stopping")
        self._parts.serving.hub.drain()
        if self._parts.worker_process is not None:
            self._parts.worker_process.request_stop()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 (uvicorn's signature)
        if self.should_exit:
            # Operations are in the database, so nothing is lost by ending at once.
            if self._parts.worker_process is not None:
                self._parts.worker_process.kill()
            os._exit(128 + sig)
        self.should_exit = True


def _uvicorn(api: Api, serving: wiring.Serving, most: int) -> uvicorn.Config:
    # Our log lines replace uvicorn's informational ones; its warnings and errors are still logged.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    config = uvicorn.Config(
        serving.app,
        http=bounded(most),
        ws="none",
        backlog=BACKLOG,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(api.proxies),
        forwarded_allow_ips=list(api.proxies),
        timeout_graceful_shutdown=math.ceil(api.drain),
        ssl_certfile=api.tls_certificate,
        ssl_keyfile=api.tls_key,
    )
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(
            f"api.tls_certificate {api.tls_certificate} and api.tls_key {api.tls_key} cannot be used: {error}"
        ) from error
    return config


def _bind(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        # Now, and not when all is ready: a second server must not believe that it has the port.
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"cannot listen on {address}: {error.strerror}; stop what uses it, or listen elsewhere with --listen "
            "HOST:PORT (api.listen in the configuration)"
        ) from error
    return listening


def _url(api: Api, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    scheme = "https" if api.tls_certificate else "http"
    if scheme == "http" and not ip_address(host).is_loopback and not api.proxies:
        log.warning("the API listens on %s without TLS: tokens would travel in the clear", host)
    return f"{scheme}://{Address(host, port)}"


def _environment(flags: loading.Flags, settings: Settings) -> dict[str, str]:
    """The same settings for the worker; not as arguments, which every user of the machine can read."""
    config = {loading.CONFIG: str(flags.config.absolute())} if flags.config else {}
    return {**os.environ, **config, loading.DATABASE: settings.database}


def _announcing(url: str, steps: str, show_password: Callable[[], None], *, as_json: bool) -> Callable[[], None]:
    def announce() -> None:
        log.info("serving %s", url, extra={"url": url, "pid": os.getpid()})
        # After the log's lines, so that it stands together.
        show_password()
        if steps:
            click.echo(steps, err=True)
        if as_json:
            click.echo(json.dumps({"url": url, "pid": os.getpid()}))

    return announce
