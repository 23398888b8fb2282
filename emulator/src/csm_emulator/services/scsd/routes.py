"""SCSD's paths."""

from __future__ import annotations

from csm_emulator.context import World
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.services.scsd.bios import Bios
from csm_emulator.services.scsd.certificates import Certificates
from csm_emulator.services.scsd.configuration import Configuration
from csm_emulator.services.scsd.credentials import Credentials
from csm_emulator.services.scsd.health import Service
from csm_emulator.services.scsd.redfish import Redfish
from csm_emulator.transport.routes import Face


def open_face(world: World) -> Face:
    redfish, service = Redfish(world), Service(world.shelves)
    # In SCSD's own order: whether a wrong method is 404 or 405 depends on it.
    rooms = (
        service,
        Configuration(world, redfish),
        Credentials(world, redfish, service.vault_enabled),
        Certificates(world, redfish),
        Bios(world, redfish),
    )
    routes = [*(route for room in rooms for route in room.routes()), *service.health_routes()]
    mux = Mux(routes)
    return Face(
        "scsd", [("/apis/scsd", "")], settle(routes), mux.not_found, mux.wrong_method, restarted=service.restarted
    )
