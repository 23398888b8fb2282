"""PATCH of single fields of components, one by one and in bulk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import BOOL, INT64, RAW, STRING, STRINGS, pointer_to, struct
from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json
from csm_emulator.services.smd.components import state_changes
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, with_error_replies
from csm_emulator.services.smd.responses import no_content, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/State/Components"

_FIELDS = {
    "ComponentIDs": STRINGS,
    "State": STRING,
    "Flag": STRING,
    "Enabled": pointer_to(BOOL),
    "SoftwareStatus": pointer_to(STRING),
    "Role": pointer_to(STRING),
    "SubRole": pointer_to(STRING),
    "NID": pointer_to(INT64),
    "Subtype": STRING,
    "NetType": STRING,
    "Arch": STRING,
    "Group": STRINGS,
    "Partition": STRINGS,
    "UpdateType": STRING,
    "Force": BOOL,
    "ExtendedInfo": RAW,
}
BULK_PATCH = struct("main.CompUpdate", _FIELDS)
PATCH = struct("main.compPatchIn", {"ID": STRING, **_FIELDS}, dict.fromkeys(_FIELDS, "CompUpdate"))

Change = Callable[[Hsm, Sequence[str], Json], None]


def _state(hsm: Hsm, xnames: Sequence[str], update: Json) -> None:
    if not update["State"]:
        raise HmsError("Missing State")
    state_changes.set_state(hsm, xnames, update["State"], update["Flag"], force=update["Force"])


def _flag(hsm: Hsm, xnames: Sequence[str], update: Json) -> None:
    if not update["Flag"]:
        raise HmsError("Missing Flag")
    state_changes.set_flag(hsm, xnames, update["Flag"])


def _enabled(hsm: Hsm, xnames: Sequence[str], update: Json) -> None:
    if update["Enabled"] is None:
        raise HmsError("Missing Enabled field")
    state_changes.set_enabled(hsm, xnames, enabled=update["Enabled"])


def _software_status(hsm: Hsm, xnames: Sequence[str], update: Json) -> None:
    if update["SoftwareStatus"] is None:
        raise HmsError("Missing SoftwareStatus")
    state_changes.set_software_status(hsm, xnames, update["SoftwareStatus"])


def _role(hsm: Hsm, xnames: Sequence[str], update: Json) -> None:
    if update["Role"] is None:
        raise HmsError("Missing Role")
    state_changes.set_role(hsm, xnames, update["Role"], update["SubRole"] or "")


def _nid(hsm: Hsm, xnames: Sequence[str], update: Json) -> None:
    if update["NID"] is None:
        raise HmsError("Missing NID")
    state_changes.set_nid(hsm, xnames[0], update["NID"])


_CHANGES: Sequence[tuple[str, Change]] = (
    ("StateData", _state),
    ("FlagOnly", _flag),
    ("Enabled", _enabled),
    ("SoftwareStatus", _software_status),
    ("Role", _role),
)


def routes(hsm: Hsm) -> Sequence[Route]:
    patch_routes = []
    for name, change in _CHANGES:
        patch_routes.append(
            Route("PATCH", f"{BASE}/Bulk{name}", with_error_replies(partial(_patch_many, hsm, name, change)))
        )
        patch_routes.append(
            Route("PATCH", f"{BASE}/{{xname}}/{name}", with_error_replies(partial(_patch_one, hsm, name, change)))
        )
    return [
        *patch_routes,
        Route("PATCH", f"{BASE}/{{xname}}/NID", with_error_replies(partial(_patch_one, hsm, "NID", _nid))),
    ]


def _patch_many(hsm: Hsm, name: str, change: Change, call: Call) -> Reply:
    return _apply(hsm, change, decode(call.body, BULK_PATCH), f"operation 'Bulk {name} Update' failed")


def _patch_one(hsm: Hsm, name: str, change: Change, call: Call) -> Reply:
    xname = call.args["xname"]
    update = decode(call.body, PATCH)
    if update["ID"] and update["ID"] != xname:
        return problem(400, "ID in URL and PATCH body do not match")
    return _apply(hsm, change, {**update, "ComponentIDs": [xname]}, f"operation '{name}' failed for {xname}")


def _apply(hsm: Hsm, change: Change, update: Json, failed: str) -> Reply:
    try:
        change(hsm, _xnames(update["ComponentIDs"] or ()), update)
    except HmsError as error:
        return problem(400, str(error))
    except DatabaseError:
        return problem(400, failed)
    return no_content()


def _xnames(texts: Sequence[str]) -> Sequence[str]:
    if not texts:
        raise HmsError("Missing IDs")
    xnames = [verified(text) for text in texts]
    if not all(xnames):
        raise HmsError("invalid xname ID")
    return xnames
