"""The checks of HPE's cmsdev: pods, claims, CronJobs and ConfigMaps are such that they pass.

Names and counts are those of cms-tools (cmsdev/internal/test).
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from csm_emulator.cluster.pods import Exec
from csm_emulator.services.kubernetes.containers.shell import ContainerShell
from services.kubernetes.api import PODS, Api

SERVICES = "/api/v1/namespaces/services"


def pods(api: Api, expression: str) -> list[Any]:
    """The pods that cmsdev selects: the expression may match anywhere in the name."""
    return [pod for pod in api.get(PODS)["items"] if re.search(expression, pod["metadata"]["name"])]


def names(pod_list: list[Any]) -> list[str]:
    return [pod["metadata"]["name"] for pod in pod_list]


def are_running(pod_list: list[Any]) -> bool:
    statuses = [one["state"] for pod in pod_list for one in pod["status"]["containerStatuses"]]
    return all(pod["status"]["phase"] == "Running" for pod in pod_list) and all("running" in one for one in statuses)


def is_bound(api: Api, claim: str) -> bool:
    return bool(api.get(f"{SERVICES}/persistentvolumeclaims/{claim}")["status"]["phase"] == "Bound")


@pytest.mark.parametrize(
    "claim",
    [
        "cray-console-operator-data-claim",
        "cray-console-node-agg-data-claim",
        "gitea-vcs-data-claim",
        "cray-ims-data-claim",
        "cray-tftp-shared-pvc",
    ],
)
def test_claims_are_bound(api: Api, claim: str) -> None:
    assert is_bound(api, claim)


def test_claims_as_kubectl_shows_them(api: Api) -> None:
    columns, rows = api.rows(f"{SERVICES}/persistentvolumeclaims")
    head = ["Name", "Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age"]
    assert columns[:8] == head
    (row,) = [row for row in rows if row[0] == "cray-ims-data-claim"]
    assert (row[1], row[3], row[4], row[5]) == ("Bound", "10Gi", "RWX", "ceph-cephfs-external")


@pytest.mark.parametrize(("prefix", "least"), [("gitea-vcs", 2), ("cray-console-data", 4)])
def test_a_service_with_a_database(api: Api, prefix: str, least: int) -> None:
    found_pods = pods(api, prefix)
    assert len(found_pods) >= least
    assert are_running(found_pods)
    databases = [name for name in names(found_pods) if re.fullmatch(f"{prefix}-postgres-[0-9]+", name)]
    assert 1 <= len(databases) <= 3
    assert all(is_bound(api, f"pgdata-{name}") for name in databases)
    assert len(found_pods) - len(databases) == 1, "one main pod"


def test_the_backup_of_vcs_is_scheduled(api: Api) -> None:
    assert "logical-backup-gitea-vcs-postgres" in api.names("/apis/batch/v1/namespaces/services/cronjobs")


@pytest.mark.parametrize(
    ("expression", "least", "most"),
    [
        ("cray-bos", 3, 99),
        ("^(cray-cfs-operator|cray-cfs-api)", 2, 99),
        ("cray-console-node", 2, 99),
        ("cray-console-operator", 1, 1),
        ("cray-ims", 1, 1),
        ("cray-tftp", 1, 99),
        ("cray-ipxe-aarch64-", 1, 1),
        ("cray-ipxe-x86-64-", 1, 1),
    ],
)
def test_pods_are_there_and_run(api: Api, expression: str, least: int, most: int) -> None:
    found_pods = pods(api, expression)
    assert least <= len(found_pods) <= most
    assert are_running(found_pods)


def test_later_in_the_day_everything_still_passes(api: Api) -> None:
    api.step(7 * 3600.0)
    for expression in ("gitea-vcs-", "cray-console-data", "cray-ims", "cray-ipxe"):
        main = [pod for pod in pods(api, expression) if "backup" not in pod["metadata"]["name"]]
        assert are_running(main)


def test_ipxe_is_configured_and_its_binaries_are_there(api: Api) -> None:
    settings = yaml.safe_load(api.get(f"{SERVICES}/configmaps/cray-ipxe-settings")["data"]["settings.yaml"])
    binaries = [settings[f"cray_ipxe{arch}_{kind}"] for arch in ("", "_aarch64") for kind in ("binary_name",)]
    assert all(binaries)
    (pod,) = [one for one in api.site.context.cluster.pods("services") if one.name.startswith("cray-ipxe-x86-64-")]
    out: list[bytes] = []

    async def read() -> bytes:
        return b""

    async def write(data: bytes) -> None:
        out.append(data)

    script = "[ -d /shared_tftp ] && find /shared_tftp  -maxdepth 0 -type d -empty"
    command = Exec(pod, "cray-ipxe", ["sh", "-c", script], False, read, write, write)
    assert (api.runner.run(ContainerShell(api.site.context).run(command)), out) == (0, [])


def test_the_template_of_ims_names_the_builder(api: Api) -> None:
    data = api.get(f"{SERVICES}/configmaps/cray-configmap-ims-v2-image-create-kiwi-ng")["data"]
    job = yaml.safe_load(data["image_job_create.yaml.template"])
    images = [one["image"] for one in job["spec"]["template"]["spec"]["initContainers"]]
    assert any("kiwi-ng" in image for image in images)


def test_secrets_and_services(api: Api) -> None:
    assert set(api.get(f"{SERVICES}/secrets/vcs-user-credentials")["data"]) >= {"vcs_username", "vcs_password"}
    assert api.get(f"{SERVICES}/secrets/hpe-signing-key")["data"]["gpg-pubkey"]
    assert {"cray-tftp", "cray-tftp-hmn"} <= set(api.names(f"{SERVICES}/services"))
