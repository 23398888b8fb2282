"""FAS about itself."""

from __future__ import annotations

from canton.emulator.faces.fas.hsm import Hsm
from canton.emulator.faces.fas.replies import answer
from canton.emulator.wire.call import Call, Reply, text_reply
from canton.emulator.wire.routes import Route

VERSION = "1.42.0"


def routes(hsm: Hsm) -> list[Route]:
    def details(_: Call) -> Reply:
        connected = hsm.alive()
        told = {
            "serviceVersion": VERSION,
            "serviceStatus": "running",
            "hsmStatus": "connected" if connected else "not connected",
            "storageStatus": "connected",
        }
        return answer(told, 200 if connected else 500)

    return [
        Route("GET", "/service/version", lambda _: answer({"serviceVersion": VERSION})),
        Route("GET", "/service/status", lambda _: answer({"serviceStatus": "running"})),
        Route("GET", "/service/status/details", details),
    ]


def index(_: Call) -> Reply:
    return text_reply("hms-firmware-action")
