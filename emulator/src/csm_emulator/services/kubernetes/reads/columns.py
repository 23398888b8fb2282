"""The columns of ``kubectl get`` for built-in kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Column
from csm_emulator.services.kubernetes.reads import cells

Cells = Callable[[Json, float], list[Json]]
"""(object, now) → the cells of its row."""
NAME, AGE = Column("Name", format="name"), Column("Age")


def wide(name: str) -> Column:
    return Column(name, priority=1)


def _columns(*names: str, wide_names: Iterable[str] = ()) -> tuple[Column, ...]:
    numbers = ("Active", "Restarts", "Data", "Up-to-date", "Available", "Desired", "Current", "Secrets")
    standard = {"Name": NAME, "Age": AGE}
    columns = [standard.get(name, Column(name, "integer" if name in numbers else "string")) for name in names]
    return (*columns, *(wide(name) for name in wide_names))


_CONTAINERS_AND_IMAGES = ("Containers", "Images")
BUILT_IN: dict[str, tuple[tuple[Column, ...], Cells]] = {
    "/pods": (
        _columns(
            "Name",
            "Ready",
            "Status",
            "Restarts",
            "Age",
            wide_names=("IP", "Node", "Nominated Node", "Readiness Gates"),
        ),
        cells.pod_cells,
    ),
    "/configmaps": (_columns("Name", "Data", "Age"), cells.config_map_cells),
    "/secrets": (_columns("Name", "Type", "Data", "Age"), cells.secret_cells),
    "/namespaces": (_columns("Name", "Status", "Age"), cells.namespace_cells),
    "/nodes": (
        _columns(
            "Name",
            "Status",
            "Roles",
            "Age",
            "Version",
            wide_names=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        cells.node_cells,
    ),
    "/services": (
        _columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide_names=("Selector",)),
        cells.service_cells,
    ),
    "/persistentvolumeclaims": (
        _columns(
            "Name",
            "Status",
            "Volume",
            "Capacity",
            "Access Modes",
            "StorageClass",
            "VolumeAttributesClass",
            "Age",
            wide_names=("VolumeMode",),
        ),
        cells.volume_claim_cells,
    ),
    "/serviceaccounts": (_columns("Name", "Secrets", "Age"), cells.account_cells),
    "/events": (_columns("Last Seen", "Type", "Reason", "Object", "Message", wide_names=("Name",)), cells.event_cells),
    "apps/deployments": (
        _columns("Name", "Ready", "Up-to-date", "Available", "Age", wide_names=(*_CONTAINERS_AND_IMAGES, "Selector")),
        cells.deployment_cells,
    ),
    "apps/statefulsets": (
        _columns("Name", "Ready", "Age", wide_names=_CONTAINERS_AND_IMAGES),
        cells.stateful_set_cells,
    ),
    "apps/replicasets": (
        _columns("Name", "Desired", "Current", "Ready", "Age", wide_names=(*_CONTAINERS_AND_IMAGES, "Selector")),
        cells.replica_set_cells,
    ),
    "batch/jobs": (
        _columns("Name", "Status", "Completions", "Duration", "Age", wide_names=_CONTAINERS_AND_IMAGES),
        cells.job_cells,
    ),
    "batch/cronjobs": (
        _columns(
            "Name",
            "Schedule",
            "Timezone",
            "Suspend",
            "Active",
            "Last Schedule",
            "Age",
            wide_names=(*_CONTAINERS_AND_IMAGES, "Selector"),
        ),
        cells.cron_job_cells,
    ),
    "apiextensions.k8s.io/customresourcedefinitions": (_columns("Name", "Created At"), cells.crd_cells),
}
