"""What every part of BOS works with."""

from __future__ import annotations

from dataclasses import dataclass

from canton.emulator.faces.bos.auto_fields import AutoFields
from canton.emulator.faces.bos.component_store import ComponentStore
from canton.emulator.faces.bos.images import Images
from canton.emulator.faces.bos.neighbours import Neighbours
from canton.emulator.faces.bos.options import Options
from canton.emulator.faces.bos.session_status import SessionStatus
from canton.emulator.faces.bos.session_store import SessionStore
from canton.emulator.faces.bos.templates import TemplateStore
from canton.emulator.faces.bos.tenants import Tenants
from canton.emulator.furniture.keys import s3_keys
from canton.emulator.wire.s3_client import S3
from canton.emulator.world import World


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
