"""The routes of TAPMS: the REST API, and the webhooks, which only Kubernetes can reach."""

from __future__ import annotations

from csm_emulator.clients.hsm import HsmClient
from csm_emulator.context import Context
from csm_emulator.seed_data.secrets import keycloak_admin_password, vault_root
from csm_emulator.services.tapms.admission import Admission
from csm_emulator.services.tapms.api import TenantViews, no_route
from csm_emulator.services.tapms.hsm_groups import HsmGroups
from csm_emulator.services.tapms.keycloak_client import KeycloakClient
from csm_emulator.services.tapms.kubernetes_client import KubernetesClient
from csm_emulator.services.tapms.operator import TenantOperator
from csm_emulator.services.tapms.vault_client import VaultClient
from csm_emulator.services.tapms.webhooks import TenantHooks
from csm_emulator.transport.routes import EmulatedService


def create_service(context: Context) -> EmulatedService:
    api, hsm = KubernetesClient(context.mesh), HsmGroups(HsmClient(context.mesh))
    keycloak = KeycloakClient(context.mesh, keycloak_admin_password(context.random))
    reconciling = TenantOperator(context, api, hsm, keycloak, VaultClient(context.mesh, vault_root(context.random)))
    admission = Admission(hsm, TenantHooks(context, api), reconciling.admitted)
    return EmulatedService(
        "tapms",
        [("/apis/tapms", "")],
        [*TenantViews(api).routes(), *admission.routes()],
        not_found=no_route,
        wrong_method=lambda call, _: no_route(call),
    )
