"""``/locks``: locks, and whether components may be reserved."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.hms.names import normal
from csm_emulator.records import Json
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, error_reply, with_body
from csm_emulator.services.smd.locks import reservations
from csm_emulator.services.smd.locks.filters import (
    BASE,
    ERROR_OF_REASON,
    FILTER,
    NOT_FOUND,
    PARAMETER_OF_FIELD,
    BodyHandler,
    counts_record,
    failure,
    is_rigid,
    select_components,
    split_failures,
    with_checked_body,
)
from csm_emulator.services.smd.locks.table import ReservationTable, times
from csm_emulator.services.smd.query_parameters import values
from csm_emulator.services.smd.responses import json_reply, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_IN_QUERY = ("Type", "State", "Role", "Subrole", "Locked", "ReservationDisabled")
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_CRASH = "SMD ends the connection here without an answer: runtime error"


class Locks:
    def __init__(self, hsm: Hsm, reservation_table: ReservationTable) -> None:
        self._hsm = hsm
        self._reservations = reservation_table

    def status(self, _: Call, body: Json) -> Reply:
        if body["Reserved"] == []:
            return problem(500, _CRASH)
        statuses = self._statuses(select_components(self._hsm, body), body["Reserved"])
        if not statuses:
            raise HmsError(NOT_FOUND)
        reply = {"Components": statuses}
        requested, present = (
            [normal(text) for text in body["ComponentIDs"] or ()],
            {status["ID"] for status in statuses},
        )
        # SMD looks for missing components only when the number of results differs from that of the request.
        missing = [xname for xname in requested if xname not in present] if len(requested) != len(statuses) else []
        return json_reply({**reply, "NotFound": missing} if missing else reply)

    def status_by_query(self, call: Call) -> Reply:
        reserved = values(call, "reserved") or None
        if reserved and reserved[0] not in _BOOLS:
            return problem(400, f"bad 'Reserved' query parameter: {reserved[0]}")
        arguments = {PARAMETER_OF_FIELD[name]: values(call, name.lower()) or None for name in _IN_QUERY}
        try:
            return json_reply({"Components": self._statuses(filters.select(self._hsm, arguments), reserved)})
        except (HmsError, DatabaseError) as error:
            return error_reply(error, database_message="operation 'GET' failed during query.")

    def _statuses(self, xnames: Sequence[str], reserved: Sequence[str] | None) -> list[Json]:
        statuses = [self._status(xname) for xname in xnames]
        if not reserved:
            return statuses
        if reserved[0] not in _BOOLS:
            raise HmsError("Argument was not valid")
        return [status for status in statuses if status["Reserved"] is _BOOLS[reserved[0]]]

    def _status(self, xname: str) -> Json:
        component, reservation = self._hsm.components[xname], self._reservations.find(xname)
        return {
            "ID": xname,
            "Locked": component.get("Locked", False),
            "Reserved": reservation is not None,
            **(times(reservation) if reservation else {}),
            "ReservationDisabled": component.get("ReservationDisabled", False),
        }

    def set_lock(self, locked: bool) -> BodyHandler:
        def handle(_: Call, body: Json) -> Reply:
            xnames = select_components(self._hsm, body)
            eligible, failures = split_failures(xnames, lambda xname: self._failure_reason(xname, locked), body)
            reserved = {xname for xname in eligible if self._reservations.find(xname)}
            if (reserved and is_rigid(body)) or len(reserved) == len(eligible):
                raise HmsError(ERROR_OF_REASON["Reserved"])
            failures += [failure(xname, "Reserved") for xname in eligible if xname in reserved]
            changed = [xname for xname in eligible if xname not in reserved]
            self._put(changed, "Locked", locked)
            return json_reply(counts_record(changed, failures))

        return handle

    def _failure_reason(self, xname: str, locked: bool) -> str:
        component = self._hsm.components[xname]
        if component.get("Locked", False) is locked:
            return "Locked" if locked else "Unlocked"
        return "Disabled" if component.get("ReservationDisabled") else ""

    def set_disabled(self, disabled: bool) -> BodyHandler:
        def handle(_: Call, body: Json) -> Reply:
            xnames = select_components(self._hsm, body)
            if disabled:
                for xname in xnames:
                    self._reservations.remove(xname)
            self._put(xnames, "ReservationDisabled", disabled)
            return json_reply(counts_record(xnames, ()))

        return handle

    def _put(self, xnames: Sequence[str], field: str, value: bool) -> None:
        for xname in xnames:
            self._hsm.put_component({**self._hsm.components[xname], field: value})


def routes(hsm: Hsm) -> Sequence[Route]:
    reservation_table = ReservationTable(hsm.context)
    hsm.removal_listeners.append(reservation_table.remove)
    locks = Locks(hsm, reservation_table)

    def post(path: str, handler: BodyHandler) -> Route:
        return Route("POST", f"{BASE}/{path}", with_body(FILTER, with_checked_body(handler)))

    return (
        *reservations.reservation_routes(hsm, reservation_table),
        post("status", locks.status),
        Route("GET", f"{BASE}/status", locks.status_by_query),
        post("lock", locks.set_lock(True)),
        post("unlock", locks.set_lock(False)),
        post("repair", locks.set_disabled(False)),
        post("disable", locks.set_disabled(True)),
    )
