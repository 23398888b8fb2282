"""Whether the service is well, and its name."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.services.pcs.problems import written
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import Route

_WELL = "connected, responsive"


class Service:
    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/liveness", _live),
            Route("GET", "/readiness", self._ready),
            Route("GET", "/health", self._health),
        )

    def _ready(self, _: Call) -> Reply:
        return Reply(204 if self._hsm.liveness().status < 500 else 503)

    def _health(self, _: Call) -> Reply:
        return written(
            {
                "KvStore": _WELL,
                "DistLocking": _WELL,
                "StateManager": _WELL if self._hsm.liveness().status < 500 else "connected, not responsive",
                "Vault": _WELL,
                "TaskRunner": f"{_WELL}, local mode",
            }
        )


def index(_: Call) -> Reply:
    return text_reply("hms-power-control")


def _live(_: Call) -> Reply:
    return Reply(204)
