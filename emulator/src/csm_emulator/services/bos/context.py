"""What every part of BOS works with."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.context import World
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.services.bos.boot_images import Images
from csm_emulator.services.bos.clients import Neighbours
from csm_emulator.services.bos.components.auto_fields import AutoFields
from csm_emulator.services.bos.components.table import ComponentStore
from csm_emulator.services.bos.options import Options
from csm_emulator.services.bos.sessions.status import SessionStatus
from csm_emulator.services.bos.sessions.table import SessionStore
from csm_emulator.services.bos.sessions.templates import TemplateStore
from csm_emulator.services.bos.tenants import Tenants
from csm_emulator.transport.s3_client import S3


@dataclass(frozen=True, slots=True)
class Bos:
    world: World
    options: Options
    auto: AutoFields
    components: ComponentStore
    sessions: SessionStore
    session_status: SessionStatus
    templates: TemplateStore
    tenants: Tenants
    neighbours: Neighbours
    images: Images

    @property
    def now(self) -> float:
        return self.world.clock.now()


def open_bos(world: World) -> Bos:
    auto = AutoFields(world.clock, world.shelves)
    components = ComponentStore(world, auto)
    tenants = Tenants(world.mesh)
    return Bos(
        world,
        Options(world.shelves),
        auto,
        components,
        SessionStore(world.shelves),
        SessionStatus(world.clock, components, tenants),
        TemplateStore(world.shelves),
        tenants,
        Neighbours(world.mesh),
        Images(S3(world.mesh, s3_keys(world.dice))),
    )
