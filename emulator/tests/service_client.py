"""The services as a client sees them, without a network, and the requests that they send to others."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.external_servers import ExternalRequest, NoExternalServers

MOMENT = 1_800_000_000.0
BMC, BMC_TOO, SERVER = "x1000c0s0b0", "x1000c0s0b1", "x3000c0s1b0"
GARBAGE = (
    b"",
    b"null",
    b"[]",
    b"0",
    b'"text"',
    b"{",
    b"{]",
    b"\xff\xfe\x00",
    b"nonsense",
    b"[" * 100_000,
    b'{"a":' * 5_000,
    b'{"name":"\\ud800","Name":null}',
)
load = cache(topologies.load)
"""Topologies are immutable, and to load one takes a fifth of the time that it takes to open a machine."""


class Service:
    """A service; paths are those below ``base``, quoted as in a URL."""

    def __init__(self, site: Site, name: str, base: str) -> None:
        self.site = site
        self._name = name
        self._base = base

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        """A body of bytes is sent as it is; any other is encoded as JSON."""
        target = self._base + path
        path, _, query = target.partition("?")
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        pairs = tuple(parse_qsl(query, keep_blank_values=True))
        return self.site.ask(self._name, Call(method, unquote(path), pairs, headers or {}, data, target=target))

    def get(self, path: str) -> Any:
        reply = self.ask("GET", path)
        assert reply.status == 200, reply.body
        return reply.json()

    def refusal(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Status and detail of the problem."""
        reply = self.ask(method, path, body)
        assert reply.media == "application/problem+json", reply
        return reply.status, reply.json().get("detail", "")

    def step(self, seconds: float) -> None:
        self.site.step(seconds)

    def break_(self, kind: str, targets: str, **facts: Any) -> str:
        return self.site.set_fault(Fault(self.site.faults.new_id(), kind, targets, facts=facts)).id

    def orders(self, xname: str) -> list[str]:
        """The ResetTypes of the orders that the controller of the part received."""
        entries = self.site.log.after(0, 10_000)
        return [entry["action"] for entry in entries if entry["what"] == "power-order" and entry["target"] == xname]

    def hsm(self, method: str, path: str, body: Any = None) -> Reply:
        return self.site.mesh.ask("smd", method, f"/hsm/v2{path}", {} if body is None else body)

    def component(self, xname: str) -> tuple[str, str]:
        record = self.hsm("GET", f"/State/Components/{xname}").json()
        return record["State"], record["Flag"]


class Spy:
    """Records the requests between services; ``instead`` has the reply for a service that is not to be asked."""

    def __init__(self, site: Site) -> None:
        self.calls: list[tuple[str, str, str, Any]] = []
        self.instead: dict[str, Reply] = {}
        self._site = site
        site.mesh._ask = self._ask

    def _ask(self, service: str, call: Call) -> Reply:
        # TAPMS declares its JSON as a form; Keycloak gets real forms.
        body_json = call.body.decode() if service == "keycloak" else json.loads(call.body) if call.body else None
        self.calls.append((service, call.method, call.path, body_json))
        return self.instead[service] if service in self.instead else self._site.ask(service, call)

    def bodies(self, path: str) -> list[Any]:
        return [body for _, _, called, body in self.calls if called == path]


def open_site(path: Path, name: str = "tiny", outgoing: list[tuple[str, Any]] | None = None) -> Site:
    """A site on a state file, so that it can be opened again; ``outgoing`` collects the requests to servers outside."""
    posted = outgoing if outgoing is not None else []
    start = StartOptions(load(name), seed=1, speed=0.0, moment=MOMENT)
    return Site(
        start, StateFile(path), lambda url, body: posted.append((url, body)), external_servers=_Agreeing(posted)
    )


class _Agreeing(NoExternalServers):
    def __init__(self, outgoing: list[tuple[str, Any]]) -> None:
        self._sent = outgoing

    def answer_to(self, question: ExternalRequest) -> Reply:
        self._sent.append((question.url, json.loads(question.body)))
        return super().answer_to(question)


def reopen(site: Site, outgoing: list[tuple[str, Any]] | None = None) -> Site:
    """The site after a restart, without the changes that were not stored."""
    site.save()
    site.state_file.close()
    return open_site(site.state_file.path, site.machine.topology.name, outgoing)
