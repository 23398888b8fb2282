"""The Deployments and StatefulSets of CSM, and their Services."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.controllers.replica_sets import REVISION
from csm_emulator.services.kubernetes.kinds.kinds import DEPLOYMENTS, SERVICES, STATEFUL_SETS, Kind
from csm_emulator.services.kubernetes.pods.view import DEFAULT_IMAGE

MOST_RIVER, MOST_MOUNTAIN = 2000, 750
"""Consoles that one pod of console-node serves."""
_TAGS = {
    "cray-bos": "2.45.1",
    "cray-bss": "1.33.0",
    "cray-capmc": "3.7.0",
    "cray-cfs-api": "1.28.0",
    "cray-cfs-batcher": "1.15.1",
    "cray-cfs-operator": "1.34.0",
    "cray-console-data": "2.4.0",
    "cray-console-operator": "1.15.0",
    "cray-fas": "1.34.0",
    "cray-hbtd": "1.22.0",
    "cray-hmnfd": "1.20.0",
    "cray-ims": "3.30.0",
    "cray-tftp": "1.9.1",
    "cray-power-control": "2.12.0",
    "cray-scsd": "1.21.0",
    "cray-sls": "2.9.0",
    "cray-smd": "2.38.0",
    "cray-sts": "0.10.0",
    "cray-vnid": "1.2.0",
    "gitea-vcs": "2.7.0",
}
_TWO_REPLICAS = frozenset({"cray-bos", "cray-bss", "cray-cfs-api", "cray-power-control", "cray-smd"})
_BOS_OPERATORS = (
    "actual-state-cleanup",
    "configuration",
    "discovery",
    "power-off-forceful",
    "power-off-graceful",
    "power-on",
    "session-cleanup",
    "session-completion",
    "session-setup",
    "status",
)
DATABASES = (
    ("services", "cray-console-data"),
    ("services", "cray-sls"),
    ("services", "cray-smd"),
    ("services", "gitea-vcs"),
    ("services", "keycloak"),
    ("spire", "spire"),
)
"""Postgres clusters, of three pods each."""
_OTHER_NAMESPACES = (
    ("hnc-system", "hnc-controller-manager", "manager", "1.1.0"),
    ("kube-system", "coredns", "coredns", "1.11.3"),
    ("slurm-operator", "slurm-operator", "slurm-operator", "2.1.2"),
    ("vault", "cray-vault-operator", "vault-operator", "1.22.0"),
)


def workloads(context: Context) -> Iterator[tuple[Kind, Json]]:
    for name, tag in _TAGS.items():
        yield DEPLOYMENTS, _deployment("services", name, name, tag, 2 if name in _TWO_REPLICAS else 1)
        yield SERVICES, _service(context, "services", name)
    for name in _BOS_OPERATORS:
        full_name = f"cray-bos-operator-{name}"
        yield DEPLOYMENTS, _deployment("services", full_name, full_name, _TAGS["cray-bos"], 1)
    for arch in ("aarch64", "x86-64"):
        yield DEPLOYMENTS, _deployment("services", f"cray-ipxe-{arch}", "cray-ipxe", "1.14.1", 1)
    yield SERVICES, _service(context, "services", "cray-tftp-hmn")
    yield DEPLOYMENTS, _tapms()
    for namespace, name, container, tag in _OTHER_NAMESPACES:
        yield DEPLOYMENTS, _deployment(namespace, name, container, tag, 1)
    sets = (
        ("services", "cray-console-node", "cray-console-node", "2.5.0", console_pods(context)),
        ("services", "cray-keycloak", "keycloak", "21.1.2", 1),
        ("services", "slingshot-fabric-manager", "slingshot-fabric-manager", "2.3.0", 1),
        ("vault", "cray-vault", "vault", "1.15.6", 3),
        *((namespace, f"{name}-postgres", "postgres", "spilo-14", 3) for namespace, name in DATABASES),
    )
    for namespace, name, container, tag, replicas in sets:
        full_name = _workload(namespace, name, container, tag, replicas)
        yield STATEFUL_SETS, {**full_name, "spec": {**full_name["spec"], "serviceName": name}}
        yield SERVICES, _service(context, namespace, name)


def console_pods(context: Context) -> int:
    """The number of console-node pods: as console-operator computes it, plus one spare."""
    nodes = list(context.machine.parts("Node"))
    river = sum(part.hardware_class == "River" for part in nodes)
    return max(ceil(river / MOST_RIVER), ceil((len(nodes) - river) / MOST_MOUNTAIN), 1) + 1


def _workload(namespace: str, name: str, container: str, tag: str, replicas: int) -> Json:
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/instance": name}
    image = f"{DEFAULT_IMAGE}{container}:{tag}"
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [{"name": container, "image": image, "imagePullPolicy": "IfNotPresent", "resources": {}}],
            "restartPolicy": "Always",
            "serviceAccountName": "default",
        },
    }
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def _deployment(namespace: str, name: str, container: str, tag: str, replicas: int) -> Json:
    workload = _workload(namespace, name, container, tag, replicas)
    return {**workload, "metadata": {**workload["metadata"], "annotations": {REVISION: "1"}}}


def _tapms() -> Json:
    """The Service of its webhook selects the pod by a label of its own."""
    deployment = _deployment("tapms-operator", "cray-tapms-operator", "cray-tapms-operator", "v1.9.1", 1)
    template = deployment["spec"]["template"]
    labels = {**template["metadata"]["labels"], "hpe-operator": "cray-tapms"}
    return {**deployment, "spec": {**deployment["spec"], "template": {**template, "metadata": {"labels": labels}}}}


def _service(context: Context, namespace: str, name: str) -> Json:
    number = int(context.random.hex(4, "service address", namespace, name), 16)
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": f"10.{16 + number % 8}.{number >> 8 & 0xFF}.{number & 0xFF}",
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
            "selector": {"app.kubernetes.io/name": name},
        },
        "status": {"loadBalancer": {}},
    }
