"""Changes of single fields, one component or many: whoever asks, by PATCH or by a Redfish event.

Each answers with the components that SMD tells its subscribers about. For one component that is the component, whether
or not its field had the value already; for several it is those whose field had not. (hmsds-postgres.go)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from csm_emulator.records import Json, Record
from csm_emulator.services.smd import enums as vocabulary
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import Refusal, fits

BAD_ARGUMENT = "a required argument did not match any valid input"
_SOFTWARE_STATUS = 32


def set_state(hsm: Hsm, xnames: Sequence[str], state: str, flag: str, *, force: bool = False) -> list[str]:
    """Those that are in a state from which this one may be reached; nobody is told that the others are not."""
    new = vocabulary.spelled(vocabulary.STATE, state)
    if not new:
        raise Refusal("Argument was not a valid HMS State")
    asked = vocabulary.spelled(vocabulary.FLAG, flag) if flag else "OK"
    # A flag that is none becomes OK, and in bulk everybody counts as changed.
    new_flag = asked or "OK"
    there = (new, asked if len(xnames) > 1 else new_flag)
    starts = _starts(new, new_flag, force=force)
    changed = []
    for xname in _known(hsm, xnames):
        record = hsm.components[xname]
        if (record["State"], record["Flag"]) != there and (starts is None or record["State"] in starts):
            _put(hsm, record, State=new, Flag="Locked" if record["Flag"] == "Locked" else new_flag)
            changed.append(xname)
    hsm.notify(changed, {"State": new, "Flag": asked})
    return changed


def _starts(state: str, flag: str, *, force: bool) -> tuple[str, ...] | None:
    """The states from which to come; None for any."""
    if (state, flag) == ("Ready", "Warning"):
        # HBTD's late heartbeats must not make a node Ready that is not, not even by force.
        return ("Ready",)
    if force:
        return None
    if not vocabulary.STARTS[state]:
        raise Refusal("operation not allowed and not forced.")
    return vocabulary.STARTS[state]


def set_flag(hsm: Hsm, xnames: Sequence[str], flag: str) -> list[str]:
    """SMD tells nobody."""
    new = vocabulary.spelled(vocabulary.FLAG, flag)
    if not new:
        raise Refusal(BAD_ARGUMENT)
    return _set(hsm, xnames, {"Flag": new})


def set_enabled(hsm: Hsm, xnames: Sequence[str], *, enabled: bool) -> list[str]:
    return _set_and_tell(hsm, xnames, {"Enabled": enabled})


def set_software_status(hsm: Hsm, xnames: Sequence[str], status: str) -> list[str]:
    fits((status, _SOFTWARE_STATUS))
    return _set_and_tell(hsm, xnames, {"SoftwareStatus": status})


def set_role(hsm: Hsm, xnames: Sequence[str], role: str, sub_role: str) -> list[str]:
    new = vocabulary.spelled(vocabulary.ROLE, role)
    new_sub = vocabulary.spelled(vocabulary.SUB_ROLE, sub_role)
    if not new:
        raise Refusal(BAD_ARGUMENT if role or len(xnames) > 1 else "a required argument was missing")
    if sub_role and not new_sub:
        raise Refusal(BAD_ARGUMENT)
    if not new_sub and len(xnames) > 1:
        # In bulk, a sub-role stays where the role is right already.
        xnames = [xname for xname in _known(hsm, xnames) if hsm.components[xname].get("Role", "") != new]
        return _set_and_tell(hsm, xnames, {"Role": new, "SubRole": ""}, several=True)
    return _set_and_tell(hsm, xnames, {"Role": new, "SubRole": new_sub})


def set_nid(hsm: Hsm, xname: str, nid: int) -> None:
    """SMD tells nobody."""
    _set(hsm, [xname], {"NID": max(nid, -1)})


def _set_and_tell(hsm: Hsm, xnames: Sequence[str], fields: Mapping[str, Json], *, several: bool = False) -> list[str]:
    changed = _set(hsm, xnames, fields, several=several)
    hsm.notify(changed, fields)
    return changed


def _set(hsm: Hsm, xnames: Sequence[str], fields: Mapping[str, Json], *, several: bool = False) -> list[str]:
    """Of several, those that differ; one always."""
    known = _known(hsm, xnames)
    if several or len(xnames) > 1:
        known = [xname for xname in known if _differs(hsm.components[xname], fields)]
    for xname in known:
        _put(hsm, hsm.components[xname], **fields)
    return known


def _differs(record: Record, fields: Mapping[str, Json]) -> bool:
    return any(record.get(name, "") != value for name, value in fields.items())


def _known(hsm: Hsm, xnames: Sequence[str]) -> list[str]:
    """SMD says nothing of those that it does not know."""
    return [xname for xname in dict.fromkeys(xnames) if xname in hsm.components]


def _put(hsm: Hsm, record: Record, **fields: Json) -> None:
    hsm.put_component({**record, **fields})
