"""Component records and how patches change them. Records are values: no function here changes one in place."""

from __future__ import annotations

from csm_emulator.records import Record

NO_ARTEFACTS: Record = {"kernel": "", "kernel_parameters": "", "initrd": ""}
NO_ACTUAL_STATE: Record = {"boot_artifacts": NO_ARTEFACTS, "bss_token": ""}
NO_DESIRED_STATE: Record = {"configuration": "", "boot_artifacts": NO_ARTEFACTS, "bss_token": ""}
NO_STAGED_STATE: Record = {"configuration": "", "boot_artifacts": NO_ARTEFACTS}
NO_ATTEMPTS: Record = {"power_on_attempts": 0, "power_off_graceful_attempts": 0, "power_off_forceful_attempts": 0}

POWERING_ON, POWERING_OFF, CONFIGURING, NO_PHASE = "powering_on", "powering_off", "configuring", ""

DID_POWER_ON = "powering_on"
DID_POWER_OFF = "powering_off_gracefully"
DID_FORCE_OFF = "powering_off_forcefully"

ON_PENDING, ON_CALLED = "power_on_pending", "power_on_called"
OFF_PENDING, OFF_CALLED = "power_off_pending", "power_off_gracefully_called"
FORCE_CALLED = "power_off_forcefully_called"
STABLE, FAILED, ON_HOLD = "stable", "failed", "on_hold"

_STATES = frozenset({"actual_state", "desired_state", "staged_state"})
_MERGED = frozenset({"last_action", "event_stats", "status"})
_EMPTY: Record = {}


def status_of(record: Record) -> str:
    """The component's status as one word: the override if there is one, else derived from phase and last action."""
    status = record.get("status", _EMPTY)
    override = status.get("status_override", "")
    if override:
        return str(override)
    phase = status.get("phase", NO_PHASE)
    if phase == NO_PHASE:
        return STABLE
    if phase == CONFIGURING:
        return CONFIGURING
    last = record.get("last_action", _EMPTY)
    action = last.get("action", "")
    if phase == POWERING_ON:
        return ON_CALLED if action == DID_POWER_ON and not last.get("failed", False) else ON_PENDING
    return {DID_POWER_OFF: OFF_CALLED, DID_FORCE_OFF: FORCE_CALLED}.get(action, OFF_PENDING)


def public_record(record: Record) -> Record:
    """The record as the API returns it: with the status word, which is computed and not stored."""
    status = record.get("status", {"phase": "", "status_override": ""})
    return {**record, "status": {**status, "status": status_of(record)}}


def merge_patch(record: Record, patch: Record) -> Record:
    """The record after the patch; states and statistics are merged field by field, other values replaced."""
    result = dict(record)
    for name, value in patch.items():
        if name == "id":
            continue
        if name in result and name in _STATES:
            result[name] = _merged_state(result[name], value)
        elif name in result and name in _MERGED:
            result[name] = {**result[name], **value}
        else:
            result[name] = value
    return result


def _merged_state(state: Record, patch: Record) -> Record:
    result = {**state, **patch}
    if "boot_artifacts" in state and "boot_artifacts" in patch:
        result["boot_artifacts"] = {**state["boot_artifacts"], **patch["boot_artifacts"]}
    return result


def should_be_off(record: Record) -> bool:
    """Whether the desired state is "off": it names no kernel."""
    artefacts = record.get("desired_state", _EMPTY).get("boot_artifacts")
    return not artefacts or not artefacts.get("kernel")


def runs_desired_state(record: Record) -> bool:
    desired = record.get("desired_state", _EMPTY).get("boot_artifacts")
    actual = record.get("actual_state", _EMPTY).get("boot_artifacts")
    if desired is None or actual is None:
        return desired is actual
    return (
        desired.get("kernel") == actual.get("kernel")
        and desired.get("initrd") == actual.get("initrd")
        and (desired.get("kernel_parameters") or None) == (actual.get("kernel_parameters") or None)
    )


def configuration_of(record: Record) -> str | None:
    configuration = record.get("desired_state", _EMPTY).get("configuration")
    return None if configuration is None else str(configuration)


def has_boot_artefacts(record: Record) -> bool:
    return any((record.get("actual_state", _EMPTY).get("boot_artifacts") or _EMPTY).values())
