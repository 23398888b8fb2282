"""Version 2 of a record: other names and fewer fields. A field that a shape does not list is not in version 2."""

from __future__ import annotations

from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.components.changes import UncaughtError

Shape = dict[str, tuple[str, Json]]
"""By name in version 3: the name in version 2, and the shape of the value, or None for a plain value."""


def _plain(*names: str) -> Shape:
    return {name: (name, None) for name in names}


def _camel(*names: str) -> Shape:
    return {name: (in_camel_case(name), None) for name in names}


def in_camel_case(name: str) -> str:
    first, *words = name.split("_")
    return first + "".join(word.capitalize() for word in words)


OPTIONS: Shape = {
    **_camel(
        "hardware_sync_interval",
        "batcher_check_interval",
        "batch_size",
        "batch_window",
        "default_batcher_retry_policy",
        "default_playbook",
        "default_ansible_config",
        "additional_inventory_url",
        "batcher_max_backoff",
        "batcher_disable",
        "batcher_pending_timeout",
        "logging_level",
    ),
    "session_ttl": ("sessionTTL", None),
}
SESSION: Shape = {
    **_plain("name", "configuration", "ansible", "target"),
    "status": (
        "status",
        {
            **_plain("artifacts"),
            "session": ("session", _plain("job", "status", "succeeded") | _camel("completion_time", "start_time")),
        },
    ),
    **_plain("tags"),
}
_STATE = _camel("clone_url", "playbook", "commit", "last_updated", "session_name")
COMPONENT: Shape = {
    "id": ("id", None),
    "state": ("state", _STATE),
    "state_append": ("stateAppend", _camel("clone_url", "playbook", "commit", "session_name")),
    "desired_config": ("desiredConfig", None),
    "desired_state": ("desiredState", _STATE),
    **_camel("error_count", "retry_policy", "enabled", "configuration_status", "tags"),
}
CONFIGURATION: Shape = {
    **_camel("name", "description", "last_updated"),
    "layers": (
        "layers",
        {
            **_camel("name", "clone_url", "playbook", "commit", "branch"),
            "special_parameters": ("specialParameters", _camel("ims_require_dkms")),
        },
    ),
    "additional_inventory": ("additional_inventory", _camel("name", "clone_url", "commit", "branch")),
}


def to_v2(record: Record, shape: Shape) -> Record:
    return {v2: _value_to_v2(record[v3], inner) for v3, (v2, inner) in shape.items() if v3 in record}


def from_v2(record: Record, shape: Shape) -> Record:
    """The record in version 3; raises ``UncaughtError`` when it is not an object."""
    if not isinstance(record, dict):
        raise UncaughtError
    return {v3: _value_from_v2(record[v2], inner) for v3, (v2, inner) in shape.items() if v2 in record}


def _value_to_v2(value: Json, inner: Shape | None) -> Json:
    if inner is None:
        return value
    if isinstance(value, list):
        return [to_v2(item, inner) for item in value]
    return to_v2(value or {}, inner)


def _value_from_v2(value: Json, inner: Shape | None) -> Json:
    if inner is None:
        return value
    if isinstance(value, list):
        return [from_v2(item, inner) for item in value]
    return from_v2(value or {}, inner)
