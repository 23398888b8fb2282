"""``/locks``: locks, and whether components may be reserved at all."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.hms.names import normal
from csm_emulator.records import Json
from csm_emulator.services.smd.components import filters
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal, refused, with_body
from csm_emulator.services.smd.locks import reservations
from csm_emulator.services.smd.locks.filters import (
    BASE,
    FILTER,
    NAMES,
    NOT_FOUND,
    SENTENCES,
    Done,
    checked,
    chosen,
    counted,
    failure,
    is_rigid,
    sorted_out,
)
from csm_emulator.services.smd.locks.table import Book, times
from csm_emulator.services.smd.query_parameters import values
from csm_emulator.services.smd.responses import answer, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_IN_QUERY = ("Type", "State", "Role", "Subrole", "Locked", "ReservationDisabled")
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_CRASH = "SMD ends the connection here without an answer: runtime error"


class Locks:
    def __init__(self, hsm: Hsm, book: Book) -> None:
        self._hsm = hsm
        self._book = book

    def status(self, _: Call, body: Json) -> Reply:
        if body["Reserved"] == []:
            return problem(500, _CRASH)
        found = self._statuses(chosen(self._hsm, body), body["Reserved"])
        if not found:
            raise Refusal(NOT_FOUND)
        reply = {"Components": found}
        wanted, known = [normal(text) for text in body["ComponentIDs"] or ()], {each["ID"] for each in found}
        # SMD looks for the missing only when other numbers of them were named than found.
        missing = [xname for xname in wanted if xname not in known] if len(wanted) != len(found) else []
        return answer({**reply, "NotFound": missing} if missing else reply)

    def status_by_query(self, call: Call) -> Reply:
        reserved = values(call, "reserved") or None
        if reserved and reserved[0] not in _BOOLS:
            return problem(400, f"bad 'Reserved' query parameter: {reserved[0]}")
        given = {NAMES[name]: values(call, name.lower()) or None for name in _IN_QUERY}
        try:
            return answer({"Components": self._statuses(filters.select(self._hsm, given), reserved)})
        except (Refusal, DatabaseError) as error:
            return refused(error, hidden="operation 'GET' failed during query.")

    def _statuses(self, xnames: Sequence[str], reserved: Sequence[str] | None) -> list[Json]:
        found = [self._status(xname) for xname in xnames]
        if not reserved:
            return found
        if reserved[0] not in _BOOLS:
            raise Refusal("Argument was not valid")
        return [each for each in found if each["Reserved"] is _BOOLS[reserved[0]]]

    def _status(self, xname: str) -> Json:
        component, reservation = self._hsm.components[xname], self._book.find(xname)
        return {
            "ID": xname,
            "Locked": component.get("Locked", False),
            "Reserved": reservation is not None,
            **(times(reservation) if reservation else {}),
            "ReservationDisabled": component.get("ReservationDisabled", False),
        }

    def set_lock(self, locked: bool) -> Done:
        def handle(_: Call, body: Json) -> Reply:
            xnames = chosen(self._hsm, body)
            free, failures = sorted_out(xnames, lambda xname: self._hindrance(xname, locked), body)
            reserved = {xname for xname in free if self._book.find(xname)}
            if (reserved and is_rigid(body)) or len(reserved) == len(free):
                raise Refusal(SENTENCES["Reserved"])
            failures += [failure(xname, "Reserved") for xname in free if xname in reserved]
            done = [xname for xname in free if xname not in reserved]
            self._put(done, "Locked", locked)
            return answer(counted(done, failures))

        return handle

    def _hindrance(self, xname: str, locked: bool) -> str:
        component = self._hsm.components[xname]
        if component.get("Locked", False) is locked:
            return "Locked" if locked else "Unlocked"
        return "Disabled" if component.get("ReservationDisabled") else ""

    def set_disabled(self, disabled: bool) -> Done:
        def handle(_: Call, body: Json) -> Reply:
            done = chosen(self._hsm, body)
            if disabled:
                for xname in done:
                    self._book.forget(xname)
            self._put(done, "ReservationDisabled", disabled)
            return answer(counted(done, ()))

        return handle

    def _put(self, xnames: Sequence[str], field: str, value: bool) -> None:
        for xname in xnames:
            self._hsm.put_component({**self._hsm.components[xname], field: value})


def routes(hsm: Hsm) -> Sequence[Route]:
    book = Book(hsm.context)
    hsm.removals.append(book.forget)
    locks = Locks(hsm, book)

    def post(path: str, handler: Done) -> Route:
        return Route("POST", f"{BASE}/{path}", with_body(FILTER, checked(handler)))

    return (
        *reservations.reservation_routes(hsm, book),
        post("status", locks.status),
        Route("GET", f"{BASE}/status", locks.status_by_query),
        post("lock", locks.set_lock(True)),
        post("unlock", locks.set_lock(False)),
        post("repair", locks.set_disabled(False)),
        post("disable", locks.set_disabled(True)),
    )
