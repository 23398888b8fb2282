"""The emulator as a process: its listeners, its loops, its end."""

from __future__ import annotations

import asyncio
import gc
import secrets
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from canton.emulator.beginning import Wanted
from canton.emulator.faces.keycloak.users import Client, User, clients, users
from canton.emulator.machine.state_file import StateFile
from canton.emulator.outbox import Outbox
from canton.emulator.running import Running
from canton.emulator.site import Site
from canton.emulator.truth import Truth
from canton.emulator.wire.asgi import App
from canton.emulator.wire.certificates import issue
from canton.emulator.wire.listening import Certificate, Listener, Servers, bind

BODY = 64 << 20
TRUTH_BODY = 1 << 20
LOOPBACK = "127.0.0.1"
KEY_BYTES = 12


@dataclass(frozen=True, slots=True)
class Serve:
    """How to serve a machine."""

    state: Path
    wanted: Wanted
    host: str = LOOPBACK
    port: int = 0
    plain: bool = False
    services: bool = False
    """A listener for each service too."""


@dataclass(frozen=True, slots=True)
class Ready:
    """What somebody needs to know to use it."""

    machine: str
    about: str
    nodes: int
    url: str
    ca: Path | None
    users: list[User]
    clients: list[Client]
    """With a secret: services of the site that log in as themselves."""
    services: dict[str, str]
    truth: str


async def serve(asked: Serve, announce: Callable[[Ready], None]) -> None:
    """Until SIGTERM or SIGINT; the last change is written down before the end."""
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    kept = StateFile(asked.state)
    outbox = Outbox()
    running = Running(kept, asked.wanted, outbox.post)
    running.site.keep()
    ca, listeners = _listeners(asked, running)
    servers = Servers(list(listeners.values()))
    # What is built by now stays: looking through all of it again and again costs more than the work.
    gc.collect()
    gc.freeze()
    await servers.start()
    loops = [asyncio.create_task(loop()) for loop in (running.tick_forever, running.keep_forever, outbox.send_forever)]
    announce(_ready(running.site, ca, {name: listener.url for name, listener in listeners.items()}))
    ended = asyncio.create_task(over.wait())
    await asyncio.wait([ended, *loops], return_when=asyncio.FIRST_COMPLETED)
    await servers.stop()
    for task in (ended, *loops):
        task.cancel()
    for result in await asyncio.gather(*loops, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
    running.site.keep()
    kept.close()


def _listeners(asked: Serve, running: Running) -> tuple[Path | None, dict[str, Listener]]:
    """The gateway as ``url``, the side channel as ``truth``, and services by their names."""
    shown: Certificate | None = None
    ca: Path | None = None
    bound = bind(asked.host, asked.port)
    if not asked.plain:
        issued = issue(asked.state.with_name(f"{asked.state.name}.tls"), extra_names=(asked.host,))
        ca, shown = issued.ca, Certificate(issued.certificate, issued.key)
    key = secrets.token_urlsafe(KEY_BYTES)
    listeners = {
        "url": Listener(bound, App(running.answer_at_gateway, BODY), shown),
        "truth": Listener(bind(LOOPBACK, 0), App(Truth(running, key).answer, TRUTH_BODY), path=f"/{key}"),
    }
    if asked.services:
        for name, face in running.site.faces.items():
            app = App(partial(running.answer_at, name), face.body_limit)
            listeners[name] = Listener(bind(LOOPBACK, 0), app)
    return ca, listeners


def _ready(site: Site, ca: Path | None, urls: dict[str, str]) -> Ready:
    topology = site.machine.topology
    return Ready(
        topology.name,
        topology.about,
        sum(1 for _ in site.machine.parts("Node")),
        urls["url"],
        ca,
        users(site.world),
        [client for client in clients(site.world).values() if client.secret],
        {name: url for name, url in urls.items() if name in site.faces},
        urls["truth"],
    )
