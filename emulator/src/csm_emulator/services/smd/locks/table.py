"""The table of reservations; a reservation that has expired is removed when it is read."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.state.clock import rfc3339

_MINUTE = 60.0


class ReservationTable:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._table = context.tables.open("smd.reservations")
        self._numbers = context.tables.open("smd.reservations.numbers")

    def find(self, xname: str) -> Json | None:
        reservation = self._table.get(xname)
        if (
            reservation is not None
            and reservation["expires"] is not None
            and reservation["expires"] <= self._context.clock.now()
        ):
            del self._table[xname]
            return None
        return reservation

    def create(self, xname: str, minutes: int) -> Json:
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

    def with_keys(self, kind: str, keys: Iterable[str]) -> list[str]:
        """The components whose ``key`` or ``deputy`` key is one of these; a key begins with the xname."""
        xnames = []
        for key in dict.fromkeys(keys):
            xname = key.partition(":")[0]
            reservation = self.find(xname)
            if reservation is not None and reservation[kind] == key:
                xnames.append(xname)
        return xnames


def times(reservation: Json) -> Json:
    """When it was created and, if it has an end, when it expires, in whole seconds."""
    creation = {"CreationTime": rfc3339(reservation["created"], 0)}
    return creation | expiration(reservation)


def expiration(reservation: Json) -> Json:
    return {} if reservation["expires"] is None else {"ExpirationTime": rfc3339(reservation["expires"], 0)}
