"""All of TAPMS: what the gateway leads to, and the webhooks, which only the API server reaches."""

from __future__ import annotations

from canton.emulator.faces.tapms.admission import Admission
from canton.emulator.faces.tapms.cluster_api import ClusterApi
from canton.emulator.faces.tapms.hooks import Hooks
from canton.emulator.faces.tapms.hsm import Hsm
from canton.emulator.faces.tapms.keycloak import Keycloak
from canton.emulator.faces.tapms.reconciling import Reconciling
from canton.emulator.faces.tapms.vault import Vault
from canton.emulator.faces.tapms.views import Views, no_route
from canton.emulator.furniture.keys import keycloak_admin_password, vault_root
from canton.emulator.wire.routes import Face
from canton.emulator.world import World


def open_face(world: World) -> Face:
    api, hsm = ClusterApi(world.mesh), Hsm(world.mesh)
    keycloak = Keycloak(world.mesh, keycloak_admin_password(world.dice))
    reconciling = Reconciling(world, api, hsm, keycloak, Vault(world.mesh, vault_root(world.dice)))
    admission = Admission(hsm, Hooks(world, api), reconciling.admitted)
    return Face(
        "tapms",
        [("/apis/tapms", "")],
        [*Views(api).routes(), *admission.routes()],
        not_found=no_route,
        wrong_method=lambda call, _: no_route(call),
    )
