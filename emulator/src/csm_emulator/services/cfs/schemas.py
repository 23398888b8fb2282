"""Schemas of request bodies, with keywords in the order of HPE's OpenAPI file."""

from __future__ import annotations

from csm_emulator.dialects.json_schema import Schema
from csm_emulator.records import Json
from csm_emulator.services.cfs.version_2 import in_camel_case

STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
INTEGER: Schema = {"type": "integer"}
_NOT_EMPTY: Schema = {"type": "string", "minLength": 1}
_READ_ONLY: Schema = {"type": "string", "readOnly": True}
_WORD: Schema = {"type": "string", "pattern": r"^[^\s;]*$"}
_TEXTS: Schema = {"type": "object", "additionalProperties": STRING}


def _closed(properties: dict[str, Schema], *required: str) -> Schema:
    """A schema of an object that allows no other properties."""
    rules: Schema = {"type": "object", "properties": properties}
    return {**rules, **({"required": list(required)} if required else {}), "additionalProperties": False}


def _open(properties: dict[str, Schema], *required: str) -> Schema:
    return {"type": "object", **({"required": list(required)} if required else {}), "properties": properties}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _at_least(minimum: int) -> Schema:
    return {"type": "integer", "minimum": minimum}


def _in_v2(properties: dict[str, Schema], **extra: Json) -> dict[str, Schema]:
    return {**{in_camel_case(name): rule for name, rule in properties.items()}, **extra}


_OPTIONS_OF_BOTH: dict[str, Schema] = {
    "hardware_sync_interval": _at_least(1),
    "batcher_check_interval": _at_least(1),
    "batch_size": _at_least(1),
    "batch_window": _at_least(0),
    "default_batcher_retry_policy": _at_least(0),
    "default_playbook": _WORD,
    "default_ansible_config": {"type": "string", "minLength": 0, "maxLength": 60},
    "session_ttl": {"type": "string", "pattern": "^(?:[0-9]+[mMhHdDwW]){0,1}$", "minLength": 0, "maxLength": 10},
    "additional_inventory_url": {"type": "string", "pattern": r"^[^\s;]*$", "minLength": 0, "maxLength": 240},
    "batcher_max_backoff": _at_least(0),
    "batcher_disable": BOOLEAN,
    "batcher_pending_timeout": _at_least(1),
    "logging_level": {"type": "string", "enum": ["DEBUG", "INFO", "WARNING", "ERROR"]},
}
V2_OPTIONS = _closed(
    {"sessionTTL" if name == "session_ttl" else in_camel_case(name): rule for name, rule in _OPTIONS_OF_BOTH.items()}
)
V3_OPTIONS = _closed(
    {
        **_OPTIONS_OF_BOTH,
        "default_playbook": {**_WORD, "readOnly": True},
        "additional_inventory_source": {"type": "string", "minLength": 0, "maxLength": 60},
        "default_page_size": _at_least(1),
        "debug_wait_time": _at_least(0),
        "include_ara_links": BOOLEAN,
    }
)

_TARGET = _open(
    {
        "definition": {"type": "string", "enum": ["image", "spec", "repo", "dynamic"]},
        "groups": _array(_open({"name": STRING, "members": _array(STRING)}, "name", "members")),
        "image_map": _array(_open({"source_id": STRING, "result_name": STRING}, "source_id", "result_name")),
    }
)
_SESSION: dict[str, Schema] = {
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": 45,
        "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    },
    "configuration_name": {"type": "string", "minLength": 1, "maxLength": 60},
    "configuration_limit": STRING,
    "ansible_limit": _WORD,
    "ansible_config": STRING,
    "ansible_verbosity": {"type": "integer", "minimum": 0, "maximum": 4},
    "ansible_passthrough": STRING,
    "target": _TARGET,
    "tags": _TEXTS,
}
V2_SESSION = _closed(_in_v2({**_SESSION, "configuration_name": STRING}), "name", "configurationName")
V3_SESSION = _closed({**_SESSION, "debug_on_failure": BOOLEAN}, "name", "configuration_name")

_COMMIT: Schema = {"type": "string", "pattern": "^[a-f0-9]{40}$"}
_NAME_OF_LAYER: Schema = {"type": "string", "minLength": 1, "maxLength": 45}
_V3_LAYER: dict[str, Schema] = {
    "name": _NAME_OF_LAYER,
    "clone_url": _WORD,
    "source": STRING,
    "playbook": _WORD,
    "commit": _COMMIT,
    "branch": _WORD,
    "special_parameters": _closed({"ims_require_dkms": BOOLEAN}),
}
_V3_INVENTORY = {name: rule for name, rule in _V3_LAYER.items() if name not in ("playbook", "special_parameters")}
_V2_LAYER = {
    "name": STRING,
    "cloneUrl": _WORD,
    "playbook": _WORD,
    "commit": _COMMIT,
    "branch": _WORD,
    "specialParameters": _closed({"imsRequireDkms": BOOLEAN}),
}
_V2_INVENTORY = {name: rule for name, rule in _V2_LAYER.items() if name not in ("playbook", "specialParameters")}
V2_CONFIGURATION = _closed(
    {
        "name": _READ_ONLY,
        "description": STRING,
        "lastUpdated": _READ_ONLY,
        "layers": _array(_closed(_V2_LAYER, "cloneUrl")),
        "additional_inventory": _closed(_V2_INVENTORY, "cloneUrl"),
    }
)
V3_CONFIGURATION = _closed(
    {
        "name": _READ_ONLY,
        "description": STRING,
        "tenant_name": STRING,
        "last_updated": _READ_ONLY,
        "layers": _array(_closed(_V3_LAYER, "playbook")),
        "additional_inventory": _closed(_V3_INVENTORY),
    }
)

