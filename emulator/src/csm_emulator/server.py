"""The emulator as a process: its listeners, its background loops, its shutdown."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import secrets
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from csm_emulator.context import PublicAddresses
from csm_emulator.control_api.api import ControlApi
from csm_emulator.machine_choice import MachineRequest
from csm_emulator.seed_data.secrets import VCS_USER, node_password, vcs_password
from csm_emulator.services.keycloak.realm.users import Client, User, clients, users
from csm_emulator.site import Site
from csm_emulator.site_runner import SiteRunner
from csm_emulator.state.file import StateFile
from csm_emulator.transport.admission import admit_all
from csm_emulator.transport.asgi import App
from csm_emulator.transport.certificates import IssuedFiles, issue, issue_client
from csm_emulator.transport.listeners import Certificate, Listener, Servers, bind
from csm_emulator.transport.webhooks import Webhooks

CONTROL_BODY_LIMIT = 1 << 20
LOOPBACK = "127.0.0.1"
KEY_BYTES = 12
KUBERNETES = "kubernetes"


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of one run of the emulator."""

    state: Path
    request: MachineRequest
    host: str = LOOPBACK
    port: int = 0
    plain: bool = False
    services: bool = False
    """Whether each service gets a listener of its own, too, without gateway and tokens."""


@dataclass(frozen=True, slots=True)
class ReadyInfo:
    """What a user needs to reach the machine and to log in."""

    machine: str
    about: str
    nodes: int
    url: str
    ca: Path | None
    users: list[User]
    clients: list[Client]
    """Clients of Keycloak that have a secret: services of the site that log in as themselves."""
    services: dict[str, str]
    control: str
    addresses: dict[str, str]
    """URLs of the services that are not behind the gateway: ``s3``, ``kubernetes``, ``vault``."""
    kubeconfig: Path
    vcs: tuple[str, str]
    """User and password for git."""
    node_password: str
    """The password of root at the nodes' consoles."""


async def serve(options: ServeOptions, announce: Callable[[ReadyInfo], None]) -> None:
    """Runs until SIGTERM or SIGINT; the state is written before it returns."""
    options = replace(options, state=options.state.absolute())
    stop_requested = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
    state_file = StateFile(options.state)
    outbox = Webhooks()
    public_addresses = PublicAddresses()
    running = SiteRunner(state_file, options.request, outbox.post, public_addresses)
    running.site.save()
    # First, so that an address in use is reported before any certificate is made.
    bound = bind(options.host, options.port)
    tls = options.state.with_name(f"{options.state.name}.tls")
    issued = issue(tls, extra_names=(options.host,))
    listeners = _listeners(options, running, issued, bound)
    _publish_addresses(
        public_addresses, issued, {name: listener.url for name, listener in listeners.items()}, running.site
    )
    servers = Servers(list(listeners.values()))
    # These objects live until the end: the garbage collector need not scan them again and again.
    gc.collect()
    gc.freeze()
    await servers.start()
    loops = [asyncio.create_task(loop()) for loop in (running.tick_forever, running.save_forever, outbox.send_forever)]
    announce(_ready(running.site, None if options.plain else issued.ca, public_addresses, listeners, tls))
    stopping = asyncio.create_task(stop_requested.wait())
    await asyncio.wait([stopping, *loops], return_when=asyncio.FIRST_COMPLETED)
    running.close()
    await servers.stop()
    for task in (stopping, *loops):
        task.cancel()
    for result in await asyncio.gather(*loops, return_exceptions=True):
        if isinstance(result, Exception):
            raise result
    running.site.save()
    state_file.close()


def _listeners(
    options: ServeOptions, running: SiteRunner, issued: IssuedFiles, bound: socket.socket
) -> dict[str, Listener]:
    """By name: the gateway is ``url``, the control API ``control``, services have their own names."""
    certificate = None if options.plain else Certificate(issued.certificate, issued.key)
    key = secrets.token_urlsafe(KEY_BYTES)
    listeners = {
        "url": Listener(bound, App(running.admit_at_gateway), certificate),
        "control": Listener(
            bind(LOOPBACK, 0), App(admit_all(CONTROL_BODY_LIMIT, ControlApi(running, key).answer)), path=f"/{key}"
        ),
    }
    outside = [name for name, service in sorted(running.site.services.items()) if service.has_own_listener]
    for name, service in running.site.services.items():
        app = App(admit_all(service.body_limit, partial(running.answer_at, name), service.too_large))
        if service.has_own_listener:
            # Fixed ports after the gateway's, the same after a restart.
            port = options.port + 1 + outside.index(name) if options.port else 0
            listeners[name] = Listener(bind(options.host, port), app, _external_certificate(name, certificate, issued))
        elif options.services:
            listeners[name] = Listener(bind(LOOPBACK, 0), app)
    return listeners


def _external_certificate(name: str, certificate: Certificate | None, issued: IssuedFiles) -> Certificate | None:
    """The certificate of a service's listener. Kubernetes always has TLS: it identifies clients by certificate."""
    return Certificate(issued.certificate, issued.key, issued.ca) if name == KUBERNETES else certificate


def _publish_addresses(
    public_addresses: PublicAddresses, issued: IssuedFiles, urls: dict[str, str], site: Site
) -> None:
    outside = {name: urls[name] for name, service in site.services.items() if service.has_own_listener}
    public_addresses.addresses.update({"gateway": urls["url"], **outside})
    administrator = issue_client(issued.ca.parent, "kubernetes-admin", "system:masters")
    public_addresses.kubernetes_ca = issued.ca.read_text()
    public_addresses.kubernetes_certificate, public_addresses.kubernetes_key = (
        administrator.certificate,
        administrator.key,
    )


def _write_kubeconfig(public_addresses: PublicAddresses, path: Path) -> Path:
    def data(pem: str) -> str:
        return base64.b64encode(pem.encode()).decode()

    user = {
        "client-certificate-data": data(public_addresses.kubernetes_certificate),
        "client-key-data": data(public_addresses.kubernetes_key),
    }
    server = {
        "server": public_addresses.addresses.get(KUBERNETES, ""),
        "certificate-authority-data": data(public_addresses.kubernetes_ca),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "csm", "cluster": server}],
        "users": [{"name": "kubernetes-admin", "user": user}],
        "contexts": [{"name": "csm", "context": {"cluster": "csm", "user": "kubernetes-admin"}}],
        "current-context": "csm",
    }
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(config, file, indent=1)
    return path


def _ready(
    site: Site, ca: Path | None, public_addresses: PublicAddresses, listeners: dict[str, Listener], tls: Path
) -> ReadyInfo:
    topology = site.machine.topology
    inside = {name: listener.url for name, listener in listeners.items() if name in site.services}
    return ReadyInfo(
        topology.name,
        topology.about,
        sum(1 for _ in site.machine.parts("Node")),
        listeners["url"].url,
        ca,
        users(site.context),
        [client for client in clients(site.context).values() if client.secret],
        {name: url for name, url in inside.items() if not site.services[name].has_own_listener},
        listeners["control"].url,
        {name: url for name, url in inside.items() if site.services[name].has_own_listener},
        _write_kubeconfig(public_addresses, tls / "kubeconfig"),
        (VCS_USER, vcs_password(site.random)),
        node_password(site.random),
    )
