"""The routes of the Fabric Manager."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from csm_emulator.context import Context
from csm_emulator.machine.fabric.ports import PortData, PortState
from csm_emulator.services.fabric_manager.collectives import Collectives
from csm_emulator.services.fabric_manager.documents import RequestRejected, error_reply, not_found
from csm_emulator.services.fabric_manager.policies import Policies
from csm_emulator.services.fabric_manager.ports import Ports
from csm_emulator.services.fabric_manager.switch_sync import SERVICE
from csm_emulator.services.fabric_manager.switches import Switches
from csm_emulator.services.fabric_manager.tables import DocumentStore
from csm_emulator.services.fabric_manager.vlans import Vlans
from csm_emulator.services.fabric_manager.vnis.blocks import Blocks
from csm_emulator.services.fabric_manager.vnis.enforcement import Enforcement
from csm_emulator.services.fabric_manager.vnis.partitions import Partitions
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Handler, Router, catching

_SLASHES = re.compile("/{2,}")


def create_service(context: Context) -> EmulatedService:
    fabric = context.machine.fabric
    store = DocumentStore(context)
    ports = Ports(context, store)
    enforcement = Enforcement(context, store, ports.switch_sync)
    blocks = Blocks(store, enforcement)
    parts = (
        Switches(context, store.envelope),
        ports,
        Policies(store, ports),
        Vlans(store),
        Partitions(store, fabric.plan),
        blocks,
        enforcement,
        Collectives(store),
    )

    def intended_state(port: str) -> PortData | None:
        place = fabric.plan.ports.get(port)
        if place is None:
            return None
        vnis = blocks.intended(place.dfa) if place.edge else None
        return PortState(**ports.target_state(place), vnis=vnis).data()

    fabric.intended_state = intended_state
    routes = [route.through(_with_error_replies) for room in parts for route in room.routes()]
    service = EmulatedService(SERVICE, [("/apis/fabric-manager", "")], routes, _not_found, _wrong_method)
    return replace(service, not_found=_merging_slashes(service))


def _merging_slashes(service: EmulatedService) -> Handler:
    """A handler of unknown paths that takes repeated slashes as one; other unknown paths are not found.

    SAT joins ``/apis/fabric-manager/`` and the link of a document, which begins with a slash of its own. The gateway
    leaves both (Istio normalizes paths as BASE, which CSM does not change), so the Fabric Manager must accept them.
    """
    router = Router(service.routes)

    def answer(call: Call) -> Reply:
        path = _SLASHES.sub("/", call.path)
        return service.not_found(call) if path == call.path else router.answer(replace(call, path=path), service)

    return answer


def _not_found(call: Call) -> Reply:
    return error_reply(not_found(call.path))


def _with_error_replies(handler: Handler) -> Handler:
    return catching(handler, RequestRejected, lambda _, refusal: error_reply(refusal))


def _wrong_method(call: Call, _: Sequence[str]) -> Reply:
    return error_reply(RequestRejected(405, f"Action not supported: {call.method}"))
