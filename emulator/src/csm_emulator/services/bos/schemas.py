"""Schemas of bodies and parameters: the limits of BOS's API specification, in its order."""

from __future__ import annotations

from csm_emulator.dialects.json_schema import Schema

_NAME = "^[a-zA-Z0-9](?:[-._a-zA-Z0-9]{0,125}[a-zA-Z0-9])?$"


def _text(longest: int, shortest: int | None = None) -> Schema:
    lengths = {"maxLength": longest} if shortest is None else {"minLength": shortest, "maxLength": longest}
    return {"type": "string", **lengths}


def _choice(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _whole(least: int, most: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most}


def _record(properties: Schema, **more: object) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False, **more}


def _names(largest: int) -> Schema:
    return {"type": "array", "minItems": 1, "maxItems": largest, "items": _text(127, 1)}


NAME: Schema = {**_text(127, 1), "pattern": _NAME}
FLAG: Schema = {"type": "boolean"}
AGE: Schema = {"type": "string", "pattern": "^(0|0[mMhHdDwW]|[1-9][0-9]*[mMhHdDwW])$", "minLength": 1, "maxLength": 8}
COMPONENT_ID = _text(127, 1)
PHASE = _choice("configuring", "powering_off", "powering_on", "")
SESSION_STATUS = _choice("pending", "running", "complete")
_CFS = _record({"configuration": _text(127)})
_BOOT_SET = _record(
    {
        "name": NAME,
        "path": _text(4095, 1),
        "cfs": _CFS,
        "type": _text(127, 1),
        "etag": _text(65536),
        "kernel_parameters": _text(4096),
        "node_list": _names(65535),
        "node_roles_groups": _names(1023),
        "node_groups": _names(4095),
        "arch": _choice("X86", "ARM", "Other", "Unknown"),
        "rootfs_provider": _text(511, 1),
        "rootfs_provider_passthrough": _text(4096),
    },
    required=["path", "type"],
)
_BOOT_SETS: Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 127,
    "additionalProperties": _BOOT_SET,
}
_TEMPLATE_PARTS: Schema = {
    "description": _text(1023, 1),
    "enable_cfs": FLAG,
    "cfs": _CFS,
    "boot_sets": _BOOT_SETS,
}
TEMPLATE = _record(
    {
        "name": {**NAME, "readOnly": True},
        "tenant": {"type": "string", "nullable": True, "readOnly": True, "maxLength": 127},
        **_TEMPLATE_PARTS,
        "links": {"type": "array", "readOnly": True},
    },
    required=["boot_sets"],
)
TEMPLATE_PATCH = _record(_TEMPLATE_PARTS)
SESSION_CREATE = _record(
    {
        "name": NAME,
        "operation": _choice("boot", "reboot", "shutdown"),
        "template_name": NAME,
        "limit": {"type": "string", "maxLength": 524288, "nullable": True},
        "stage": FLAG,
        "include_disabled": FLAG,
    },
    required=["operation", "template_name"],
)
SESSION_UPDATE = _record(
    {
        "components": _text(524288),
        "status": _record(
            {
                "start_time": _text(127),
                "end_time": {"type": "string", "nullable": True, "maxLength": 127},
                "status": SESSION_STATUS,
                "error": {"type": "string", "nullable": True, "maxLength": 65536},
            }
        ),
    }
)
_SESSION_OR_NONE: Schema = {"oneOf": [NAME, {"type": "string", "enum": [""], "maxLength": 0}]}
_UPDATED: Schema = {"type": "string", "format": "date-time", "readOnly": True}
_ARTEFACTS = _record({"kernel": _text(4095), "kernel_parameters": _text(4096), "initrd": _text(4095)})
_COMPONENT_PARTS: Schema = {
    "id": COMPONENT_ID,
    "actual_state": _record({"boot_artifacts": _ARTEFACTS, "bss_token": _text(65535), "last_updated": _UPDATED}),
    "desired_state": _record(
        {
            "boot_artifacts": _ARTEFACTS,
            "configuration": _text(127),
            "bss_token": _text(65535),
            "last_updated": _UPDATED,
        }
    ),
    "staged_state": _record(
        {
            "boot_artifacts": _ARTEFACTS,
            "configuration": _text(127),
            "session": _SESSION_OR_NONE,
            "last_updated": _UPDATED,
        }
    ),
    "last_action": _record(
        {
            "last_updated": _UPDATED,
            "action": _choice(
                "actual_state_cleanup",
                "apply_staged",
                "newly_discovered",
                "powering_off_forcefully",
                "powering_off_gracefully",
                "powering_on",
                "session_setup",
            ),
            "failed": FLAG,
        }
    ),
    "event_stats": _record(
        {
            "power_on_attempts": _whole(0, 1048576),
            "power_off_graceful_attempts": _whole(0, 1048576),
            "power_off_forceful_attempts": _whole(0, 1048576),
        }
    ),
    "status": _record(
        {"phase": PHASE, "status": {"type": "string", "readOnly": True}, "status_override": _text(65536)}
    ),
    "enabled": FLAG,
    "error": _text(65536),
    "session": _SESSION_OR_NONE,
    "retry_policy": _whole(0, 1048576),
}
COMPONENT = _record(_COMPONENT_PARTS, minProperties=1)
COMPONENTS: Schema = {"type": "array", "items": _record(_COMPONENT_PARTS, required=["id"])}
_NOTHING: Schema = {"type": "string", "enum": [""], "nullable": True, "maxLength": 0}
_BY_IDS = _record({"ids": _text(65535, 1), "session": _NOTHING}, required=["ids"])
_BY_SESSION = _record({"ids": _NOTHING, "session": NAME}, required=["session"])
COMPONENTS_PATCH: Schema = {
    "oneOf": [
        _record({"patch": COMPONENT, "filters": {"oneOf": [_BY_IDS, _BY_SESSION]}}, required=["patch", "filters"]),
        COMPONENTS,
    ]
}
APPLY_STAGED = _record({"xnames": {"type": "array", "maxItems": 32768, "items": COMPONENT_ID}})
_TIMEOUT = _whole(10, 86400)
_WAIT = _whole(0, 1048576)
_LEVELS = "|".join(
    "".join(f"[{letter}{letter.upper()}]" for letter in level)
    for level in ("debug", "info", "warning", "error", "critical")
)
OPTIONS: Schema = {
    "type": "object",
    "properties": {
        "bss_read_timeout": _TIMEOUT,
        "cfs_read_timeout": _TIMEOUT,
        "cleanup_completed_session_ttl": AGE,
        "clear_stage": FLAG,
        "component_actual_state_ttl": {
            "type": "string",
            "pattern": "^[1-9][0-9]*[hHdDwW]$",
            "minLength": 2,
            "maxLength": 8,
        },
        "default_retry_policy": _WAIT,
        "discovery_frequency": _whole(0, 33554432),
        "hsm_read_timeout": _TIMEOUT,
        "ims_errors_fatal": FLAG,
        "ims_images_must_exist": FLAG,
        "ims_read_timeout": _TIMEOUT,
        "logging_level": {"type": "string", "pattern": f"^({_LEVELS})$"},
        "max_boot_wait_time": _WAIT,
        "max_component_batch_size": _whole(0, 131071),
        "max_power_off_wait_time": _WAIT,
        "max_power_on_wait_time": _WAIT,
        "pcs_read_timeout": _TIMEOUT,
        "polling_frequency": _WAIT,
        "reject_nids": FLAG,
        "session_limit_required": FLAG,
    },
    "additionalProperties": True,
    "minProperties": 1,
    "maxProperties": 1024,
}
