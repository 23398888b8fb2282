"""The kinds of objects, and the properties of each kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from csm_emulator.records import Json

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Column:
    """A column that ``kubectl get`` prints; ``path`` is the JSONPath of a column that a CRD defines."""

    name: str
    type: str = "string"
    path: str = ""
    priority: int = 0
    """A column with a priority above 0 is shown with ``-o wide`` only."""
    format: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A resource in one of its versions."""

    group: str
    version: str
    plural: str
    kind: str
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    subresources: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    categories: tuple[str, ...] = ()
    singular: str = ""
    list_kind: str = ""
    schema: Json = None
    """The structural schema of a custom resource."""
    columns: tuple[Column, ...] = ()
    storage: str = ""
    """The version in which a custom resource is stored; this version when empty."""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The resource's name in messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def storage_key(self) -> str:
        """The storage key of its objects, the same for all versions."""
        return f"{self.group}/{self.plural}"

    @property
    def custom(self) -> bool:
        return self.schema is not None

    @property
    def list_name(self) -> str:
        return self.list_kind or f"{self.kind}List"

    @property
    def singular_name(self) -> str:
        return self.singular or self.kind.lower()


def _core(plural: str, kind: str, *short_names: str, **properties: Any) -> Kind:
    return Kind("", "v1", plural, kind, short_names, **properties)


NAMESPACES = _core("namespaces", "Namespace", "ns", namespaced=False, subresources=("finalize", "status"))
NODES = _core("nodes", "Node", "no", namespaced=False, subresources=("status",))
PODS = _core("pods", "Pod", "po", subresources=("attach", "eviction", "exec", "log", "status"), categories=("all",))
CONFIG_MAPS = _core("configmaps", "ConfigMap", "cm")
SECRETS = _core("secrets", "Secret")
SERVICE_ACCOUNTS = _core("serviceaccounts", "ServiceAccount", "sa")
SERVICES = _core("services", "Service", "svc", subresources=("status",), categories=("all",))
EVENTS = _core("events", "Event", "ev")
CLAIMS = _core("persistentvolumeclaims", "PersistentVolumeClaim", "pvc", subresources=("status",))
DEPLOYMENTS = Kind(
    "apps", "v1", "deployments", "Deployment", ("deploy",), subresources=("scale", "status"), categories=("all",)
)
STATEFUL_SETS = Kind(
    "apps", "v1", "statefulsets", "StatefulSet", ("sts",), subresources=("scale", "status"), categories=("all",)
)
REPLICA_SETS = Kind(
    "apps", "v1", "replicasets", "ReplicaSet", ("rs",), subresources=("scale", "status"), categories=("all",)
)
JOBS = Kind("batch", "v1", "jobs", "Job", subresources=("status",), categories=("all",))
CRON_JOBS = Kind("batch", "v1", "cronjobs", "CronJob", ("cj",), subresources=("status",), categories=("all",))
CRDS = Kind(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    ("crd", "crds"),
    namespaced=False,
    subresources=("status",),
    categories=("api-extensions",),
)
BUILT_IN = (
    NAMESPACES,
    NODES,
    PODS,
    CONFIG_MAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    EVENTS,
    CLAIMS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    REPLICA_SETS,
    JOBS,
    CRON_JOBS,
    CRDS,
)
