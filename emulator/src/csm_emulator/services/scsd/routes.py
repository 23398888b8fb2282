"""The routes of SCSD."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.gorilla_mux import Mux, settle
from csm_emulator.services.scsd.bios import Bios
from csm_emulator.services.scsd.certificates import Certificates
from csm_emulator.services.scsd.configuration import Configuration
from csm_emulator.services.scsd.credentials import Credentials
from csm_emulator.services.scsd.health import Service
from csm_emulator.services.scsd.redfish import Redfish
from csm_emulator.transport.routes import EmulatedService


def create_service(context: Context) -> EmulatedService:
    redfish, service = Redfish(context), Service(context.tables)
    # In SCSD's own order: whether a wrong method is 404 or 405 depends on it.
    parts = (
        service,
        Configuration(context, redfish),
        Credentials(context, redfish, service.vault_enabled),
        Certificates(context, redfish),
        Bios(context, redfish),
    )
    routes = [*(route for room in parts for route in room.routes()), *service.health_routes()]
    mux = Mux(routes)
    return EmulatedService(
        "scsd", [("/apis/scsd", "")], settle(routes), mux.not_found, mux.wrong_method, restarted=service.restarted
    )
