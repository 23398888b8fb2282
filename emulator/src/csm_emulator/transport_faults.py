"""Faults of requests to services: errors, delays, lost and repeated responses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from difflib import get_close_matches

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.faults.faults import ALL_TARGETS, Fault, Faults, names_in
from csm_emulator.machine.faults.kinds import KINDS, SERVICES
from csm_emulator.transport.call import Call, ConnectionAborted, Reply, text_reply

KEYCLOAK = "keycloak"
"""The only service that issues tokens."""
# Envoy's response when the connection to the service fails.
CONNECTION_FAILURE = text_reply(
    "upstream connect error or disconnect/reset before headers. reset reason: connection failure", 503, "text/plain"
)

NO_UPSTREAM = text_reply("no healthy upstream", 503, "text/plain")
"""Envoy's response when the service has no running pod."""


@dataclass(frozen=True, slots=True)
class ReplyWithFaults:
    reply: Reply
    lost: bool = False
    """The request was carried out, and the connection is closed without a response."""
    delay: float = 0.0
    """Seconds of real time before the response is sent."""


class FaultInjection:
    def __init__(self, faults: Faults, services: Collection[str]) -> None:
        self._faults = faults
        self._services = services
        for kind, about in KINDS.items():
            if about.targets == SERVICES:
                faults.register(kind, self._check_targets)

    def _check_targets(self, fault: Fault) -> None:
        """Raises ``InvalidMachine`` for a service that does not exist."""
        services = (KEYCLOAK,) if fault.kind == "token-expiry" else sorted(self._services)
        for name in names_in(fault):
            if name not in services and name != ALL_TARGETS:
                near = get_close_matches(name, services, 1)
                hint = f'did you mean "{near[0]}"? Services:' if near else "services:"
                raise InvalidMachine(f"{fault.kind}: no service is called {name!r}; {hint} {', '.join(services)}")

    def apply(self, service: str, call: Call, handle: Callable[[Call], Reply]) -> ReplyWithFaults:
        if self._faults.present("service-restart", service):
            return ReplyWithFaults(NO_UPSTREAM if self._faults.absent(service) else CONNECTION_FAILURE)
        latency = self._strikes("latency", service, call)
        delay = float(latency.facts.get("seconds", 1.0)) if latency else 0.0
        server_error = self._strikes("server-error", service, call)
        if server_error:
            return ReplyWithFaults(_server_error(server_error), delay=delay)
        try:
            reply = handle(call)
            if self._strikes("doubled-response", service, call):
                reply = handle(call)
        except ConnectionAborted:
            return ReplyWithFaults(CONNECTION_FAILURE, lost=True, delay=delay)
        return ReplyWithFaults(reply, self._strikes("lost-response", service, call) is not None, delay)

    def _strikes(self, kind: str, service: str, call: Call) -> Fault | None:
        return self._faults.trigger(kind, service, when=lambda fault: _matches_call(fault, call))


def _matches_call(fault: Fault, call: Call) -> bool:
    """Whether ``method=`` and ``path=`` of the fault, where it has them, match the request."""
    method, path = fault.facts.get("method"), fault.facts.get("path")
    return (method is None or method == call.method) and (path is None or str(path) in call.path)


def _server_error(fault: Fault) -> Reply:
    status = int(fault.facts.get("status", 503))
    return CONNECTION_FAILURE if status == 503 else Reply(status)
