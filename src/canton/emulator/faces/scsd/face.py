"""SCSD's paths."""

from __future__ import annotations

from canton.emulator.faces.scsd.bios import Bios
from canton.emulator.faces.scsd.certificates import Certificates
from canton.emulator.faces.scsd.configuration import Configuration
from canton.emulator.faces.scsd.credentials import Credentials
from canton.emulator.faces.scsd.redfish import Redfish
from canton.emulator.faces.scsd.service import Service
from canton.emulator.wire.routes import Face
from canton.emulator.world import World


def open_face(world: World) -> Face:
    redfish, service = Redfish(world), Service(world.shelves)
    rooms = (
        service,
        Configuration(world, redfish),
        Credentials(world, redfish, service.vault_enabled),
        Certificates(world, redfish),
        Bios(world, redfish),
    )
    routes = [route for room in rooms for route in room.routes()]
    return Face("scsd", [("/apis/scsd", "")], routes, restarted=service.restarted)
