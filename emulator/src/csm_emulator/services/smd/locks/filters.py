"""The body of a request about locks or reservations: its components and its processing model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from csm_emulator.dialects.go_json.types import INT, STRING, STRINGS, GoType, slice_of, struct
from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, error_reply
from csm_emulator.services.smd.postgres_text import storable
from csm_emulator.services.smd.responses import problem
from csm_emulator.transport.call import Call, Reply

BASE = "/hsm/v2/locks"
PARAMETER_OF_FIELD = {
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
"""Field of a body → parameter of component filters."""
_MODEL: dict[str, GoType] = {"ProcessingModel": STRING, "ReservationDuration": INT}
FILTER = struct("sm.CompLockV2Filter", {**dict.fromkeys((*PARAMETER_OF_FIELD, "Reserved"), STRINGS), **_MODEL})
KEY = struct("sm.CompLockV2Key", {"ID": STRING, "Key": STRING})
KEYS = struct("sm.CompLockV2ReservationFilter", {"ReservationKeys": slice_of(KEY), **_MODEL})
DEPUTIES = struct("sm.CompLockV2DeputyKeyArray", {"DeputyKeys": slice_of(KEY)})

RIGID, FLEXIBLE = "rigid", "flexible"
MAX_MINUTES = 15
"""The longest reservation of a service in minutes."""
NOT_FOUND = "Component not found"
KEY_REQUIRED, DEPUTY_KEY_REQUIRED = "Reservation Key required for operation", "Deputy Key required for operation"
ERROR_OF_REASON = {
    "Locked": "Component is Locked",
    "Unlocked": "Component is Unlocked",
    "Disabled": "Component reservations are disabled",
    "Reserved": "Component is Reserved",
}
"""Reason in a list of failures → message when it ends the whole request."""
BodyHandler = Callable[[Call, Json], Reply]


def with_checked_body(handler: BodyHandler) -> BodyHandler:
    """The handler, preceded by checks of the model, the duration and the keys; errors become replies."""

    def handle(call: Call, body: Json) -> Reply:
        try:
            return handler(call, _checked_body(body))
        except (HmsError, DatabaseError) as error:
            return error_reply(error, database_message="operation 'POST' failed during store.")

    return handle


def _checked_body(body: Json) -> Json:
    if "ProcessingModel" in body:
        model = (body["ProcessingModel"] or RIGID).lower()
        if model not in (RIGID, FLEXIBLE):
            raise HmsError("Invalid Processing Model")
        if body["ReservationDuration"] > MAX_MINUTES:
            raise HmsError("Invalid Reservation Duration")
        body = {**body, "ProcessingModel": model}
    for name in ("ReservationKeys", "DeputyKeys"):
        if name in body:
            body = {**body, name: [_key(key) for key in body[name] or ()]}
    return body


def _key(key: Json) -> Json:
    xname = verified(key["ID"])
    if not xname:
        raise HmsError("got HMSTypeInvalid instead of valid type")
    if not storable(key["Key"]):
        raise DatabaseError
    return {"ID": xname, "Key": key["Key"].lower()}


def with_duration(handler: BodyHandler) -> BodyHandler:
    """The handler, preceded by the check that the request has a duration, as those of services must."""

    def handle(call: Call, body: Json) -> Reply:
        if body["ReservationDuration"] <= 0:
            return problem(400, "ReservationDuration must be greater than 0")
        return handler(call, body)

    return handle


def select_components(hsm: Hsm, body: Json, *, joined: bool = True) -> list[str]:
    """The components that the body selects; raises ``HmsError`` when there are none."""
    xnames = filters.select(hsm, {PARAMETER_OF_FIELD[name]: body[name] for name in PARAMETER_OF_FIELD})
    if not joined and (body["Group"] or body["Partition"]):
        raise DatabaseError
    if not xnames:
        raise HmsError(NOT_FOUND)
    return xnames


def is_rigid(body: Json) -> bool:
    return bool(body["ProcessingModel"] == RIGID)


def split_failures(
    xnames: Sequence[str], failure_reason: Callable[[str], str], body: Json
) -> tuple[list[str], list[Json]]:
    """The components without a failure reason, and the failures; a rigid request raises ``HmsError`` at the first."""
    eligible: list[str] = []
    failures: list[Json] = []
    for xname in xnames:
        reason = failure_reason(xname)
        if reason and is_rigid(body):
            raise HmsError(ERROR_OF_REASON[reason])
        if reason:
            failures.append(failure(xname, reason))
        else:
            eligible.append(xname)
    return eligible, failures


def failure(xname: str, reason: str) -> Json:
    return {"ID": xname, "Reason": reason}


def counts_record(successes: Sequence[str], failures: Sequence[Json]) -> Json:
    return {
        "Counts": {"Total": len(successes) + len(failures), "Success": len(successes), "Failure": len(failures)},
        "Success": {"ComponentIDs": list(successes)},
        "Failure": list(failures),
    }
