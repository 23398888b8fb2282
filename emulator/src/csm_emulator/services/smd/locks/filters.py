"""Which components a request about locks or reservations means, and how it is to be carried out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from csm_emulator.dialects.go_json.types import INT, STRING, STRINGS, GoType, slice_of, struct
from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal, refused
from csm_emulator.services.smd.postgres_text import storable
from csm_emulator.services.smd.responses import problem
from csm_emulator.transport.call import Call, Reply

BASE = "/hsm/v2/locks"
NAMES = {
    "ComponentIDs": "id",
    "NID": "nid",
    "Type": "type",
    "State": "state",
    "Flag": "flag",
    "Enabled": "enabled",
    "SoftwareStatus": "softwarestatus",
    "Role": "role",
    "Subrole": "subrole",
    "Subtype": "subtype",
    "Arch": "arch",
    "Class": "class",
    "Group": "group",
    "Partition": "partition",
    "Locked": "locked",
    "ReservationDisabled": "reservation_disabled",
}
"""In a body → in the queries of components."""
_MODEL: dict[str, GoType] = {"ProcessingModel": STRING, "ReservationDuration": INT}
FILTER = struct("sm.CompLockV2Filter", {**dict.fromkeys((*NAMES, "Reserved"), STRINGS), **_MODEL})
KEY = struct("sm.CompLockV2Key", {"ID": STRING, "Key": STRING})
KEYS = struct("sm.CompLockV2ReservationFilter", {"ReservationKeys": slice_of(KEY), **_MODEL})
DEPUTIES = struct("sm.CompLockV2DeputyKeyArray", {"DeputyKeys": slice_of(KEY)})

RIGID, FLEXIBLE = "rigid", "flexible"
LONGEST = 15
"""Minutes that a service may reserve for."""
NOT_FOUND = "Component not found"
NEEDS_KEY, NEEDS_DEPUTY = "Reservation Key required for operation", "Deputy Key required for operation"
SENTENCES = {
    "Locked": "Component is Locked",
    "Unlocked": "Component is Unlocked",
    "Disabled": "Component reservations are disabled",
    "Reserved": "Component is Reserved",
}
"""The reason in a list of failures → what is said when it ends the whole request."""
Done = Callable[[Call, Json], Reply]


def checked(handler: Done) -> Done:
    """Looks at the model, the duration and the keys first, and tells what SMD refuses."""

    def handle(call: Call, body: Json) -> Reply:
        try:
            return handler(call, _verified(body))
        except (Refusal, DatabaseError) as error:
            return refused(error, hidden="operation 'POST' failed during store.")

    return handle


def _verified(body: Json) -> Json:
    if "ProcessingModel" in body:
        model = (body["ProcessingModel"] or RIGID).lower()
        if model not in (RIGID, FLEXIBLE):
            raise Refusal("Invalid Processing Model")
        if body["ReservationDuration"] > LONGEST:
            raise Refusal("Invalid Reservation Duration")
        body = {**body, "ProcessingModel": model}
    for name in ("ReservationKeys", "DeputyKeys"):
        if name in body:
            body = {**body, name: [_key(each) for each in body[name] or ()]}
    return body


def _key(key: Json) -> Json:
    xname = verified(key["ID"])
    if not xname:
        raise Refusal("got HMSTypeInvalid instead of valid type")
    if not storable(key["Key"]):
        raise DatabaseError
    return {"ID": xname, "Key": key["Key"].lower()}


def with_duration(handler: Done) -> Done:
    """Services must say how long."""

    def handle(call: Call, body: Json) -> Reply:
        if body["ReservationDuration"] <= 0:
            return problem(400, "ReservationDuration must be greater than 0")
        return handler(call, body)

    return handle


def chosen(hsm: Hsm, body: Json, *, joined: bool = True) -> list[str]:
    """The components that are meant; raises ``Refusal`` when there is none."""
    found = filters.select(hsm, {NAMES[name]: body[name] for name in NAMES})
    if not joined and (body["Group"] or body["Partition"]):
        raise DatabaseError
    if not found:
        raise Refusal(NOT_FOUND)
    return found


def is_rigid(body: Json) -> bool:
    return bool(body["ProcessingModel"] == RIGID)


def sorted_out(xnames: Sequence[str], hindrance: Callable[[str], str], body: Json) -> tuple[list[str], list[Json]]:
    """Those that nothing hinders, and the failures; a rigid request ends at the first."""
    free: list[str] = []
    failures: list[Json] = []
    for xname in xnames:
        reason = hindrance(xname)
        if reason and is_rigid(body):
            raise Refusal(SENTENCES[reason])
        if reason:
            failures.append(failure(xname, reason))
        else:
            free.append(xname)
    return free, failures


def failure(xname: str, reason: str) -> Json:
    return {"ID": xname, "Reason": reason}


def counted(done: Sequence[str], failures: Sequence[Json]) -> Json:
    return {
        "Counts": {"Total": len(done) + len(failures), "Success": len(done), "Failure": len(failures)},
        "Success": {"ComponentIDs": list(done)},
        "Failure": list(failures),
    }
