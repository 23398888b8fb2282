"""``/locks/reservations`` of administrators and ``/locks/service/reservations`` of services."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import Refusal, with_body
from csm_emulator.services.smd.locks.filters import (
    BASE,
    DEPUTIES,
    FILTER,
    KEYS,
    NEEDS_DEPUTY,
    NEEDS_KEY,
    NOT_FOUND,
    SENTENCES,
    checked,
    chosen,
    counted,
    failure,
    is_rigid,
    sorted_out,
    with_duration,
)
from csm_emulator.services.smd.locks.table import Book, ends, times
from csm_emulator.services.smd.responses import answer
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route


class Reservations:
    def __init__(self, hsm: Hsm, book: Book) -> None:
        self._hsm = hsm
        self._book = book

    def create_for_admin(self, call: Call, body: Json) -> Reply:
        """Without an end, whatever duration is said."""
        return self.create(call, {**body, "ReservationDuration": 0})

    def create(self, _: Call, body: Json) -> Reply:
        minutes = body["ReservationDuration"]
        # SMD locks the rows that it reads for this, which PostgreSQL refuses where members are joined to them.
        xnames = chosen(self._hsm, body, joined=False)
        free, failures = sorted_out(xnames, lambda xname: self._hindrance(xname, minutes), body)
        taken = {xname for xname in free if self._book.find(xname)}
        if taken and is_rigid(body):
            raise Refusal(SENTENCES["Reserved"])
        failures += [failure(xname, "Reserved") for xname in free if xname in taken]
        made = [(xname, self._book.make(xname, minutes)) for xname in free if xname not in taken]
        success = [
            {"ID": xname, "DeputyKey": each["deputy"], "ReservationKey": each["key"], **ends(each)}
            for xname, each in made
        ]
        return answer({"Success": success, "Failure": failures})

    def _hindrance(self, xname: str, minutes: int) -> str:
        """Reservations without an end need a lock, those with one must not meet any."""
        component = self._hsm.components[xname]
        if component.get("ReservationDisabled"):
            return "Disabled"
        if component.get("Locked", False) is (minutes == 0):
            return ""
        return "Locked" if minutes else "Unlocked"

    def remove(self, _: Call, body: Json) -> Reply:
        """Whoever has it."""
        xnames = chosen(self._hsm, body)
        reserved = {xname for xname in xnames if self._book.find(xname)}
        if len(reserved) != len(xnames) and is_rigid(body):
            raise Refusal(NOT_FOUND)
        for xname in reserved:
            self._book.forget(xname)
        done = [xname for xname in xnames if xname in reserved]
        return answer(counted(done, [failure(xname, "NotFound") for xname in xnames if xname not in reserved]))

    def release(self, _: Call, body: Json) -> Reply:
        found = self._with_keys(body, NEEDS_DEPUTY)
        if found is None:
            return _server_errors(body)
        reply = _by_keys(body, found)
        for xname in found:
            self._book.forget(xname)
        return reply

    def renew(self, _: Call, body: Json) -> Reply:
        found = self._with_keys(body, NEEDS_KEY)
        if found is None:
            return _server_errors(body)
        found = [xname for xname in found if (self._book.find(xname) or {}).get("expires") is not None]
        reply = _by_keys(body, found)
        for xname in found:
            self._book.renew(xname, body["ReservationDuration"])
        return reply

    def _with_keys(self, body: Json, without_key: str) -> list[str] | None:
        """The components that the keys fit; None when a key is missing, which ends a rigid request."""
        keys = [each["Key"] for each in body["ReservationKeys"]]
        wrong = without_key if "" in keys else "" if keys else NEEDS_KEY
        if not wrong:
            return self._book.with_keys("key", keys)
        if is_rigid(body):
            raise Refusal(wrong)
        return None

    def check(self, _: Call, body: Json) -> Reply:
        keys = [each["Key"] for each in body["DeputyKeys"]]
        if "" in keys or not keys:
            raise Refusal(NEEDS_DEPUTY)
        found = self._book.with_keys("deputy", keys)
        success = [self._told(xname) for xname in found]
        known = set(found)
        missing = [each["ID"] for each in body["DeputyKeys"] if each["ID"] not in known]
        failures = [failure(xname, "NotFound") for xname in missing] if len(found) != len(keys) else []
        return answer({"Success": success, "Failure": failures})

    def _told(self, xname: str) -> Json:
        reservation = self._book.find(xname) or {}
        return {"ID": xname, "DeputyKey": reservation["deputy"], **times(reservation)}


def _by_keys(body: Json, found: Sequence[str]) -> Reply:
    named = [each["ID"] for each in body["ReservationKeys"]]
    if len(named) == len(found):
        return answer(counted(found, ()))
    if is_rigid(body):
        raise Refusal(NOT_FOUND)
    known = set(found)
    done = [xname for xname in named if xname in known]
    return answer(counted(done, [failure(xname, "NotFound") for xname in named if xname not in known]))


def _server_errors(body: Json) -> Reply:
    return answer(counted((), [failure(each["ID"], "ServerError") for each in body["ReservationKeys"]]))


def reservation_routes(hsm: Hsm, book: Book) -> Sequence[Route]:
    reservations = Reservations(hsm, book)
    admin, service = f"{BASE}/reservations", f"{BASE}/service/reservations"
    release = with_body(KEYS, checked(reservations.release))
    return (
        Route("POST", f"{admin}/remove", with_body(FILTER, checked(reservations.remove))),
        Route("POST", f"{admin}/release", release),
        Route("POST", admin, with_body(FILTER, checked(reservations.create_for_admin))),
        Route("POST", f"{service}/renew", with_body(KEYS, checked(with_duration(reservations.renew)))),
        Route("POST", f"{service}/release", release),
        Route("POST", service, with_body(FILTER, checked(with_duration(reservations.create)))),
        Route("POST", f"{service}/check", with_body(DEPUTIES, checked(reservations.check))),
    )


def routes(_: Hsm) -> Sequence[Route]:
    """They stand with the locks, whose book they share."""
    return ()
