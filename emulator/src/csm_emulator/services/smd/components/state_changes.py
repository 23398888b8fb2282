"""Changes of single fields of one component or several, after a PATCH or a Redfish event.

Each function returns the components of which SMD notifies its subscribers. For one component that is the component,
even if its field had the value already; for several it is those whose field differed. (hmsds-postgres.go)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from csm_emulator.records import Json, Record
from csm_emulator.services.smd import enums
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import HmsError, check_widths

BAD_ARGUMENT = "a required argument did not match any valid input"
_SOFTWARE_STATUS = 32


def set_state(hsm: Hsm, xnames: Sequence[str], state: str, flag: str, *, force: bool = False) -> list[str]:
    """Change the components whose state allows the change; the caller gets no error for the others."""
    new = enums.spelled(enums.STATE, state)
    if not new:
        raise HmsError("Argument was not a valid HMS State")
    new_flag_or_empty = enums.spelled(enums.FLAG, flag) if flag else "OK"
    # An invalid flag becomes OK, and in bulk every component then counts as changed.
    new_flag = new_flag_or_empty or "OK"
    target = (new, new_flag_or_empty if len(xnames) > 1 else new_flag)
    starts = _allowed_old_states(new, new_flag, force=force)
    changed = []
    for xname in _existing(hsm, xnames):
        record = hsm.components[xname]
        if (record["State"], record["Flag"]) != target and (starts is None or record["State"] in starts):
            _put(hsm, record, State=new, Flag="Locked" if record["Flag"] == "Locked" else new_flag)
            changed.append(xname)
    hsm.notify(changed, {"State": new, "Flag": new_flag_or_empty})
    return changed


def _allowed_old_states(state: str, flag: str, *, force: bool) -> tuple[str, ...] | None:
    """The states from which this one may be reached; None for any."""
    if (state, flag) == ("Ready", "Warning"):
        # A warning about late heartbeats must not make a node Ready that is not, not even with force.
        return ("Ready",)
    if force:
        return None
    if not enums.ALLOWED_OLD_STATES[state]:
        raise HmsError("operation not allowed and not forced.")
    return enums.ALLOWED_OLD_STATES[state]


def set_flag(hsm: Hsm, xnames: Sequence[str], flag: str) -> list[str]:
    """SMD sends no notification of it."""
    new = enums.spelled(enums.FLAG, flag)
    if not new:
        raise HmsError(BAD_ARGUMENT)
    return _set(hsm, xnames, {"Flag": new})


def set_enabled(hsm: Hsm, xnames: Sequence[str], *, enabled: bool) -> list[str]:
    return _set_and_notify(hsm, xnames, {"Enabled": enabled})


def set_software_status(hsm: Hsm, xnames: Sequence[str], status: str) -> list[str]:
    check_widths((status, _SOFTWARE_STATUS))
    return _set_and_notify(hsm, xnames, {"SoftwareStatus": status})


def set_role(hsm: Hsm, xnames: Sequence[str], role: str, sub_role: str) -> list[str]:
    new = enums.spelled(enums.ROLE, role)
    new_sub = enums.spelled(enums.SUB_ROLE, sub_role)
    if not new:
        raise HmsError(BAD_ARGUMENT if role or len(xnames) > 1 else "a required argument was missing")
    if sub_role and not new_sub:
        raise HmsError(BAD_ARGUMENT)
    if not new_sub and len(xnames) > 1:
        # In bulk, a sub-role stays where the role is right already.
        xnames = [xname for xname in _existing(hsm, xnames) if hsm.components[xname].get("Role", "") != new]
        return _set_and_notify(hsm, xnames, {"Role": new, "SubRole": ""}, several=True)
    return _set_and_notify(hsm, xnames, {"Role": new, "SubRole": new_sub})


def set_nid(hsm: Hsm, xname: str, nid: int) -> None:
    """SMD sends no notification of it."""
    _set(hsm, [xname], {"NID": max(nid, -1)})


def _set_and_notify(hsm: Hsm, xnames: Sequence[str], fields: Mapping[str, Json], *, several: bool = False) -> list[str]:
    changed = _set(hsm, xnames, fields, several=several)
    hsm.notify(changed, fields)
    return changed


def _set(hsm: Hsm, xnames: Sequence[str], fields: Mapping[str, Json], *, several: bool = False) -> list[str]:
    """Set the fields. Of several components only those that differ are changed; a single one is always changed."""
    targets = _existing(hsm, xnames)
    if several or len(xnames) > 1:
        targets = [xname for xname in targets if _differs(hsm.components[xname], fields)]
    for xname in targets:
        _put(hsm, hsm.components[xname], **fields)
    return targets


def _differs(record: Record, fields: Mapping[str, Json]) -> bool:
    return any(record.get(name, "") != value for name, value in fields.items())


def _existing(hsm: Hsm, xnames: Sequence[str]) -> list[str]:
    """The components that exist; SMD ignores the other xnames."""
    return [xname for xname in dict.fromkeys(xnames) if xname in hsm.components]


def _put(hsm: Hsm, record: Record, **fields: Json) -> None:
    hsm.put_component({**record, **fields})