_STATUS: Schema = {"type": "string", "enum": ["applied", "failed", "skipped"]}
_V3_STATE = _closed(
    {
        "clone_url": STRING,
        "playbook": STRING,
        "commit": STRING,
        "status": _STATUS,
        "last_updated": _READ_ONLY,
        "session_name": STRING,
    },
    *("clone_url", "commit", "last_updated", "playbook", "session_name", "status"),
)
_V2_STATE = _closed(
    {
        "cloneUrl": STRING,
        "playbook": STRING,
        "commit": {"type": "string", "pattern": "^[^_]*(_(applied|failed|skipped))?$"},
        "lastUpdated": _READ_ONLY,
        "sessionName": STRING,
    },
    *("cloneUrl", "commit", "lastUpdated", "playbook", "sessionName"),
)
_COMPUTED: Schema = {"type": "string", "enum": ["unconfigured", "pending", "failed", "configured"], "readOnly": True}
V3_COMPONENT = _closed(
    {
        "id": _NOT_EMPTY,
        "state": _array(_V3_STATE),
        "state_append": _closed(
            {"clone_url": STRING, "playbook": STRING, "commit": STRING, "status": _STATUS, "session_name": STRING}
        ),
        "desired_state": {**_array(_V3_STATE), "readOnly": True},
        "desired_config": {"type": "string", "minLength": 0, "maxLength": 60},
        "error_count": INTEGER,
        "retry_policy": INTEGER,
        "enabled": BOOLEAN,
        "configuration_status": _COMPUTED,
        "tags": _TEXTS,
        "logs": _READ_ONLY,
    }
)
V2_COMPONENT = _closed(
    {
        "id": _NOT_EMPTY,
        "state": _array(_V2_STATE),
        "stateAppend": _closed({"cloneUrl": STRING, "playbook": STRING, "commit": STRING, "sessionName": STRING}),
        "desiredConfig": STRING,
        "desiredState": {**_array(_V2_STATE), "readOnly": True},
        "errorCount": INTEGER,
        "retryPolicy": INTEGER,
        "enabled": BOOLEAN,
        "configurationStatus": _COMPUTED,
        "tags": _TEXTS,
    }
)
V2_COMPONENTS = _array(V2_COMPONENT)
V3_COMPONENTS = _array(V3_COMPONENT)
_STATUSES = ["unconfigured", "pending", "failed", "configured"]


def _update(component: Schema, configuration: str, statuses: list[str]) -> Schema:
    filters = {"ids": STRING, "status": {"type": "string", "enum": statuses}, "enabled": BOOLEAN}
    filters |= {configuration: STRING, "tags": STRING}
    properties = {"patch": component, "filters": {"type": "object", "properties": filters}}
    return {"type": "object", "properties": properties, "required": ["patch", "filters"]}


V2_COMPONENTS_PATCH: Schema = {"oneOf": [_update(V2_COMPONENT, "configName", _STATUSES), V2_COMPONENTS]}
V3_COMPONENTS_PATCH: Schema = {"oneOf": [_update(V3_COMPONENT, "config_name", [*_STATUSES, ""]), V3_COMPONENTS]}

_METHOD: Schema = {"type": "string", "enum": ["password"]}
_CERTIFICATE: Schema = {
    "type": "object",
    "properties": {"configmap_name": _NOT_EMPTY, "configmap_namespace": STRING},
    "nullable": True,
    "additionalProperties": False,
    "required": ["configmap_name"],
}
_NEW_CREDENTIALS: Schema = {
    "type": "object",
    "properties": {"authentication_method": _METHOD, "username": _NOT_EMPTY, "password": _NOT_EMPTY},
    "additionalProperties": False,
    "required": ["username", "password"],
}
_KNOWN_CREDENTIALS = _closed(
    {"authentication_method": _METHOD, "secret_name": _NOT_EMPTY}, "authentication_method", "secret_name"
)
_CREDENTIALS = _closed(
    {"authentication_method": _METHOD, "secret_name": _READ_ONLY, "username": STRING, "password": STRING}
)


def _source(credentials: Schema, *required: str, with_name: bool = False) -> Schema:
    name = {"name": _NOT_EMPTY} if with_name else {}
    fields = {"description": STRING, "clone_url": _NOT_EMPTY, "credentials": credentials, "ca_cert": _CERTIFICATE}
    rules: Schema = {"type": "object", "properties": {**name, **fields}, "additionalProperties": False}
    return {**rules, "required": list(required)} if required else rules


SOURCE_CREATE = _source(_NEW_CREDENTIALS, "clone_url", "credentials", with_name=True)
SOURCE_RESTORE = _source(_KNOWN_CREDENTIALS, "clone_url", "credentials")
SOURCE_UPDATE = _source(_CREDENTIALS)
