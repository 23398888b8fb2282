"""The subresource ``scale``: the number of replicas of a workload."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import (
    bad_request,
    conflict,
    invalid,
    invalid_value,
    method_not_allowed,
    not_found,
)
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.patch import apply_patch
from csm_emulator.services.kubernetes.writes.validation import check_shape


def answer(objects: Objects, request: Request) -> Json:
    kind = request.kind
    workload = objects.get(kind, request.namespace, request.name)
    if workload is None:
        raise not_found(kind, request.name)
    if request.call.method == "GET":
        return scale_of(workload)
    if request.call.method == "PUT":
        scale = check_shape(request.body())
    elif request.call.method == "PATCH":
        scale = apply_patch(request, scale_of(workload))
    else:
        raise method_not_allowed()
    return _scaled(objects, kind, workload, scale, dry=request.is_dry_run)


def _scaled(objects: Objects, kind: Kind, workload: Json, scale: Json, *, dry: bool) -> Json:
    meta = workload["metadata"]
    spec = scale.get("spec") or {}
    replicas = spec.get("replicas", 0) if isinstance(spec, dict) else None
    if not isinstance(replicas, int) or isinstance(replicas, bool):
        raise bad_request("json: cannot unmarshal into Go struct field ScaleSpec.spec.replicas of type int32")
    if replicas < 0:
        error = invalid_value("spec.replicas", str(replicas), "must be greater than or equal to 0")
        raise invalid(kind, meta["name"], [error])
    version = scale["metadata"].get("resourceVersion") or meta["resourceVersion"]
    if version != meta["resourceVersion"]:
        raise conflict(kind, meta["name"])
    if replicas == workload["spec"].get("replicas", 1):
        return scale_of(workload)
    new_meta = {**meta, "generation": meta.get("generation", 1) + 1}
    changed = {**workload, "metadata": new_meta, "spec": {**workload["spec"], "replicas": replicas}}
    return scale_of(changed if dry else objects.put(kind, changed))


def scale_of(workload: Json) -> Json:
    meta, spec = workload["metadata"], workload["spec"]
    labels = (spec.get("selector") or {}).get("matchLabels") or {}
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: meta[name] for name in names},
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {
            "replicas": (workload.get("status") or {}).get("replicas", 0),
            "selector": ",".join(f"{name}={value}" for name, value in sorted(labels.items())),
        },
    }
