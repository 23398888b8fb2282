"""The stores, clients and options that all parts of BOS share."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.context import Context
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
from csm_emulator.transport.s3_client import S3Client


@dataclass(frozen=True, slots=True)
class Bos:
    context: Context
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
        return self.context.clock.now()


def open_bos(context: Context) -> Bos:
    auto = AutoFields(context.clock, context.tables)
    components = ComponentStore(context, auto)
    tenants = Tenants(context.mesh)
    return Bos(
        context,
        Options(context.tables),
        auto,
        components,
        SessionStore(context.tables),
        SessionStatus(context.clock, components, tenants),
        TemplateStore(context.tables),
        tenants,
        Neighbours(context.mesh),
        Images(S3Client(context.mesh, s3_keys(context.random))),
    )
