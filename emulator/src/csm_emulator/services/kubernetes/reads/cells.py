"""The cells of an object in the table of ``kubectl get``, for built-in kinds."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.reads.ages import age, duration, moment_of

NONE = "<none>"
_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _created(value: Json, now: float) -> str:
    return age(value["metadata"].get("creationTimestamp"), now)


def _selector_text(labels: Json) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((labels or {}).items())) or NONE


def plain_cells(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], _created(value, now)]


def pod_cells(value: Json, now: float) -> list[Json]:
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


def config_map_cells(value: Json, now: float) -> list[Json]:
    count = len(value.get("data") or {}) + len(value.get("binaryData") or {})
    return [value["metadata"]["name"], count, _created(value, now)]


def secret_cells(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], value.get("type", ""), len(value.get("data") or {}), _created(value, now)]


def namespace_cells(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], (value.get("status") or {}).get("phase", ""), _created(value, now)]


def node_cells(value: Json, now: float) -> list[Json]:
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


def service_cells(value: Json, now: float) -> list[Json]:
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


def deployment_cells(value: Json, now: float) -> list[Json]:
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


def stateful_set_cells(value: Json, now: float) -> list[Json]:
    spec, status = value.get("spec") or {}, value.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 1)}"
    return [value["metadata"]["name"], ready, _created(value, now), *_containers(value)]


def replica_set_cells(value: Json, now: float) -> list[Json]:
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


def job_cells(value: Json, now: float) -> list[Json]:
    status = value.get("status") or {}
    began, ended = status.get("startTime"), status.get("completionTime")
    took = duration((moment_of(ended) if ended else now) - moment_of(began)) if began else ""
    state = next(
        (condition["type"] for condition in status.get("conditions") or () if condition["status"] == "True"), "Running"
    )
    completions = f"{status.get('succeeded', 0)}/{value['spec'].get('completions', 1)}"
    return [value["metadata"]["name"], state, completions, took, _created(value, now), *_containers(value)]


def cron_job_cells(value: Json, now: float) -> list[Json]:
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


def volume_claim_cells(value: Json, now: float) -> list[Json]:
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


def event_cells(value: Json, now: float) -> list[Json]:
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


def account_cells(value: Json, now: float) -> list[Json]:
    return [value["metadata"]["name"], len(value.get("secrets") or ()), _created(value, now)]


def crd_cells(value: Json, _: float) -> list[Json]:
    return [value["metadata"]["name"], value["metadata"].get("creationTimestamp", "")]
