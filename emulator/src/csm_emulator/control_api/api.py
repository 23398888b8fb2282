"""The control API: the real state, faults, the clock, save and load; for tests and for the commands of `csm-emulator`.

It has a loopback listener of its own, with a key in its URL that other users of the computer do not know. No service
answers from it, and Canton's product must not use it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from hmac import compare_digest
from pathlib import Path

from csm_emulator.context import Context
from csm_emulator.control_api import console_views
from csm_emulator.control_api.fabric_probe import describe_ports, probe
from csm_emulator.errors import EmulatorError, InvalidInput, InvalidMachine, NotFound
from csm_emulator.machine.faults.faults import Fault
from csm_emulator.machine.faults.kinds import KINDS
from csm_emulator.records import Json, Record
from csm_emulator.site_runner import SiteRunner
from csm_emulator.state.clock import FASTEST, rfc3339
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.listeners import is_loopback

PAGE = 10_000
LONGEST_STEP = 366 * 86400

Handler = Callable[[Call], Awaitable[Reply]]


class ControlApi:
    def __init__(self, running: SiteRunner, key: str) -> None:
        self._running = running
        self._key = key
        self._routes: dict[tuple[str, str], Handler] = {
            ("GET", "/status"): self._status,
            ("GET", "/log"): self._log,
            ("GET", "/parts"): self._parts,
            ("GET", "/fabric/ports"): self._fabric_ports,
            ("POST", "/fabric/probe"): self._probe,
            ("GET", "/console"): partial(self._look, console_views.console),
            ("GET", "/pods"): partial(self._look, console_views.pods),
            ("GET", "/pods/log"): partial(self._look, console_views.pod_log),
            ("GET", "/faults"): self._faults,
            ("POST", "/faults"): self._set_fault,
            ("DELETE", "/faults"): self._clear_faults,
            ("GET", "/clock"): self._clock,
            ("PATCH", "/clock"): self._set_speed,
            ("POST", "/clock/step"): self._step,
            ("POST", "/save"): self._save,
            ("POST", "/load"): self._load,
        }

    async def answer(self, call: Call) -> Reply:
        if not _is_local_request(call):
            return _problem(InvalidInput("the control API answers programs on this computer only"), 403)
        key, _, path = call.path[1:].partition("/")
        if not compare_digest(key.encode(), self._key.encode()):
            return _problem(NotFound("not found: use the whole URL of the control API that `csm-emulator` printed"))
        call = replace(call, path=f"/{path}")
        handler = self._routes.get((call.method, call.path))
        if handler is None and call.path.startswith("/faults/") and call.method == "DELETE":
            handler = self._clear_fault
        if handler is None and call.path.startswith("/keycloak/") and call.method == "POST":
            handler = self._keycloak
        if handler is None:
            return _problem(NotFound(f"the control API has no {call.method} {call.path}; it has {self._paths()}"))
        self._running.site.catch_up()
        try:
            return await handler(call)
        except EmulatorError as error:
            return _problem(error)

    def _paths(self) -> str:
        return ", ".join(f"{method} {path}" for method, path in self._routes)

    async def _status(self, _: Call) -> Reply:
        site = self._running.site
        nodes = [part.xname for part in site.machine.parts("Node")]
        return json_reply(
            {
                "machine": site.machine.topology.name,
                "about": site.machine.topology.about,
                "clock": self._time(),
                "nodes": len(nodes),
                "stages": dict(Counter(site.machine.boot.stage(node) for node in nodes)),
                "faults": [asdict(fault) for fault in site.faults],
                "services": sorted(site.services),
                "log": site.log.last,
                "state": str(site.state_file.path),
            }
        )

    async def _log(self, call: Call) -> Reply:
        log = self._running.site.log
        after, limit = _whole_number(call, "after", 0), min(_whole_number(call, "limit", 1000), PAGE)
        return json_reply({"entries": log.after(after, limit), "last": log.last})

    async def _parts(self, call: Call) -> Reply:
        """The real state of the parts ``?xname=``, or of all parts of the types ``?type=``."""
        machine = self._running.site.machine
        names = call.all("xname") or [part.xname for part in machine.parts(*call.all("type"))]
        descriptions = {name: machine.describe(name) for name in names}
        unknown = [name for name, description in descriptions.items() if description is None]
        if unknown:
            raise NotFound(f"this machine has no part {unknown[0]}")
        return json_reply({"parts": [descriptions[name] for name in names]})

    async def _look(self, view: Callable[[Context, Call], Json], call: Call) -> Reply:
        return json_reply(view(self._running.site.context, call))

    async def _fabric_ports(self, call: Call) -> Reply:
        """Switch ports: of ``?port=``, or all; with ``?differs=true`` those that differ from the documents."""
        ports = describe_ports(self._running.site.machine, call.all("port"), differs=call.first("differs") == "true")
        return json_reply({"ports": ports})

    async def _probe(self, call: Call) -> Reply:
        """Which NICs reach each other over the high-speed network."""
        return json_reply(probe(self._running.site.machine, _object(call)))

    async def _faults(self, _: Call) -> Reply:
        kinds = {name: kind.about for name, kind in KINDS.items()}
        return json_reply({"faults": [asdict(fault) for fault in self._running.site.faults], "kinds": kinds})

    async def _set_fault(self, call: Call) -> Reply:
        site = self._running.site
        body = _object(call)
        unknown = set(body) - {"kind", "targets", "probability", "remaining", "facts"}
        if unknown:
            raise InvalidMachine(
                f"a fault has no field {sorted(unknown)[0]}; it has kind, targets, probability, remaining, facts"
            )
        fault = site.set_fault(_fault(site.faults.new_id(), body))
        self._running.wake()
        return json_reply(asdict(fault), 201)

    async def _clear_fault(self, call: Call) -> Reply:
        return json_reply(asdict(self._running.site.clear_fault(call.path.removeprefix("/faults/"))))

    async def _clear_faults(self, _: Call) -> Reply:
        site = self._running.site
        return json_reply({"faults": [asdict(site.clear_fault(fault.id)) for fault in list(site.faults)]})

    async def _keycloak(self, call: Call) -> Reply:
        """Switches of Keycloak: ``rotate`` and ``drop`` signing keys, change ``settings``, ``mint`` any token."""
        switch = call.path.removeprefix("/keycloak/")
        reply = self._running.site.ask("keycloak", Call("POST", f"/control/{switch}", body=call.body))
        self._running.gateway.tokens.forget()
        return reply

    def _time(self) -> Record:
        clock = self._running.site.clock
        return {"now": rfc3339(clock.now()), "moment": clock.now(), "speed": clock.speed}

    async def _clock(self, _: Call) -> Reply:
        return json_reply(self._time())

    async def _set_speed(self, call: Call) -> Reply:
        speed = _number_between(_object(call), "speed", 0, FASTEST)
        self._running.site.clock.set_speed(speed)
        self._running.wake()
        return json_reply(self._time())

    async def _step(self, call: Call) -> Reply:
        await self._running.step(_number_between(_object(call), "seconds", 0, LONGEST_STEP))
        return json_reply(self._time())

    async def _save(self, call: Call) -> Reply:
        path = _path(_object(call))
        self._running.site.save()
        self._running.site.state_file.copy_to(path)
        return json_reply({"path": str(path)})

    async def _load(self, call: Call) -> Reply:
        path = _path(_object(call))
        self._running.load(path)
        return json_reply({"path": str(path), "clock": self._time()})


def _is_local_request(call: Call) -> bool:
    """Whether no web page sent it: neither across origins nor through a DNS name that resolves to loopback."""
    host = call.headers.get("host", "").rsplit(":", 1)[0].strip("[]")
    return "origin" not in call.headers and is_loopback(host)


def _problem(error: EmulatorError, status: int | None = None) -> Reply:
    status_code = status or error.status
    return json_reply(
        {"title": error.code, "status": status_code, "detail": error.message},
        status_code,
        media="application/problem+json",
    )


def _object(call: Call) -> dict[str, Json]:
    try:
        body = json.loads(call.body)
    except (ValueError, RecursionError) as error:
        raise InvalidMachine(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise InvalidMachine("the body must be a JSON object")
    return body


def _whole_number(call: Call, name: str, default: int) -> int:
    text = call.first(name, str(default))
    if not text.isdecimal() or len(text) > 18:
        raise InvalidMachine(f"{name} must be a whole number, not {text!r}")
    return int(text)


def _number_between(body: dict[str, Json], name: str, least: float, most: float) -> float:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidMachine(f"{name} must be a number, not {value!r}")
    if not least <= value <= most:
        raise InvalidMachine(f"{name} must be from {least:.0f} to {most:.0f}, not {value!r}")
    return float(value)


def _path(body: dict[str, Json]) -> Path:
    value = body.get("path")
    if not isinstance(value, str) or not value or "\0" in value:
        raise InvalidMachine(f"path must name a file, not {value!r}")
    return Path(value)


def _fault(fault_id: str, body: dict[str, Json]) -> Fault:
    kind, targets, facts = body.get("kind"), body.get("targets", "*"), body.get("facts", {})
    if not isinstance(kind, str) or not isinstance(targets, str) or not isinstance(facts, dict):
        raise InvalidMachine("kind and targets must be strings, facts must be an object")
    probability = _number_between(body, "probability", 0, 1) if "probability" in body else 1.0
    remaining = body.get("remaining")
    if remaining is not None and (isinstance(remaining, bool) or not isinstance(remaining, int)):
        raise InvalidMachine(f"remaining must be a whole number, not {remaining!r}")
    return Fault(fault_id, kind, targets, probability, remaining, facts)
