"""``/liveness``, ``/readiness``, ``/health``, and ``/``, which answers with the name of the service."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.services.pcs.problems import marshalled
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import Route

_HEALTHY = "connected, responsive"


class Health:
    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/liveness", _live),
            Route("GET", "/readiness", self._ready),
            Route("GET", "/health", self._health),
        )

    def _ready(self, _: Call) -> Reply:
        return Reply(204 if self._hsm_is_alive() else 503)

    def _hsm_is_alive(self) -> bool:
        return self._hsm.liveness().status < 500

    def _health(self, _: Call) -> Reply:
        return marshalled(
            {
                "KvStore": _HEALTHY,
                "DistLocking": _HEALTHY,
                "StateManager": _HEALTHY if self._hsm_is_alive() else "connected, not responsive",
                "Vault": _HEALTHY,
                "TaskRunner": f"{_HEALTHY}, local mode",
            }
        )


def index(_: Call) -> Reply:
    return text_reply("hms-power-control")


def _live(_: Call) -> Reply:
    return Reply(204)
