"""The columns of ``kubectl get`` for built-in kinds, and the cells of an object."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Column
from csm_emulator.services.kubernetes.reads.ages import age, duration, moment_of

Cells = Callable[[Json, float], list[Json]]
NAME, AGE = Column("Name", format="name"), Column("Age")
NONE = "<none>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def wide(name: str) -> Column:
    return Column(name, priority=1)


def _created(value: Json, now: float) -> str:
    return age(value["metadata"].get("creationTimestamp"), now)


def _selector_text(labels: Json) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((labels or {}).items())) or NONE


def plain(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], _created(value, now)]


def _pod(value: Json, now: float) -> list[Json]:
    status, spec = value["status"], value["spec"]
    containers = status.get("containerStatuses", [])
    ready = sum(1 for container in containers if container["ready"])
    restarts = sum(container["restartCount"] for container in containers)
    return [
        value["metadata"]["name"],
        f"{ready}/{len(spec['containers'])}",
        pod_reason(value),
        restarts,
        _created(value, now),
        status.get("podIP") or NONE,
        spec.get("nodeName") or NONE,
        NONE,
        NONE,
    ]


def pod_reason(value: Json) -> str:
    """The text of the column STATUS, computed as by the printer of Kubernetes 1.32."""
    status = value["status"]
    if value["metadata"].get("deletionTimestamp") and status["phase"] not in ("Failed", "Succeeded"):
        return "Terminating"
    init_statuses = status.get("initContainerStatuses", [])
    for number, init_status in enumerate(init_statuses):
        ended = init_status["state"].get("terminated")
        if ended and ended["exitCode"] == 0:
            continue
        return f"Init:{_termination_reason(ended)}" if ended else f"Init:{number}/{len(init_statuses)}"
    return _main_reason(status)


def _main_reason(status: Json) -> str:
    """The reason of the first container that waits or has ended; when that is Completed, a running one counts."""
    reason = str(status.get("reason") or status["phase"])
    for item in reversed(status.get("containerStatuses", [])):
        waiting, ended = item["state"].get("waiting"), item["state"].get("terminated")
        if waiting:
            reason = waiting.get("reason") or reason
        elif ended:
            reason = _termination_reason(ended)
    running = any(item["ready"] and "running" in item["state"] for item in status.get("containerStatuses", []))
    if reason != "Completed" or not running:
        return reason
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in status["conditions"])
    return "Running" if ready else "NotReady"


def _termination_reason(ended: Json) -> str:
    return str(ended.get("reason") or f"ExitCode:{ended['exitCode']}")


def _config_map(value: Json, now: float) -> list[Json]:
    count = len(value.get("data") or {}) + len(value.get("binaryData") or {})
    return [value["metadata"]["name"], count, _created(value, now)]


def _secret(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], value.get("type", ""), len(value.get("data") or {}), _created(value, now)]


def _namespace(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], (value.get("status") or {}).get("phase", ""), _created(value, now)]


def _node(value: Json, now: float) -> list[Json]:
    status, labels = value.get("status") or {}, value["metadata"].get("labels") or {}
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in status.get("conditions", ()))
    state = ("Ready" if ready else "NotReady") + (",SchedulingDisabled" if value["spec"].get("unschedulable") else "")
    prefix = "node-role.kubernetes.io/"
    roles = ",".join(sorted(name.removeprefix(prefix) for name in labels if name.startswith(prefix)))
    info = status.get("nodeInfo") or {}
    addresses = {item["type"]: item["address"] for item in status.get("addresses", ())}
    return [
        value["metadata"]["name"],
        state,
        roles or NONE,
        _created(value, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP", NONE),
        addresses.get("ExternalIP", NONE),
        info.get("osImage", ""),
        info.get("kernelVersion", ""),
        info.get("containerRuntimeVersion", ""),
    ]


def _service(value: Json, now: float) -> list[Json]:
    spec = value.get("spec") or {}
    ports = ",".join(f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in spec.get("ports") or ())
    return [
        value["metadata"]["name"],
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP", NONE),
        ",".join(spec.get("externalIPs") or ()) or NONE,
        ports or NONE,
        _created(value, now),
        _selector_text(spec.get("selector")),
    ]


def _containers(value: Json) -> tuple[str, str]:
    template = ((value.get("spec") or {}).get("template") or {}).get("spec") or {}
    containers = template.get("containers") or []
    return ",".join(container.get("name", "") for container in containers), ",".join(
        container.get("image", "") for container in containers
    )


def _deployment(value: Json, now: float) -> list[Json]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    return [
        value["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _created(value, now),
        *_containers(value),
        _selector_text((spec.get("selector") or {}).get("matchLabels")),
    ]


def _stateful_set(value: Json, now: float) -> list[Json]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [value["metadata"]["name"], ready, _created(value, now), *_containers(value)]


def _replica_set(value: Json, now: float) -> list[Json]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    return [
        value["metadata"]["name"],
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _created(value, now),
        *_containers(value),
        _selector_text((spec.get("selector") or {}).get("matchLabels")),
    ]


def _job(value: Json, now: float) -> list[Json]:
    status = value.get("status") or {}
    began, ended = status.get("startTime"), status.get("completionTime")
    took = duration((moment_of(ended) if ended else now) - moment_of(began)) if began else ""
    state = next(
        (condition["type"] for condition in status.get("conditions") or () if condition["status"] == "True"), "Running"
    )
    completions = f"{status.get('succeeded', 0)}/{value['spec'].get('completions', 1)}"
    return [value["metadata"]["name"], state, completions, took, _created(value, now), *_containers(value)]


def _cron_job(value: Json, now: float) -> list[Json]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    last = status.get("lastScheduleTime")
    job = {"spec": (spec.get("jobTemplate") or {}).get("spec") or {}}
    return [
        value["metadata"]["name"],
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False",
        len(status.get("active") or ()),
        age(last, now) if last else NONE,
        _created(value, now),
        *_containers(job),
        _selector_text((job["spec"].get("selector") or {}).get("matchLabels")),
    ]


def _volume_claim(value: Json, now: float) -> list[Json]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    modes = ",".join(_MODES.get(mode, mode) for mode in status.get("accessModes") or ())
    return [
        value["metadata"]["name"],
        "Terminating" if value["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", ""),
        modes,
        spec.get("storageClassName", ""),
        "<unset>",
        _created(value, now),
        spec.get("volumeMode", ""),
    ]


def _event(value: Json, now: float) -> list[Json]:
    involved_object = value.get("involvedObject") or {}
    object_name = f"{str(involved_object.get('kind', '')).lower()}/{involved_object.get('name', '')}"
    last_seen = value.get("lastTimestamp") or value.get("eventTime") or value["metadata"].get("creationTimestamp")
    message = str(value.get("message") or "").strip()
    return [
        age(last_seen, now),
        value.get("type", ""),
        value.get("reason", ""),
        object_name,
        message,
        value["metadata"]["name"],
    ]


def _account(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], len(value.get("secrets") or ()), _created(value, now)]


def _crd(value: Json, _: float) -> list[Json]:
    return [value["metadata"]["name"], value["metadata"].get("creationTimestamp", "")]


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
        _pod,
    ),
    "/configmaps": (_columns("Name", "Data", "Age"), _config_map),
    "/secrets": (_columns("Name", "Type", "Data", "Age"), _secret),
    "/namespaces": (_columns("Name", "Status", "Age"), _namespace),
    "/nodes": (
        _columns(
            "Name",
            "Status",
            "Roles",
            "Age",
            "Version",
            wide_names=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "/services": (
        _columns("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide_names=("Selector",)),
        _service,
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
        _volume_claim,
    ),
    "/serviceaccounts": (_columns("Name", "Secrets", "Age"), _account),
    "/events": (_columns("Last Seen", "Type", "Reason", "Object", "Message", wide_names=("Name",)), _event),
    "apps/deployments": (
        _columns("Name", "Ready", "Up-to-date", "Available", "Age", wide_names=(*_CONTAINERS_AND_IMAGES, "Selector")),
        _deployment,
    ),
    "apps/statefulsets": (_columns("Name", "Ready", "Age", wide_names=_CONTAINERS_AND_IMAGES), _stateful_set),
    "apps/replicasets": (
        _columns("Name", "Desired", "Current", "Ready", "Age", wide_names=(*_CONTAINERS_AND_IMAGES, "Selector")),
        _replica_set,
    ),
    "batch/jobs": (
        _columns("Name", "Status", "Completions", "Duration", "Age", wide_names=_CONTAINERS_AND_IMAGES),
        _job,
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
        _cron_job,
    ),
    "apiextensions.k8s.io/customresourcedefinitions": (_columns("Name", "Created At"), _crd),
}
