"""The custom resources as Swagger 2: kubectl uses it to validate manifests and for ``kubectl explain``.

Built-in kinds are left out: a client does not validate kinds without a description.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.kinds.registry import Registry
from csm_emulator.services.kubernetes.reads.discovery import VERSION
from csm_emulator.services.kubernetes.reads.openapi_protobuf import document
from csm_emulator.transport.call import Call, Reply, json_reply

PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""Clients ask for it with an @ before the version, which is not allowed in a media type."""
_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "object", "additionalProperties": _TEXT}
_DROPPED = ("default", "nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
_OBJECT_META: Json = {
    "type": "object",
    "properties": {
        **{name: {**_TEXT} for name in ("name", "namespace", "generateName", "uid", "resourceVersion", "selfLink")},
        **{name: {**_TEXT, "format": "date-time"} for name in ("creationTimestamp", "deletionTimestamp")},
        **{name: {"type": "integer"} for name in ("generation", "deletionGracePeriodSeconds")},
        "labels": _TEXTS,
        "annotations": _TEXTS,
        "finalizers": {"type": "array", "items": _TEXT},
        **{name: {"type": "array", "items": {"type": "object"}} for name in ("ownerReferences", "managedFields")},
    },
}


class OpenApi:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def answer(self, call: Call) -> Reply | None:
        if call.path != "/openapi/v2" or call.method not in ("GET", "HEAD"):
            return None
        swagger = self._swagger()
        if "protobuf" in call.headers.get("accept", ""):
            return Reply(200, document(swagger), PROTOBUF)
        return json_reply(swagger)

    def _swagger(self) -> Json:
        custom = [kind for kind in self._registry.kinds() if kind.custom]
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": VERSION},
            "paths": {},
            "definitions": {_META: _OBJECT_META, **dict(_definitions(custom))},
        }


def _definitions(kinds: Iterable[Kind]) -> Iterator[tuple[str, Json]]:
    for kind in kinds:
        name = ".".join([*reversed(kind.group.split(".")), kind.version, kind.kind])
        definition = _swagger_schema(kind.schema)
        meta = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"$ref": f"#/definitions/{_META}"}}
        group_version_kind = {"group": kind.group, "kind": kind.kind, "version": kind.version}
        definition["properties"] = {**definition.get("properties", {}), **meta}
        yield name, {**definition, "x-kubernetes-group-version-kind": [group_version_kind]}


def _swagger_schema(schema: Json) -> Json:
    """The schema without the keywords that Swagger 2 lacks; empty where any value is allowed."""
    if not isinstance(schema, dict):
        return {}
    if schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("nullable"):
        return {"type": "object"} if schema.get("type") == "object" and not schema.get("nullable") else {}
    description = {name: value for name, value in schema.items() if name not in _DROPPED}
    if isinstance(schema.get("properties"), dict):
        description["properties"] = {name: _swagger_schema(value) for name, value in schema["properties"].items()}
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            description[name] = _swagger_schema(schema[name])
    for name in ("oneOf", "anyOf", "allOf", "not"):
        description.pop(name, None)
    return json.loads(json.dumps(description))
