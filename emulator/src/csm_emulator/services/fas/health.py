"""``/service``: version and status of FAS."""

from __future__ import annotations

from csm_emulator.services.fas.controllers import Controllers
from csm_emulator.services.fas.responses import answer
from csm_emulator.transport.call import Call, Reply, text_reply
from csm_emulator.transport.routes import Route

VERSION = "1.42.0"


def routes(controllers: Controllers) -> list[Route]:
    def details(_: Call) -> Reply:
        connected = controllers.hsm_is_alive()
        body = {
            "serviceVersion": VERSION,
            "serviceStatus": "running",
            "hsmStatus": "connected" if connected else "not connected",
            "storageStatus": "connected",
        }
        return answer(body, 200 if connected else 500)

    return [
        Route("GET", "/service/version", lambda _: answer({"serviceVersion": VERSION})),
        Route("GET", "/service/status", lambda _: answer({"serviceStatus": "running"})),
        Route("GET", "/service/status/details", details),
    ]


def index(_: Call) -> Reply:
    return text_reply("hms-firmware-action")
