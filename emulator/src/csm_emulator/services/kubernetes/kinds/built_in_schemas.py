"""Schemas of built-in kinds: types and required fields of the parts that other modules rely on."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.controllers.cron_schedule import ScheduleError, read_schedule
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.kinds.schema import errors
from csm_emulator.services.kubernetes.statuses import FieldError, bad_request, required

_TEXT: Json = {"type": "string"}
_TEXTS: Json = {"type": "array", "items": _TEXT}
_MAP: Json = {"type": "object", "additionalProperties": _TEXT}


def _object(properties: Json, *required: str) -> Json:
    return {"type": "object", "properties": properties, "required": list(required)}


_CONTAINERS: Json = {"type": "array", "minItems": 1, "items": _object({"name": _TEXT, "image": _TEXT}, "name")}
_POD = _object(
    {"containers": _CONTAINERS, "initContainers": {**_CONTAINERS, "minItems": 0}, "nodeName": _TEXT}, "containers"
)
_LABELLED = _object({"labels": _MAP, "annotations": _MAP})
_TEMPLATE = _object({"metadata": _LABELLED, "spec": _POD}, "spec")
_ANY_OBJECT: Json = {"type": "object", "nullable": True}
_CONDITIONS: Json = {"type": "array", "items": _object({"type": _TEXT, "status": _TEXT}, "type", "status")}
_STRATEGY = {**_object({"type": _TEXT, "rollingUpdate": _ANY_OBJECT}), "nullable": True}
_WORKLOAD = _object(
    {
        "status": _object({"conditions": _CONDITIONS}),
        "spec": _object(
            {
                "replicas": {"type": "integer", "minimum": 0},
                "selector": _object({"matchLabels": _MAP}),
                "template": _TEMPLATE,
                "revisionHistoryLimit": {"type": "integer", "minimum": 0, "nullable": True},
                "strategy": _STRATEGY,
                "updateStrategy": _STRATEGY,
            },
            "selector",
            "template",
        ),
    },
    "spec",
)
_NUMBER: Json = {"type": "integer", "minimum": 0, "nullable": True}
_JOB_SPEC = _object({"template": _TEMPLATE, "parallelism": _NUMBER, "completions": _NUMBER}, "template")
_CRON_JOB = _object(
    {
        "spec": _object(
            {
                "schedule": _TEXT,
                "suspend": {"type": "boolean", "nullable": True},
                "concurrencyPolicy": {**_TEXT, "enum": ["Allow", "Forbid", "Replace"]},
                "successfulJobsHistoryLimit": _NUMBER,
                "failedJobsHistoryLimit": _NUMBER,
                "jobTemplate": _object({"metadata": _LABELLED, "spec": _JOB_SPEC}, "spec"),
            },
            "schedule",
            "jobTemplate",
        ),
        "status": _ANY_OBJECT,
    },
    "spec",
)
_NAMES = _object(
    {
        "plural": {**_TEXT, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
        "kind": _TEXT,
        "singular": _TEXT,
        "listKind": _TEXT,
        "shortNames": _TEXTS,
        "categories": _TEXTS,
    },
    "plural",
    "kind",
)
_COLUMN = _object(
    {"name": _TEXT, "type": _TEXT, "jsonPath": _TEXT, "priority": {"type": "integer"}}, "name", "type", "jsonPath"
)
_VERSION = _object(
    {
        "name": _TEXT,
        "served": {"type": "boolean"},
        "storage": {"type": "boolean"},
        "schema": _object({"openAPIV3Schema": {"type": "object"}}),
        "subresources": {"type": "object"},
        "additionalPrinterColumns": {"type": "array", "items": _COLUMN},
    },
    "name",
    "served",
    "storage",
    "schema",
)
_DEFINITION = _object(
    {
        "spec": _object(
            {
                "group": {**_TEXT, "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$"},
                "names": _NAMES,
                "scope": {**_TEXT, "enum": ["Cluster", "Namespaced"]},
                "versions": {"type": "array", "minItems": 1, "items": _VERSION},
            },
            "group",
            "names",
            "scope",
            "versions",
        )
    },
    "spec",
)
_ABOUT = _object({"involvedObject": {"type": "object"}, "message": _TEXT, "reason": _TEXT, "type": _TEXT})
_PORTS: Json = {"type": "array", "items": {"type": "object"}}
_SERVICE = _object({"spec": _object({"ports": _PORTS, "selector": _MAP, "externalIPs": _TEXTS, "clusterIP": _TEXT})})
_ADDRESSES: Json = {"type": "array", "items": _object({"type": _TEXT, "address": _TEXT}, "type", "address")}
_NODE = _object(
    {
        "spec": {"type": "object"},
        "status": _object({"conditions": _CONDITIONS, "addresses": _ADDRESSES, "nodeInfo": {"type": "object"}}),
    },
    "spec",
)
_PLAIN: Json = {"properties": {"spec": _ANY_OBJECT, "status": _ANY_OBJECT}}
_SHAPES = {
    "apps/deployments": _WORKLOAD,
    "apps/statefulsets": _WORKLOAD,
    "apps/replicasets": _WORKLOAD,
    "/pods": _object({"spec": _POD}, "spec"),
    "batch/jobs": _object({"spec": _JOB_SPEC}, "spec"),
    "batch/cronjobs": _CRON_JOB,
    "apiextensions.k8s.io/customresourcedefinitions": _DEFINITION,
    "/events": _ABOUT,
    "/services": _SERVICE,
    "/nodes": _NODE,
    "/serviceaccounts": _object({"secrets": {"type": "array", "items": {"type": "object"}}}),
    "/secrets": _object({"type": _TEXT}),
}
_FIELDS = {
    "/configmaps": ("data", "binaryData", "immutable"),
    "/secrets": ("data", "stringData", "type", "immutable"),
    "/serviceaccounts": ("secrets", "imagePullSecrets", "automountServiceAccountToken"),
    "/events": (
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "type",
        "eventTime",
        "series",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ),
}


def known_fields(kind: Kind, value: Json) -> Json:
    """The object without fields that the kind does not have."""
    names = ("apiVersion", "kind", "metadata", *_FIELDS.get(kind.storage_key, ("spec", "status")))
    return {name: field for name, field in value.items() if name in names}


def shape_errors(kind: Kind, value: Json) -> Iterator[FieldError]:
    """Errors of the object; a value of a wrong type cannot be decoded and raises ``StatusError``."""
    for field_error in errors(value, _SHAPES.get(kind.storage_key, _PLAIN)):
        if field_error.reason == "FieldValueTypeInvalid":
            raise bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: json: cannot unmarshal '
                f"into Go struct field {kind.kind}.{field_error.field}"
            )
        yield field_error
    if kind.storage_key == "batch/cronjobs":
        yield from _schedule_errors(value)
    if kind.storage_key.endswith("/customresourcedefinitions"):
        yield from _crd_errors(value)


def _schedule_errors(value: Json) -> Iterator[FieldError]:
    text = (value.get("spec") or {}).get("schedule")
    try:
        read_schedule(text or "")
    except ScheduleError as problem:
        yield FieldError("spec.schedule", f'Invalid value: "{text or ""}": {problem}')


def _crd_errors(value: Json) -> Iterator[FieldError]:
    spec = value.get("spec") or {}
    names, versions = spec.get("names") or {}, spec.get("versions") or ()
    full_name = f"{names.get('plural')}.{spec.get('group')}"
    if value["metadata"]["name"] != full_name:
        message = f'Invalid value: "{value["metadata"]["name"]}": must be spec.names.plural+"."+spec.group'
        yield FieldError("metadata.name", message)
    if str(spec.get("group")).endswith(".k8s.io"):
        reason = 'protected groups must have approval annotation "api-approved.kubernetes.io"'
        yield required("metadata.annotations[api-approved.kubernetes.io]", reason)
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield FieldError("spec.versions", "Invalid value: must have exactly one version marked as storage version")
