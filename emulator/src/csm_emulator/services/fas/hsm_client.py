"""What FAS asks of HSM: which controllers there are, whether they are discovered, and their reservation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.transport.call import Reply

TYPES = ("ChassisBMC", "RouterBMC", "NodeBMC")
NOBODY = "No Valid XNames Found in HSM State Components"
OK = "DiscoverOK"
RESERVATIONS = "/hsm/v2/locks/service/reservations"
MINUTES = 15
"""The real one takes one minute and renews all the time; the longest that HSM gives spares that."""
_QUERY = {"xnames": "id", "partitions": "partition", "groups": "group"}


@dataclass(frozen=True, slots=True)
class Device:
    xname: str
    discovered: str
    """The last status of its discovery."""


class Hsm:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._keys = context.tables.open("fas.reservations")

    def alive(self) -> bool:
        return self._context.mesh.ask("smd", "GET", "/hsm/v2/service/liveness").status < 500

    def devices(self, wanted: Json) -> tuple[dict[str, Device], list[str]]:
        """The controllers that the filter lets through and that have a Redfish endpoint; what went wrong."""
        query = [f"{name}={value}" for field, name in _QUERY.items() for value in wanted[field] or ()]
        query += [f"type={value}" for value in wanted["deviceTypes"] or TYPES]
        found = _listed(self._ask(f"/hsm/v2/State/Components?{'&'.join(query)}"), "Components")
        endpoints = _listed(self._ask("/hsm/v2/Inventory/RedfishEndpoints"), "RedfishEndpoints") if found else []
        status = {each["ID"]: (each.get("DiscoveryInfo") or {}).get("LastDiscoveryStatus", "") for each in endpoints}
        known = {each["ID"]: Device(each["ID"], status[each["ID"]]) for each in found if each["ID"] in status}
        return known, [] if found else [NOBODY]

    def reserve(self, xname: str) -> bool:
        """Whether it is ours now."""
        kept = self._keys.get(xname)
        if kept is not None and kept["until"] > self._context.clock.now():
            return True
        body = {"ComponentIDs": [xname], "ProcessingModel": "rigid", "ReservationDuration": MINUTES}
        reply = self._context.mesh.ask("smd", "POST", RESERVATIONS, body)
        got = _listed(reply, "Success") if reply.ok else []
        if not got:
            return False
        self._keep(xname, got[0]["ReservationKey"])
        return True

    def renew(self, xname: str) -> None:
        kept = self._keys.get(xname)
        if kept is not None and kept["until"] - self._context.clock.now() < MINUTES * 30:
            keys = [{"ID": xname, "Key": kept["key"]}]
            body = {"ReservationKeys": keys, "ProcessingModel": "rigid", "ReservationDuration": MINUTES}
            if self._context.mesh.ask("smd", "POST", f"{RESERVATIONS}/renew", body).ok:
                self._keep(xname, kept["key"])

    def release(self, xname: str) -> None:
        """What HSM does not take back falls off by itself."""
        kept = self._keys.pop(xname, None)
        if kept is not None:
            body = {"ReservationKeys": [{"ID": xname, "Key": kept["key"]}], "ProcessingModel": "rigid"}
            self._context.mesh.ask("smd", "POST", f"{RESERVATIONS}/release", body)

    def _keep(self, xname: str, key: str) -> None:
        self._keys[xname] = {"key": key, "until": self._context.clock.now() + MINUTES * 60}

    def _ask(self, path: str) -> Reply:
        return self._context.mesh.ask("smd", "GET", path)


def _listed(reply: Reply, name: str) -> Sequence[Json]:
    """What is no such list counts as empty: FAS reads whatever comes back, a problem too."""
    try:
        found = reply.json()
    except ValueError:
        return []
    return (found.get(name) or []) if isinstance(found, dict) else []
