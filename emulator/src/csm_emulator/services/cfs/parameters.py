"""Parameters of queries, paths and headers."""

from __future__ import annotations

from csm_emulator.dialects.connexion import Parameter
from csm_emulator.dialects.json_schema import Schema
from csm_emulator.services.cfs.schemas import BOOLEAN, STRING

_AGE: Schema = {
    "type": "string",
    "example": "24h",
    "pattern": "^(?:[0-9]+[mMhHdDwW]){0,1}$",
    "minLength": 0,
    "maxLength": 10,
}
_SESSION_STATUSES = ["pending", "running", "complete"]
_SUCCEEDED = ["none", "true", "false", "unknown"]
_COMPONENT_STATUSES = ["unconfigured", "failed", "pending", "configured"]


def _words(words: list[str], **more: str) -> Schema:
    return {"type": "string", "enum": words, **more}


PAGE = (Parameter("limit", {"type": "integer", "minimum": 1}), Parameter("after_id", STRING))
IN_USE = (Parameter("in_use", BOOLEAN),)
DROP_BRANCHES = (Parameter("drop_branches", {"type": "boolean", "default": False}),)
TENANT = (
    Parameter("Cray-Tenant-Name", {"type": "string", "example": "vcluster-my-tenant1", "maxLength": 127}, "header"),
)
CONFIGURATION_NAME = (
    Parameter("configuration_id", {"type": "string", "minLength": 1, "maxLength": 60}, "path", required=True),
)


def _session_filters(statuses: Schema, succeeded: list[str]) -> tuple[Parameter, ...]:
    return (
        Parameter("min_age", _AGE),
        Parameter("max_age", _AGE),
        Parameter("status", statuses),
        Parameter("name_contains", STRING),
        Parameter("succeeded", _words(succeeded)),
        Parameter("tags", STRING),
    )


_V2_AGE = (Parameter("age", _AGE),)
V2_SESSIONS = (*_V2_AGE, *_session_filters(_words(_SESSION_STATUSES), _SUCCEEDED))
V3_SESSIONS = (*PAGE, *_session_filters(_words([*_SESSION_STATUSES, ""]), [*_SUCCEEDED, ""]))
V2_SESSIONS_DELETE = (*_V2_AGE, *_session_filters(_words(_SESSION_STATUSES, default="complete"), _SUCCEEDED))
V3_SESSIONS_DELETE = _session_filters(_words([*_SESSION_STATUSES, ""], default="complete"), [*_SUCCEEDED, ""])

_DETAILS = (Parameter("state_details", BOOLEAN), Parameter("config_details", BOOLEAN))
V2_COMPONENT = (Parameter("configDetails", BOOLEAN),)
V3_COMPONENT = _DETAILS
V2_COMPONENTS = (
    Parameter("ids", STRING),
    Parameter("status", _words(_COMPONENT_STATUSES)),
    Parameter("enabled", BOOLEAN),
    Parameter("configName", STRING),
    Parameter("configDetails", BOOLEAN),
    Parameter("tags", STRING),
)
V3_COMPONENTS = (
    *PAGE,
    Parameter("ids", STRING),
    Parameter("status", _words([*_COMPONENT_STATUSES, ""])),
    Parameter("enabled", BOOLEAN),
    Parameter("config_name", STRING),
    *_DETAILS,
    Parameter("tags", STRING),
)
