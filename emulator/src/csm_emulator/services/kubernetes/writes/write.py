"""Creating and changing objects."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.services.kubernetes.kinds import schema
from csm_emulator.services.kubernetes.kinds.conversion import shown
from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, NODES, SECRETS, Json, Kind
from csm_emulator.services.kubernetes.requests import Request
from csm_emulator.services.kubernetes.statuses import (
    MODIFIED,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    invalid_value,
    not_found,
)
from csm_emulator.services.kubernetes.storage.objects import Objects
from csm_emulator.services.kubernetes.writes import patch as patches
from csm_emulator.services.kubernetes.writes.admission import CREATE, TENANTS, UPDATE, VERSION, Admission
from csm_emulator.services.kubernetes.writes.defaults import with_defaults
from csm_emulator.services.kubernetes.writes.validation import check_content, check_shape

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_OWN_META = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")
_STATUS = "status"


@dataclass(frozen=True, slots=True)
class Writing:
    objects: Objects
    admission: Admission

    def create(self, request: Request) -> Json:
        return self._create(request, check_shape(request.body()))

    def _create(self, request: Request, given: Json) -> Json:
        kind = request.kind
        value = self._addressed(request, given)
        name = value["metadata"].get("name") or self._generated(value["metadata"].get("generateName", ""))
        meta = {**value["metadata"], "name": name}
        if meta.pop("resourceVersion", ""):
            raise bad_request("resourceVersion should not be set on objects to be created")
        value = {**value, "metadata": {key: each for key, each in meta.items() if key not in _OWN_META}}
        if _STATUS in kind.subresources and kind != NODES:
            value.pop(_STATUS, None)
        value = self._checked(request, value)
        if self.objects.get(kind, meta.get("namespace", ""), name) is not None:
            raise already_exists(kind, name)
        value = self._admitted(request, CREATE, self.objects.new(kind, value), None)
        return value if request.dry else self.objects.put(kind, value)

    def replace(self, request: Request) -> Json:
        """PUT, of the whole object or of its status."""
        given = self._addressed(request, check_shape(request.body()))
        if given["metadata"].get("name", request.name) != request.name:
            named = given["metadata"]["name"]
            raise bad_request(f"the name of the object ({named}) does not match the name on the URL ({request.name})")
        live = self._live(request)
        if request.kind.custom and not given["metadata"].get("resourceVersion"):
            why = invalid_value("metadata.resourceVersion", "0x0", "must be specified for an update")
            raise invalid(request.kind, request.name, [why])
        return self._update(request, live, given)

    def patch(self, request: Request) -> Json:
        kind = request.kind
        live = self.objects.get(kind, request.namespace, request.name)
        if patches.is_apply(request):
            seen = None if live is None else shown(kind, live)
            wanted = patches.applied(request, seen, self.objects.now())
            if live is None:
                return self._create(request, wanted)
            return self._update(request, live, wanted)
        if live is None:
            raise not_found(kind, request.name)
        return self._update(request, live, patches.patched(request, shown(kind, live)))

    def _live(self, request: Request) -> Json:
        live = self.objects.get(request.kind, request.namespace, request.name)
        if live is None:
            raise not_found(request.kind, request.name)
        return live

    def _update(self, request: Request, live: Json, given: Json) -> Json:
        kind, was, meta = request.kind, live["metadata"], given["metadata"]
        if meta.get("resourceVersion", was["resourceVersion"]) != was["resourceVersion"]:
            raise conflict(kind, request.name, MODIFIED)
        if meta.get("uid", was["uid"]) != was["uid"]:
            why = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {was['uid']}"
            raise conflict(kind, request.name, why)
        if meta.get("name", request.name) != request.name:
            raise invalid(
                kind, request.name, [invalid_value("metadata.name", f'"{meta["name"]}"', "field is immutable")]
            )
        own = {name: was[name] for name in _OWN_META if name in was}
        kept = {name: each for name, each in meta.items() if name not in _OWN_META}
        settled = {**kept, **own, "name": was["name"], "resourceVersion": was["resourceVersion"]}
        if "namespace" in was:
            settled["namespace"] = was["namespace"]
        named = {"apiVersion": live["apiVersion"], "kind": live["kind"]}
        value = self._parts({**given, **named, "metadata": settled}, live, request)
        value = self._checked(request, value)
        if _without_version(value) == _without_version(live):
            return live
        if request.subresource != _STATUS:
            value = self._admitted(request, UPDATE, value, live)
            value = _counted(value, live)
        return value if request.dry else self.objects.put(kind, value)

    def _parts(self, value: Json, live: Json, request: Request) -> Json:
        """The status is changed by its subresource alone, and that changes nothing else."""
        if request.subresource == _STATUS:
            status = {_STATUS: value[_STATUS]} if _STATUS in value else {}
            rest = {name: each for name, each in live.items() if name != _STATUS}
            return {**rest, **status, "metadata": {**live["metadata"], **_managed(value)}}
        if _STATUS not in request.kind.subresources:
            return value
        rest = {name: each for name, each in value.items() if name != _STATUS}
        return {**rest, _STATUS: live[_STATUS]} if _STATUS in live else rest

    def _addressed(self, request: Request, given: Json) -> Json:
        """With the kind and the namespace of the path; what contradicts it is refused."""
        kind, meta = request.kind, given["metadata"]
        version = given.get("apiVersion", kind.api_version)
        if version != kind.api_version:
            raise bad_request(
                f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
            )
        if given.get("kind", kind.kind) != kind.kind:
            raise bad_request(
                f'{given["kind"]} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f"no kind {given['kind']!r} is registered for this resource"
            )
        if kind.namespaced:
            if meta.get("namespace", request.namespace) != request.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            meta = {**meta, "namespace": request.namespace}
        stored = f"{kind.group}/{kind.storage}" if kind.storage else kind.api_version
        return {**given, "apiVersion": stored, "kind": kind.kind, "metadata": meta}

    def _checked(self, request: Request, value: Json) -> Json:
        kind = request.kind
        if kind.namespaced and request.call.method in ("POST", "PATCH"):
            self._check_namespace(request, value["metadata"]["name"])
        if request.call.first("fieldValidation") == "Strict" and kind.custom:
            _refuse_unknown(kind, value)
        value = check_content(kind, value)
        if kind == SECRETS:
            value = {**value, "type": value.get("type") or "Opaque"}
        return with_defaults(kind, value)

    def _check_namespace(self, request: Request, name: str) -> None:
        found = self.objects.namespace(request.namespace)
        if found is None:
            raise not_found(NAMESPACES, request.namespace)
        creating = self.objects.get(request.kind, request.namespace, name) is None
        if creating and found["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {request.namespace} because it is being terminated"
            raise forbidden(request.kind, name, why)

    def _admitted(self, request: Request, operation: str, value: Json, live: Json) -> Json:
        kind = request.kind
        if kind.place != TENANTS:
            return value
        asked = self.objects.registry.find(kind.group, VERSION, kind.plural) or kind
        old = None if live is None else shown(asked, live)
        admitted = self.admission.admit(asked, operation, request.user, shown(asked, value), old, dry=request.dry)
        return check_content(asked, admitted)

    def _generated(self, prefix: str) -> str:
        """Five letters that make no words, as the API server appends them."""
        if not prefix:
            return ""
        number = self.objects.store.next_version()
        random = self.objects.context.random
        tail = [_LETTERS[int(random.between(0, len(_LETTERS), "kubernetes.name", number, n))] for n in range(5)]
        return prefix[:58] + "".join(tail)


def _refuse_unknown(kind: Kind, value: Json) -> None:
    found = [f'unknown field "{path}"' for path in schema.unknown_fields(value, kind.schema)]
    if found:
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: '
            + ", ".join(found)
        )


def _managed(value: Json) -> Json:
    found = value["metadata"].get("managedFields")
    return {"managedFields": found} if found else {}


def _without_version(value: Json) -> Json:
    meta = {name: each for name, each in value["metadata"].items() if name not in ("resourceVersion", "managedFields")}
    return {**value, "metadata": meta}


def _counted(value: Json, live: Json) -> Json:
    """``generation`` goes up when what is wanted changes."""
    if value.get("spec") == live.get("spec") or "generation" not in value["metadata"]:
        return value
    return {**value, "metadata": {**value["metadata"], "generation": live["metadata"]["generation"] + 1}}
