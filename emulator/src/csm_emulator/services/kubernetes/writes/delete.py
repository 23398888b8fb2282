"""Deleting objects and their dependents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.conversion import convert
from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, PODS, Kind
from csm_emulator.services.kubernetes.reads.selectors import selector
from csm_emulator.services.kubernetes.requests import Request, body_of
from csm_emulator.services.kubernetes.statuses import bad_request, conflict, not_found, success
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.admission import DELETE, TENANTS, VERSION, Admission
from csm_emulator.services.kubernetes.writes.validation import check_shape

FOREGROUND, BACKGROUND, ORPHAN = "Foreground", "Background", "Orphan"


@dataclass(frozen=True, slots=True)
class ObjectDeleter:
    objects: Objects
    admission: Admission
    guards: list[Callable[[Kind, Json], None]] = field(default_factory=list)
    """Called before a client's deletion; each may raise ``StatusError``."""

    def delete(self, request: Request) -> Json:
        value = self._existing(request)
        options = _options(request, body_of(request.call) if request.call.body.strip() else {})
        _check_preconditions(request.kind, value, options)
        return self._delete(request, value, options)

    def evict(self, request: Request) -> None:
        """Delete a pod; there are no PodDisruptionBudgets that could forbid it."""
        eviction = check_shape(body_of(request.call))
        if eviction["metadata"].get("name", "") != request.name:
            raise bad_request("name in URL does not match name in Eviction object")
        pod = self._existing(request)
        options = _options(request, eviction.get("deleteOptions") or {})
        _check_preconditions(request.kind, pod, options)
        self._delete(request, pod, options)

    def _existing(self, request: Request) -> Json:
        value = self.objects.get(request.kind, request.namespace, request.name)
        if value is None:
            raise not_found(request.kind, request.name)
        return value

    def delete_collection(self, request: Request) -> Json:
        options = _options(request, body_of(request.call) if request.call.body.strip() else {})
        matches = selector(request.kind, request.call.first("labelSelector"), request.call.first("fieldSelector"))
        deleted = [value for value in self.objects.list(request.kind, request.namespace) if matches(value)]
        for value in deleted:
            self._delete(request, value, options)
        return deleted

    def _delete(self, request: Request, value: Json, options: Json) -> Json:
        """A Status when the object is removed; the object when its deletion has only begun."""
        kind = request.kind
        dry = request.is_dry_run or options.get("dryRun") == ["All"]
        for guard in self.guards:
            guard(kind, value)
        if kind.storage_key == TENANTS:
            webhook_kind = self.objects.registry.find(kind.group, VERSION, kind.plural) or kind
            self.admission.admit(webhook_kind, DELETE, request.user, None, convert(webhook_kind, value), dry=dry)
        meta = value["metadata"]
        if dry:
            return success(kind, meta["name"], meta["uid"])
        if options.get("propagationPolicy") == ORPHAN:
            self._orphan(meta["uid"])
        return self.remove(kind, value, options.get("gracePeriodSeconds"))

    def remove(self, kind: Kind, value: Json, grace: int | None = None) -> Json:
        """Remove the object: at once, or later when it has finalizers or is a pod or a namespace."""
        meta = value["metadata"]
        if kind == PODS:
            return self._stop(value, grace)
        if meta.get("finalizers") or kind == NAMESPACES:
            return self._mark_deleted(kind, value)
        self.objects.remove(kind, meta.get("namespace", ""), meta["name"])
        return success(kind, meta["name"], meta["uid"])

    def _mark_deleted(self, kind: Kind, value: Json) -> Json:
        meta = value["metadata"]
        if meta.get("deletionTimestamp"):
            return value
        deletion_marks = {"deletionTimestamp": self.objects.now(), "deletionGracePeriodSeconds": 0}
        generation = {"generation": meta["generation"] + 1} if "generation" in meta else {}
        return self.objects.put(kind, {**value, "metadata": {**meta, **deletion_marks, **generation}})

    def _stop(self, pod: Json, grace: int | None) -> Json:
        meta = pod["metadata"]
        if grace == 0:
            return self.objects.remove(PODS, meta["namespace"], meta["name"])
        if meta.get("deletionTimestamp"):
            return pod
        deletion_marks = {
            "deletionTimestamp": self.objects.now(),
            "deletionGracePeriodSeconds": 30 if grace is None else grace,
        }
        return self.objects.put(PODS, {**pod, "metadata": {**meta, **deletion_marks}})

    def _remove_owner(self, uid: str) -> None:
        """Remove this owner from its dependents, and delete the dependents that have no other owner."""
        for storage_key, dependent in self.objects.store.owned(uid):
            kind = next(
                (candidate for candidate in self.objects.registry.stored() if candidate.storage_key == storage_key),
                None,
            )
            remaining = [owner for owner in dependent["metadata"]["ownerReferences"] if owner["uid"] != uid]
            if kind is None:
                continue
            if remaining:
                self.objects.put(
                    kind, {**dependent, "metadata": {**dependent["metadata"], "ownerReferences": remaining}}
                )
            else:
                self.remove(kind, dependent)

    def collect_dependents(self, _: Kind, previous: Json, current: Json) -> None:
        """A listener: after an object was removed, collect its dependents."""
        if current is None and previous is not None:
            self._remove_owner(previous["metadata"]["uid"])

    def _orphan(self, uid: str) -> None:
        for storage_key, dependent in self.objects.store.owned(uid):
            kind = next(
                (candidate for candidate in self.objects.registry.stored() if candidate.storage_key == storage_key),
                None,
            )
            remaining = [owner for owner in dependent["metadata"]["ownerReferences"] if owner["uid"] != uid]
            if kind is not None:
                self.objects.put(
                    kind, {**dependent, "metadata": {**dependent["metadata"], "ownerReferences": remaining}}
                )


def _options(request: Request, body: Json) -> Json:
    """DeleteOptions from the body and the query."""
    if not isinstance(body, dict):
        raise bad_request("couldn't get version/kind; json parse error: json: cannot unmarshal into DeleteOptions")
    query: Json = {name: request.call.first(name) for name in ("propagationPolicy",) if request.call.has(name)}
    grace: Json = request.call.first("gracePeriodSeconds", "")
    if grace.isdecimal():
        query["gracePeriodSeconds"] = int(grace)
    options = {**body, **query}
    policy = options.get("propagationPolicy")
    if policy not in (None, FOREGROUND, BACKGROUND, ORPHAN):
        raise bad_request(f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "{policy}"')
    if not isinstance(options.get("gracePeriodSeconds", 0), int | None):
        raise bad_request("json: cannot unmarshal into Go struct field DeleteOptions.gracePeriodSeconds of type int64")
    return options


def _check_preconditions(kind: Kind, value: Json, options: Json) -> None:
    preconditions, meta = options.get("preconditions") or {}, value["metadata"]
    if not isinstance(preconditions, dict):
        raise bad_request("json: cannot unmarshal into Go struct field DeleteOptions.preconditions")
    uid, version = preconditions.get("uid", meta["uid"]), preconditions.get("resourceVersion", meta["resourceVersion"])
    if uid != meta["uid"]:
        reason = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        raise conflict(kind, meta["name"], reason)
    if version != meta["resourceVersion"]:
        reason = (
            f"Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: "
            f"{meta['resourceVersion']}"
        )
        raise conflict(kind, meta["name"], reason)
