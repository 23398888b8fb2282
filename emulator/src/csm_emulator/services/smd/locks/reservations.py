"""``/locks/reservations`` of administrators and ``/locks/service/reservations`` of services."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import HmsError, with_body
from csm_emulator.services.smd.locks.filters import (
    BASE,
    DEPUTIES,
    DEPUTY_KEY_REQUIRED,
    ERROR_OF_REASON,
    FILTER,
    KEY_REQUIRED,
    KEYS,
    NOT_FOUND,
    counts_record,
    failure,
    is_rigid,
    select_components,
    split_failures,
    with_checked_body,
    with_duration,
)
from csm_emulator.services.smd.locks.table import ReservationTable, expiration, times
from csm_emulator.services.smd.responses import json_reply
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route


class Reservations:
    def __init__(self, hsm: Hsm, reservation_table: ReservationTable) -> None:
        self._hsm = hsm
        self._reservations = reservation_table

    def create_for_admin(self, call: Call, body: Json) -> Reply:
        """A reservation without an end; the duration in the body is ignored."""
        return self.create(call, {**body, "ReservationDuration": 0})

    def create(self, _: Call, body: Json) -> Reply:
        minutes = body["ReservationDuration"]
        # SMD locks the rows that it reads here, which PostgreSQL refuses for a join with members.
        xnames = select_components(self._hsm, body, joined=False)
        eligible, failures = split_failures(xnames, lambda xname: self._failure_reason(xname, minutes), body)
        reserved = {xname for xname in eligible if self._reservations.find(xname)}
        if reserved and is_rigid(body):
            raise HmsError(ERROR_OF_REASON["Reserved"])
        failures += [failure(xname, "Reserved") for xname in eligible if xname in reserved]
        reservations = [
            (xname, self._reservations.create(xname, minutes)) for xname in eligible if xname not in reserved
        ]
        success = [
            {
                "ID": xname,
                "DeputyKey": reservation["deputy"],
                "ReservationKey": reservation["key"],
                **expiration(reservation),
            }
            for xname, reservation in reservations
        ]
        return json_reply({"Success": success, "Failure": failures})

    def _failure_reason(self, xname: str, minutes: int) -> str:
        """Reservations without an end need a locked component, those with an end an unlocked one."""
        component = self._hsm.components[xname]
        if component.get("ReservationDisabled"):
            return "Disabled"
        if component.get("Locked", False) is (minutes == 0):
            return ""
        return "Locked" if minutes else "Unlocked"

    def remove(self, _: Call, body: Json) -> Reply:
        """Remove reservations without their keys."""
        xnames = select_components(self._hsm, body)
        reserved = {xname for xname in xnames if self._reservations.find(xname)}
        if len(reserved) != len(xnames) and is_rigid(body):
            raise HmsError(NOT_FOUND)
        for xname in reserved:
            self._reservations.remove(xname)
        removed = [xname for xname in xnames if xname in reserved]
        return json_reply(
            counts_record(removed, [failure(xname, "NotFound") for xname in xnames if xname not in reserved])
        )

    def release(self, _: Call, body: Json) -> Reply:
        xnames = self._with_keys(body, DEPUTY_KEY_REQUIRED)
        if xnames is None:
            return _server_errors(body)
        reply = _keys_reply(body, xnames)
        for xname in xnames:
            self._reservations.remove(xname)
        return reply

    def renew(self, _: Call, body: Json) -> Reply:
        xnames = self._with_keys(body, KEY_REQUIRED)
        if xnames is None:
            return _server_errors(body)
        xnames = [xname for xname in xnames if self._reservations.expires(xname)]
        reply = _keys_reply(body, xnames)
        for xname in xnames:
            self._reservations.renew(xname, body["ReservationDuration"])
        return reply

    def _with_keys(self, body: Json, without_key: str) -> list[str] | None:
        """The components of the keys; None when a key is missing, which raises ``HmsError`` in a rigid request."""
        keys = [key["Key"] for key in body["ReservationKeys"]]
        error = without_key if "" in keys else "" if keys else KEY_REQUIRED
        if not error:
            return self._reservations.with_keys("key", keys)
        if is_rigid(body):
            raise HmsError(error)
        return None

    def check(self, _: Call, body: Json) -> Reply:
        keys = [key["Key"] for key in body["DeputyKeys"]]
        if "" in keys or not keys:
            raise HmsError(DEPUTY_KEY_REQUIRED)
        xnames = self._reservations.with_keys("deputy", keys)
        success = [self._reservation_status(xname) for xname in xnames]
        reserved = set(xnames)
        missing = [key["ID"] for key in body["DeputyKeys"] if key["ID"] not in reserved]
        failures = [failure(xname, "NotFound") for xname in missing] if len(xnames) != len(keys) else []
        return json_reply({"Success": success, "Failure": failures})

    def _reservation_status(self, xname: str) -> Json:
        reservation = self._reservations.get(xname)
        return {"ID": xname, "DeputyKey": reservation["deputy"], **times(reservation)}


def _keys_reply(body: Json, xnames: Sequence[str]) -> Reply:
    requested = [key["ID"] for key in body["ReservationKeys"]]
    if len(requested) == len(xnames):
        return json_reply(counts_record(xnames, ()))
    if is_rigid(body):
        raise HmsError(NOT_FOUND)
    fitting = set(xnames)
    successes = [xname for xname in requested if xname in fitting]
    return json_reply(
        counts_record(successes, [failure(xname, "NotFound") for xname in requested if xname not in fitting])
    )


def _server_errors(body: Json) -> Reply:
    return json_reply(counts_record((), [failure(key["ID"], "ServerError") for key in body["ReservationKeys"]]))


def reservation_routes(hsm: Hsm, reservation_table: ReservationTable) -> Sequence[Route]:
    reservations = Reservations(hsm, reservation_table)
    admin, service = f"{BASE}/reservations", f"{BASE}/service/reservations"
    release = with_body(KEYS, with_checked_body(reservations.release))
    return (
        Route("POST", f"{admin}/remove", with_body(FILTER, with_checked_body(reservations.remove))),
        Route("POST", f"{admin}/release", release),
        Route("POST", admin, with_body(FILTER, with_checked_body(reservations.create_for_admin))),
        Route("POST", f"{service}/renew", with_body(KEYS, with_checked_body(with_duration(reservations.renew)))),
        Route("POST", f"{service}/release", release),
        Route("POST", service, with_body(FILTER, with_checked_body(with_duration(reservations.create)))),
        Route("POST", f"{service}/check", with_body(DEPUTIES, with_checked_body(reservations.check))),
    )


def routes(_: Hsm) -> Sequence[Route]:
    """None here: the module ``locks`` adds ``reservation_routes``, since both share a table."""
    return ()
