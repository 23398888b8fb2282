"""SCSD's paths."""

from __future__ import annotations

from canton.emulator.faces.scsd.bios import Bios
from canton.emulator.faces.scsd.certificates import Certificates
from canton.emulator.faces.scsd.configuration import Configuration
from canton.emulator.faces.scsd.credentials import Credentials
from canton.emulator.faces.scsd.redfish import Redfish
from canton.emulator.faces.scsd.service import Service
from canton.emulator.wire.gorilla import Mux, settle
from canton.emulator.wire.routes import Face
from canton.emulator.world import World


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
