"""The objects that the cluster has on its first day."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.seed_data import secrets
from csm_emulator.seed_data.cluster_nodes import places
from csm_emulator.seed_data.repositories import FIRST_DAY
from csm_emulator.services.kubernetes.auth.identity import ACCOUNT, ACCOUNT_TOKEN, account_token
from csm_emulator.services.kubernetes.controllers.core_controllers import established_status
from csm_emulator.services.kubernetes.controllers.nodes import node_seed
from csm_emulator.services.kubernetes.kinds.crd_descriptions import descriptions
from csm_emulator.services.kubernetes.kinds.kinds import (
    CONFIG_MAPS,
    CRDS,
    NAMESPACES,
    NODES,
    SECRETS,
    SERVICE_ACCOUNTS,
    Kind,
)
from csm_emulator.services.kubernetes.seed_data.cron_jobs import cron_jobs
from csm_emulator.services.kubernetes.seed_data.product_catalog import catalog
from csm_emulator.services.kubernetes.seed_data.volumes import volumes
from csm_emulator.services.kubernetes.seed_data.workloads import workloads
from csm_emulator.services.kubernetes.storage.object_store import FIRST_VERSION
from csm_emulator.services.kubernetes.writes.defaults import with_defaults
from csm_emulator.state.clock import rfc3339

NAMESPACE_NAMES = (
    "argo",
    "ceph-rgw",
    "default",
    "hnc-system",
    "ims",
    "istio-system",
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "nexus",
    "operators",
    "services",
    "slurm-operator",
    "sma",
    "spire",
    "tapms-operator",
    "tenants",
    "user",
    "vault",
)
TOKEN_URL = "https://api-gw-service-nmn.local/keycloak/realms/shasta/protocol/openid-connect/token"  # noqa: S105
_ANSIBLE = """[defaults]
interpreter_python = auto_silent
timeout = 60
forks = 20
callback_plugins = /usr/share/ansible/plugins/callback
callbacks_enabled = cfs_aggregator, ara_default
stdout_callback = yaml
host_key_checking = False
gathering = smart
display_skipped_hosts = no

[ssh_connection]
retries = 3
pipelining = True
"""


def seeds(context: Context) -> Iterator[tuple[Kind, Json]]:
    for kind, value in _objects(context):
        yield kind, _first_day_object(context, kind, with_defaults(kind, value))


def _objects(context: Context) -> Iterator[tuple[Kind, Json]]:
    for name in NAMESPACE_NAMES:
        yield NAMESPACES, _namespace(name)
        yield SERVICE_ACCOUNTS, {"metadata": {"name": "default", "namespace": name}}
    for crd in descriptions():
        yield CRDS, {**crd, "status": established_status(crd, rfc3339(FIRST_DAY, 0))}
    for place in places(context.machine.topology):
        yield NODES, node_seed(context, place)
    yield from _secrets(context)
    yield CONFIG_MAPS, _config("services", "cray-product-catalog", catalog(context))
    yield CONFIG_MAPS, _config("services", "cfs-default-ansible-cfg", {"ansible.cfg": _ANSIBLE})
    yield from workloads(context)
    yield from cron_jobs()
    yield from volumes(context)


def _namespace(name: str) -> Json:
    labels = {"kubernetes.io/metadata.name": name}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def _config(namespace: str, name: str, data: dict[str, str]) -> Json:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def _secrets(context: Context) -> Iterator[tuple[Kind, Json]]:
    random = context.random
    admin = {"client-id": "admin-client", "client-secret": secrets.client_secret(random, "admin-client")}
    for namespace in ("default", "services"):
        yield SECRETS, _secret(namespace, "admin-client-auth", {**admin, "endpoint": TOKEN_URL})
    master = {"user": secrets.KEYCLOAK_ADMIN, "password": secrets.keycloak_admin_password(random)}
    yield SECRETS, _secret("services", "keycloak-master-admin-auth", {"client-id": "admin-cli", **master})
    vcs = {"vcs_username": secrets.VCS_USER, "vcs_password": secrets.vcs_password(random)}
    yield SECRETS, _secret("services", "vcs-user-credentials", vcs)
    # With which HPE's RPMs are verified; an IMS builder has the same (docs-csm, Validate Signed RPMs).
    key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
    yield SECRETS, _secret("services", "hpe-signing-key", {"gpg-pubkey": key})
    for client in ("system-slingshot-client", "wlm-client"):
        credentials = {
            "client-id": client,
            "client-secret": secrets.client_secret(random, client),
            "endpoint": TOKEN_URL,
        }
        yield SECRETS, _secret("services", f"{client}-auth", credentials)
    yield SECRETS, _secret("vault", "cray-vault-unseal-keys", {"vault-root": secrets.vault_root(random)})
    account = {ACCOUNT: "default"}
    token = _secret("services", "default-token", {"token": account_token(random, "services", "default")})
    yield SECRETS, {**token, "type": ACCOUNT_TOKEN, "metadata": {**token["metadata"], "annotations": account}}


def _secret(namespace: str, name: str, data: dict[str, str]) -> Json:
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": name, "namespace": namespace}, "type": "Opaque", "data": encoded}


def _first_day_object(context: Context, kind: Kind, value: Json) -> Json:
    meta = value["metadata"]
    standard = {
        "uid": context.random.uuid("kubernetes.seed", kind.storage_key, meta.get("namespace", ""), meta["name"]),
        "resourceVersion": str(FIRST_VERSION),
        "creationTimestamp": rfc3339(FIRST_DAY, 0),
        **({"generation": 1} if "spec" in value and kind not in (NAMESPACES, NODES) else {}),
    }
    return {"kind": kind.kind, "apiVersion": kind.api_version, **value, "metadata": {**meta, **standard}}
