"""The Deployment or StatefulSet of each service: without a running pod of it, the service is unavailable."""

from __future__ import annotations

from collections.abc import Mapping

WORKLOADS: Mapping[str, tuple[str, str]] = {
    "bos": ("services", "cray-bos"),
    "bss": ("services", "cray-bss"),
    "capmc": ("services", "cray-capmc"),
    "cfs": ("services", "cray-cfs-api"),
    "console-operator": ("services", "cray-console-operator"),
    "fabric-manager": ("services", "slingshot-fabric-manager"),
    "fas": ("services", "cray-fas"),
    "hbtd": ("services", "cray-hbtd"),
    "hmnfd": ("services", "cray-hmnfd"),
    "ims": ("services", "cray-ims"),
    "keycloak": ("services", "cray-keycloak"),
    "pcs": ("services", "cray-power-control"),
    "scsd": ("services", "cray-scsd"),
    "sls": ("services", "cray-sls"),
    "smd": ("services", "cray-smd"),
    "sts": ("services", "cray-sts"),
    "tapms": ("tapms-operator", "cray-tapms-operator"),
    "vault": ("vault", "cray-vault"),
    "vcs": ("services", "gitea-vcs"),
    "vnid": ("services", "cray-vnid"),
}
"""Service → namespace and name. The API of Kubernetes and S3 are not workloads of the cluster."""
CFS_OPERATOR = ("services", "cray-cfs-operator")
CFS_BATCHER = ("services", "cray-cfs-batcher")
TAPMS_OPERATOR = WORKLOADS["tapms"]
CONSOLE_DATA = ("services", "cray-console-data")
TFTP = ("services", "cray-tftp")


def bos_operator(name: str) -> tuple[str, str]:
    return "services", f"cray-bos-operator-{name}"
