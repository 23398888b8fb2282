"""The table of reservations; a reservation that has expired is removed when it is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

_MINUTE = 60.0


class Reservation(TypedDict):
    created: float
    expires: float | None
    """None without an end."""
    deputy: str
    key: str


class ReservationTable:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._table: RecordTable[Reservation] = context.tables.open("smd.reservations")
        self._numbers: RecordTable[int] = context.tables.open("smd.reservations.numbers")

    def find(self, xname: str) -> Reservation | None:
        reservation = self._table.get(xname)
        if (
            reservation is not None
            and reservation["expires"] is not None
            and reservation["expires"] <= self._context.clock.now()
        ):
            del self._table[xname]
            return None
        return reservation

    def get(self, xname: str) -> Reservation:
        """The reservation of a component that has one."""
        return self._table[xname]

    def expires(self, xname: str) -> bool:
        """Whether the component has a reservation that has an end."""
        reservation = self.find(xname)
        return reservation is not None and reservation["expires"] is not None

    def create(self, xname: str, minutes: int) -> Reservation:
        number = self._numbers.get("last", 0) + 1
        self._numbers["last"] = number
        now, random = self._context.clock.now(), self._context.random
        self._table[xname] = {
            "created": now,
            "expires": now + minutes * _MINUTE if minutes else None,
            "deputy": f"{xname}:dk:{random.uuid('deputy', number)}",
            "key": f"{xname}:rk:{random.uuid('reservation', number)}",
        }
        return self._table[xname]

    def renew(self, xname: str, minutes: int) -> None:
        self._table[xname] = {**self._table[xname], "expires": self._context.clock.now() + minutes * _MINUTE}

    def remove(self, xname: str) -> None:
        self._table.pop(xname, None)

    def with_keys(self, kind: Literal["key", "deputy"], keys: Iterable[str]) -> list[str]:
        """The components whose ``key`` or ``deputy`` key is one of these; a key begins with the xname."""
        xnames = []
        for key in dict.fromkeys(keys):
            xname = key.partition(":")[0]
            reservation = self.find(xname)
            if reservation is not None and reservation[kind] == key:
                xnames.append(xname)
        return xnames


def times(reservation: Reservation) -> Json:
    """When it was created and, if it has an end, when it expires, in whole seconds."""
    creation = {"CreationTime": rfc3339(reservation["created"], 0)}
    return creation | expiration(reservation)


def expiration(reservation: Reservation) -> Json:
    return {} if reservation["expires"] is None else {"ExpirationTime": rfc3339(reservation["expires"], 0)}
