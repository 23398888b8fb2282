"""All of TAPMS: what the gateway leads to, and the webhooks, which only the API server reaches."""

from __future__ import annotations

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.seed_data.secrets import keycloak_admin_password, vault_root
from csm_emulator.services.tapms.admission import Admission
from csm_emulator.services.tapms.api import Views, no_route
from csm_emulator.services.tapms.hsm_groups import HsmGroups
from csm_emulator.services.tapms.keycloak_client import Keycloak
from csm_emulator.services.tapms.kubernetes_client import ClusterApi
from csm_emulator.services.tapms.operator import Reconciling
from csm_emulator.services.tapms.vault_client import Vault
from csm_emulator.services.tapms.webhooks import Hooks
from csm_emulator.transport.routes import EmulatedService


def create_service(context: Context) -> EmulatedService:
    api, hsm = ClusterApi(context.mesh), HsmGroups(HsmClient(context.mesh))
    keycloak = Keycloak(context.mesh, keycloak_admin_password(context.random))
    reconciling = Reconciling(context, api, hsm, keycloak, Vault(context.mesh, vault_root(context.random)))
    admission = Admission(hsm, Hooks(context, api), reconciling.admitted)
    return EmulatedService(
        "tapms",
        [("/apis/tapms", "")],
        [*Views(api).routes(), *admission.routes()],
        not_found=no_route,
        wrong_method=lambda call, _: no_route(call),
    )
