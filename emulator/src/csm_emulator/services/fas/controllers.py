"""The controllers that FAS acts on, and their reservations, as HSM has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, TypeVar

from csm_emulator.clients.hsm import HsmClient, HsmResponse
from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.state.tables import RecordTable

DEFAULT_TYPES = ("ChassisBMC", "RouterBMC", "NodeBMC")
NO_XNAMES = "No Valid XNames Found in HSM State Components"
DISCOVERED = "DiscoverOK"
RESERVATION_MINUTES = 15
"""The real FAS takes one minute and renews all the time; HSM's longest reservation spares those renewals."""
_QUERY = {"xnames": "id", "partitions": "partition", "groups": "group"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Controller:
    xname: str
    discovery_status: str
    """The last status of its discovery."""


class Reservation(TypedDict):
    key: str
    until: float


class Controllers:
    def __init__(self, context: Context, hsm: HsmClient) -> None:
        self._clock = context.clock
        self._hsm = hsm
        self._keys: RecordTable[Reservation] = context.tables.open("fas.reservations")

    def hsm_is_alive(self) -> bool:
        return self._hsm.liveness().status < 500

    def matching(self, component_filter: Json) -> tuple[dict[str, Controller], list[str]]:
        """Controllers that match the filter and have a Redfish endpoint, by xname; and errors."""
        query = [f"{name}={value}" for field, name in _QUERY.items() for value in component_filter[field] or ()]
        query += [f"type={value}" for value in component_filter["deviceTypes"] or DEFAULT_TYPES]
        components = _entries(self._hsm.components("&".join(query)))
        endpoints = _entries(self._hsm.redfish_endpoints()) if components else []
        status = {
            endpoint["ID"]: (endpoint.get("DiscoveryInfo") or {}).get("LastDiscoveryStatus", "")
            for endpoint in endpoints
        }
        xnames = [component["ID"] for component in components if component["ID"] in status]
        return {xname: Controller(xname, status[xname]) for xname in xnames}, [] if components else [NO_XNAMES]

    def reserve(self, xname: str) -> bool:
        """Whether FAS has the reservation now."""
        reservation = self._keys.get(xname)
        if reservation is not None and reservation["until"] > self._clock.now():
            return True
        response = self._hsm.reserve([xname], "rigid", RESERVATION_MINUTES)
        reservations = _entries(response) if response.ok else []
        if not reservations:
            return False
        self._store(xname, reservations[0]["ReservationKey"])
        return True

    def renew(self, xname: str) -> None:
        """Renews a reservation that has passed half of its time."""
        reservation = self._keys.get(xname)
        if reservation is not None and reservation["until"] - self._clock.now() < RESERVATION_MINUTES * 30:
            key = reservation["key"]
            if self._hsm.renew({xname: key}, "rigid", RESERVATION_MINUTES).ok:
                self._store(xname, key)

    def release(self, xname: str) -> None:
        reservation = self._keys.pop(xname, None)
        if reservation is not None:
            self._hsm.release({xname: reservation["key"]}, "rigid")

    def _store(self, xname: str, key: str) -> None:
        self._keys[xname] = {"key": key, "until": self._clock.now() + RESERVATION_MINUTES * 60}


def _entries(response: HsmResponse[list[T]]) -> Sequence[T]:
    """FAS reads the body whatever the status is: an error, or what is not JSON, counts as an empty list."""
    try:
        return response.value()
    except ValueError:
        return []
