"""Volume claims and settings of services that store files, among them those that HPE's cmsdev checks."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import CLAIMS, CONFIG_MAPS, Kind
from csm_emulator.services.kubernetes.seed_data.workloads import DATABASES

_CLAIMS = (
    ("services", "cray-console-node-agg-data-claim", "100Gi", "ceph-cephfs-external", "ReadWriteMany"),
    ("services", "cray-console-operator-data-claim", "10Gi", "ceph-cephfs-external", "ReadWriteMany"),
    ("services", "cray-ims-data-claim", "10Gi", "ceph-cephfs-external", "ReadWriteMany"),
    ("services", "cray-tftp-shared-pvc", "1Gi", "ceph-cephfs-external", "ReadWriteMany"),
    ("services", "gitea-vcs-data-claim", "50Gi", "ceph-cephfs-external", "ReadWriteMany"),
)
_IPXE = {
    "cray_ipxe_build_x86": True,
    "cray_ipxe_binary_name": "ipxe.efi",
    "cray_ipxe_binary_name_active": "ipxe.efi",
    "cray_ipxe_debug_enabled": True,
    "cray_ipxe_debug_binary_name": "debug-ipxe.efi",
    "cray_ipxe_aarch64_enabled": True,
    "cray_ipxe_aarch64_binary_name": "ipxe.arm64.efi",
    "cray_ipxe_aarch64_debug_enabled": True,
    "cray_ipxe_aarch64_debug_binary_name": "debug-ipxe.arm64.efi",
}
BINARIES = tuple(value for value in _IPXE.values() if isinstance(value, str))
KIWI_NG = "artifactory.algol60.net/csm-docker/stable/cray-ims-kiwi-ng-opensuse-x86_64-builder:1.9.0"
_UTILS = "artifactory.algol60.net/csm-docker/stable/cray-ims-utils:2.17.0"


def volumes(context: Context) -> Iterator[tuple[Kind, Json]]:
    for namespace, name, size, kind, mode in _CLAIMS:
        yield CLAIMS, _claim(context, namespace, name, size, kind, mode)
    for namespace, database in DATABASES:
        for number in range(3):
            name = f"pgdata-{database}-postgres-{number}"
            yield CLAIMS, _claim(context, namespace, name, "100Gi", "sma-block-replicated", "ReadWriteOnce")
    yield CONFIG_MAPS, _settings("cray-ipxe-settings", {"settings.yaml": _yaml(_IPXE)})
    template = {"image_job_create.yaml.template": _yaml(_build_job())}
    yield CONFIG_MAPS, _settings("cray-configmap-ims-v2-image-create-kiwi-ng", template)


def _claim(context: Context, namespace: str, name: str, size: str, kind: str, mode: str) -> Json:
    capacity = {"storage": size}
    return {
        "metadata": {"name": name, "namespace": namespace, "finalizers": ["kubernetes.io/pvc-protection"]},
        "spec": {
            "accessModes": [mode],
            "resources": {"requests": capacity},
            "storageClassName": kind,
            "volumeMode": "Filesystem",
            "volumeName": f"pvc-{context.random.uuid('claim', namespace, name)}",
        },
        "status": {"phase": "Bound", "accessModes": [mode], "capacity": capacity},
    }


def _build_job() -> Json:
    """The template of the Jobs in which IMS builds images; IMS fills in ``$id`` and ``$namespace``."""
    first = [
        {"name": "fetch-recipe", "image": _UTILS, "imagePullPolicy": "IfNotPresent"},
        {"name": "build-ca-rpm", "image": _UTILS, "imagePullPolicy": "IfNotPresent"},
        {"name": "build-image", "image": KIWI_NG, "imagePullPolicy": "IfNotPresent"},
    ]
    spec = {"restartPolicy": "Never", "initContainers": first, "containers": [{"name": "sshd", "image": _UTILS}]}
    meta = {"name": "cray-ims-$id-create", "namespace": "$namespace"}
    template = {"metadata": {"labels": {"app": "ims-$id-create"}}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {"backoffLimit": 0, "template": template},
    }


def _settings(name: str, data: dict[str, str]) -> Json:
    return {"metadata": {"name": name, "namespace": "services"}, "data": data}


def _yaml(value: Json) -> str:
    return str(yaml.dump(value, Dumper=yaml.CSafeDumper, default_flow_style=False))
