"""Create and change objects."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds import schema
from csm_emulator.services.kubernetes.kinds.conversion import convert
from csm_emulator.services.kubernetes.kinds.kinds import NAMESPACES, NODES, SECRETS, Kind
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
class ObjectWriter:
    objects: Objects
    admission: Admission

    def create(self, request: Request) -> Json:
        return self._create(request, check_shape(request.body()))

    def _create(self, request: Request, body: Json) -> Json:
        kind = request.kind
        value = self._with_path_fields(request, body)
        name = value["metadata"].get("name") or self._generate_name(value["metadata"].get("generateName", ""))
        meta = {**value["metadata"], "name": name}
        if meta.pop("resourceVersion", ""):
            raise bad_request("resourceVersion should not be set on objects to be created")
        value = {**value, "metadata": {key: field for key, field in meta.items() if key not in _OWN_META}}
        if _STATUS in kind.subresources and kind != NODES:
            value.pop(_STATUS, None)
        value = self._check(request, value)
        if self.objects.get(kind, meta.get("namespace", ""), name) is not None:
            raise already_exists(kind, name)
        value = self._admit(request, CREATE, self.objects.new(kind, value), None)
        return value if request.is_dry_run else self.objects.put(kind, value)

    def replace(self, request: Request) -> Json:
        """PUT of the whole object or of its status."""
        body = self._with_path_fields(request, check_shape(request.body()))
        if body["metadata"].get("name", request.name) != request.name:
            body_name = body["metadata"]["name"]
            raise bad_request(
                f"the name of the object ({body_name}) does not match the name on the URL ({request.name})"
            )
        live = self._live(request)
        if request.kind.custom and not body["metadata"].get("resourceVersion"):
            error = invalid_value("metadata.resourceVersion", "0x0", "must be specified for an update")
            raise invalid(request.kind, request.name, [error])
        return self._update(request, live, body)

    def patch(self, request: Request) -> Json:
        kind = request.kind
        live = self.objects.get(kind, request.namespace, request.name)
        if patches.is_apply(request):
            current = None if live is None else convert(kind, live)
            configuration = patches.server_side_apply(request, current, self.objects.now())
            if live is None:
                return self._create(request, configuration)
            return self._update(request, live, configuration)
        if live is None:
            raise not_found(kind, request.name)
        return self._update(request, live, patches.apply_patch(request, convert(kind, live)))

    def _live(self, request: Request) -> Json:
        live = self.objects.get(request.kind, request.namespace, request.name)
        if live is None:
            raise not_found(request.kind, request.name)
        return live

    def _update(self, request: Request, live: Json, body: Json) -> Json:
        kind, live_meta, meta = request.kind, live["metadata"], body["metadata"]
        if meta.get("resourceVersion", live_meta["resourceVersion"]) != live_meta["resourceVersion"]:
            raise conflict(kind, request.name, MODIFIED)
        if meta.get("uid", live_meta["uid"]) != live_meta["uid"]:
            reason = f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {live_meta['uid']}"
            raise conflict(kind, request.name, reason)
        if meta.get("name", request.name) != request.name:
            raise invalid(
                kind, request.name, [invalid_value("metadata.name", f'"{meta["name"]}"', "field is immutable")]
            )
        server_meta = {name: live_meta[name] for name in _OWN_META if name in live_meta}
        client_meta = {name: field for name, field in meta.items() if name not in _OWN_META}
        merged_meta = {
            **client_meta,
            **server_meta,
            "name": live_meta["name"],
            "resourceVersion": live_meta["resourceVersion"],
        }
        if "namespace" in live_meta:
            merged_meta["namespace"] = live_meta["namespace"]
        identity = {"apiVersion": live["apiVersion"], "kind": live["kind"]}
        value = self._with_subresource({**body, **identity, "metadata": merged_meta}, live, request)
        value = self._check(request, value)
        if _without_version(value) == _without_version(live):
            return live
        if request.subresource != _STATUS:
            value = self._admit(request, UPDATE, value, live)
            value = _with_generation(value, live)
        return value if request.is_dry_run else self.objects.put(kind, value)

    def _with_subresource(self, value: Json, live: Json, request: Request) -> Json:
        """The object to store: only the subresource changes the status, and it changes no other field."""
        if request.subresource == _STATUS:
            status = {_STATUS: value[_STATUS]} if _STATUS in value else {}
            unchanged = {name: field for name, field in live.items() if name != _STATUS}
            return {**unchanged, **status, "metadata": {**live["metadata"], **_managed(value)}}
        if _STATUS not in request.kind.subresources:
            return value
        unchanged = {name: field for name, field in value.items() if name != _STATUS}
        return {**unchanged, _STATUS: live[_STATUS]} if _STATUS in live else unchanged

    def _with_path_fields(self, request: Request, body: Json) -> Json:
        """The body with the kind and namespace of the path; raises ``StatusError`` when the body contradicts them."""
        kind, meta = request.kind, body["metadata"]
        version = body.get("apiVersion", kind.api_version)
        if version != kind.api_version:
            raise bad_request(
                f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
            )
        if body.get("kind", kind.kind) != kind.kind:
            raise bad_request(
                f'{body["kind"]} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f"no kind {body['kind']!r} is registered for this resource"
            )
        if kind.namespaced:
            if meta.get("namespace", request.namespace) != request.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request"
                )
            meta = {**meta, "namespace": request.namespace}
        stored_version = f"{kind.group}/{kind.storage}" if kind.storage else kind.api_version
        return {**body, "apiVersion": stored_version, "kind": kind.kind, "metadata": meta}

    def _check(self, request: Request, value: Json) -> Json:
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
        namespace = self.objects.namespace(request.namespace)
        if namespace is None:
            raise not_found(NAMESPACES, request.namespace)
        creating = self.objects.get(request.kind, request.namespace, name) is None
        if creating and namespace["metadata"].get("deletionTimestamp"):
            reason = f"unable to create new content in namespace {request.namespace} because it is being terminated"
            raise forbidden(request.kind, name, reason)

    def _admit(self, request: Request, operation: str, value: Json, live: Json) -> Json:
        kind = request.kind
        if kind.storage_key != TENANTS:
            return value
        webhook_kind = self.objects.registry.find(kind.group, VERSION, kind.plural) or kind
        old = None if live is None else convert(webhook_kind, live)
        admitted = self.admission.admit(
            webhook_kind, operation, request.user, convert(webhook_kind, value), old, dry=request.is_dry_run
        )
        return check_content(webhook_kind, admitted)

    def _generate_name(self, prefix: str) -> str:
        """The prefix with five characters, from the API server's alphabet, which has no vowels."""
        if not prefix:
            return ""
        number = self.objects.store.next_version()
        random = self.objects.context.random
        tail = [_LETTERS[int(random.between(0, len(_LETTERS), "kubernetes.name", number, n))] for n in range(5)]
        return prefix[:58] + "".join(tail)


def _refuse_unknown(kind: Kind, value: Json) -> None:
    unknown = [f'unknown field "{path}"' for path in schema.unknown_fields(value, kind.schema)]
    if unknown:
        raise bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: strict decoding error: '
            + ", ".join(unknown)
        )


def _managed(value: Json) -> Json:
    managed_fields = value["metadata"].get("managedFields")
    return {"managedFields": managed_fields} if managed_fields else {}


def _without_version(value: Json) -> Json:
    meta = {
        name: field for name, field in value["metadata"].items() if name not in ("resourceVersion", "managedFields")
    }
    return {**value, "metadata": meta}


def _with_generation(value: Json, live: Json) -> Json:
    """``generation`` increases when the spec changes."""
    if value.get("spec") == live.get("spec") or "generation" not in value["metadata"]:
        return value
    return {**value, "metadata": {**value["metadata"], "generation": live["metadata"]["generation"] + 1}}
