"""Deleting objects, and what belongs to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from csm_emulator.services.kubernetes.kinds.conversion import shown
from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, PODS, Json, Kind
from csm_emulator.services.kubernetes.reads.selectors import selector
from csm_emulator.services.kubernetes.requests import Request, body_of
from csm_emulator.services.kubernetes.statuses import bad_request, conflict, not_found, success
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes.admission import DELETE, TENANTS, VERSION, Admission
from csm_emulator.services.kubernetes.writes.validation import check_shape

FOREGROUND, BACKGROUND, ORPHAN = "Foreground", "Background", "Orphan"


@dataclass(frozen=True, slots=True)
class Deleting:
    objects: Objects
    admission: Admission
    guards: list[Callable[[Kind, Json], None]] = field(default_factory=list)
    """Asked before a client's deletion; each may raise ``Refused``."""

    def delete(self, request: Request) -> Json:
        found = self._found(request)
        options = _options(request, body_of(request.call) if request.call.body.strip() else {})
        _check(request.kind, found, options)
        return self._delete(request, found, options)

    def evict(self, request: Request) -> None:
        """A deletion of a pod, which budgets could forbid; there are none."""
        asked = check_shape(body_of(request.call))
        if asked["metadata"].get("name", "") != request.name:
            raise bad_request("name in URL does not match name in Eviction object")
        found = self._found(request)
        options = _options(request, asked.get("deleteOptions") or {})
        _check(request.kind, found, options)
        self._delete(request, found, options)

    def _found(self, request: Request) -> Json:
        found = self.objects.get(request.kind, request.namespace, request.name)
        if found is None:
            raise not_found(request.kind, request.name)
        return found

    def delete_collection(self, request: Request) -> Json:
        options = _options(request, body_of(request.call) if request.call.body.strip() else {})
        chosen = selector(request.kind, request.call.first("labelSelector"), request.call.first("fieldSelector"))
        gone = [found for found in self.objects.list(request.kind, request.namespace) if chosen(found)]
        for found in gone:
            self._delete(request, found, options)
        return gone

    def _delete(self, request: Request, found: Json, options: Json) -> Json:
        """A Status when it is gone; the object when it is on its way."""
        kind = request.kind
        dry = request.dry or options.get("dryRun") == ["All"]
        for guard in self.guards:
            guard(kind, found)
        if kind.place == TENANTS:
            asked = self.objects.registry.find(kind.group, VERSION, kind.plural) or kind
            self.admission.admit(asked, DELETE, request.user, None, shown(asked, found), dry=dry)
        meta = found["metadata"]
        if dry:
            return success(kind, meta["name"], meta["uid"])
        if options.get("propagationPolicy") == ORPHAN:
            self._orphan(meta["uid"])
        return self.remove(kind, found, options.get("gracePeriodSeconds"))

    def remove(self, kind: Kind, found: Json, grace: int | None = None) -> Json:
        """At once, or when its finalizers are gone, or as long as its kind takes."""
        meta = found["metadata"]
        if kind == PODS:
            return self._stop(found, grace)
        if meta.get("finalizers") or kind == NAMESPACES:
            return self._mark(kind, found)
        self.objects.remove(kind, meta.get("namespace", ""), meta["name"])
        return success(kind, meta["name"], meta["uid"])

    def _mark(self, kind: Kind, found: Json) -> Json:
        meta = found["metadata"]
        if meta.get("deletionTimestamp"):
            return found
        marks = {"deletionTimestamp": self.objects.now(), "deletionGracePeriodSeconds": 0}
        counted = {"generation": meta["generation"] + 1} if "generation" in meta else {}
        return self.objects.put(kind, {**found, "metadata": {**meta, **marks, **counted}})

    def _stop(self, pod: Json, grace: int | None) -> Json:
        meta = pod["metadata"]
        if grace == 0:
            return self.objects.remove(PODS, meta["namespace"], meta["name"])
        if meta.get("deletionTimestamp"):
            return pod
        marks = {"deletionTimestamp": self.objects.now(), "deletionGracePeriodSeconds": 30 if grace is None else grace}
        return self.objects.put(PODS, {**pod, "metadata": {**meta, **marks}})

    def _collect(self, uid: str) -> None:
        """What has no owner any more goes too."""
        for place, each in self.objects.store.owned(uid):
            kind = next((one for one in self.objects.registry.stored() if one.place == place), None)
            left = [owner for owner in each["metadata"]["ownerReferences"] if owner["uid"] != uid]
            if kind is None:
                continue
            if left:
                self.objects.put(kind, {**each, "metadata": {**each["metadata"], "ownerReferences": left}})
            else:
                self.remove(kind, each)

    def gone(self, _: Kind, before: Json, after: Json) -> None:
        """A listener: what belonged to it alone goes too."""
        if after is None and before is not None:
            self._collect(before["metadata"]["uid"])

    def _orphan(self, uid: str) -> None:
        for place, each in self.objects.store.owned(uid):
            kind = next((one for one in self.objects.registry.stored() if one.place == place), None)
            left = [owner for owner in each["metadata"]["ownerReferences"] if owner["uid"] != uid]
            if kind is not None:
                self.objects.put(kind, {**each, "metadata": {**each["metadata"], "ownerReferences": left}})


def _options(request: Request, body: Json) -> Json:
    """DeleteOptions, from the body, or from the query."""
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


def _check(kind: Kind, found: Json, options: Json) -> None:
    wanted, meta = options.get("preconditions") or {}, found["metadata"]
    if not isinstance(wanted, dict):
        raise bad_request("json: cannot unmarshal into Go struct field DeleteOptions.preconditions")
    uid, version = wanted.get("uid", meta["uid"]), wanted.get("resourceVersion", meta["resourceVersion"])
    if uid != meta["uid"]:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {meta['uid']}"
        raise conflict(kind, meta["name"], why)
    if version != meta["resourceVersion"]:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: "
            f"{meta['resourceVersion']}"
        )
        raise conflict(kind, meta["name"], why)
