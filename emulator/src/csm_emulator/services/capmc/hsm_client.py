"""CAPMC's client of HSM: components and reservations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from csm_emulator.records import Json
from csm_emulator.services.capmc.responses import CapmcError, InvalidIds
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import Mesh

MAX_IDS = 2048
"""The largest number of ids in one URL."""
RESERVATIONS = "/hsm/v2/locks/service/reservations"
RESERVATION_MINUTES = 3
_LEAVES = frozenset({"Node", "CabinetPDUOutlet", "CabinetPDUPowerConnector", "HSNBoard"})
_DESCENDANTS = ("chassis", "cabinetpdu", "routermodule", "hsnboard", "computemodule", "node")

Query = Sequence[tuple[str, str]]
Keys = Mapping[str, Sequence[str]]
"""Xname → [reservation key, deputy key]."""


class Hsm:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def ready(self) -> str:
        reply = self._mesh.ask("smd", "GET", "/hsm/v2/service/ready")
        if not reply.ok:
            return "HSM queries result in error"
        return "HSM not ready" if reply.json().get("code") else "HSM Ready"

    def components(self, query: Query) -> list[Json]:
        return self._components("/hsm/v2/State/Components", query)

    def _components(self, path: str, query: Query) -> list[Json]:
        reply = self._mesh.ask("smd", "GET", f"{path}?{urlencode(query)}")
        if reply.status >= 300:
            raise CapmcError(500, _error_message(reply))
        return reply.json().get("Components") or []

    def by_xname(self, names: Sequence[str], query: Query) -> list[Json]:
        """The named components, or without names all that match; raises ``InvalidIds`` when a named one is missing."""
        components: dict[str, Json] = {}
        for start in range(0, max(len(names), 1), MAX_IDS):
            ids = [("id", name) for name in names[start : start + MAX_IDS]]
            components |= {
                component["ID"]: component
                for component in self.components([*ids, *query])
                if component.get("State") != "Empty"
            }
        missing = [name for name in names if name not in components]
        if missing:
            raise InvalidIds("disabled or not found", missing)
        return [components[name] for name in names] if names else list(components.values())

    def descendants(self, names: Iterable[str], types: Iterable[str]) -> list[str]:
        """The components and all below them; raises ``InvalidIds`` for those that HSM does not have."""
        xnames: dict[str, None] = {}
        invalid: list[str] = []
        query = [("state", "!Empty"), *(("type", kind) for kind in _DESCENDANTS)]
        for name, kind in zip(names, types, strict=True):
            if name in xnames:
                continue
            if kind in _LEAVES:
                xnames[name] = None
                continue
            components = self._components(f"/hsm/v2/State/Components/Query/{name}", query)
            xnames.update({component["ID"]: None for component in components})
            invalid += [] if components else [name]
        if invalid:
            raise InvalidIds("invalid xnames", invalid)
        return list(xnames)

    def reserve(self, names: Sequence[str]) -> Keys | None:
        """Reserve all or none; None when one of them is reserved or locked."""
        body = {"ComponentIDs": list(names), "ProcessingModel": "rigid", "ReservationDuration": RESERVATION_MINUTES}
        reply = self._mesh.ask("smd", "POST", RESERVATIONS, body)
        reservations = (reply.json().get("Success") or []) if reply.ok else []
        keys = {
            reservation["ID"]: [reservation["ReservationKey"], reservation["DeputyKey"]] for reservation in reservations
        }
        if len(keys) == len(set(names)):
            return keys
        self.release(keys)
        return None

    def renew(self, keys: Keys) -> None:
        body = {"ReservationKeys": _reservation_keys(keys), "ProcessingModel": "flexible"}
        self._mesh.ask("smd", "POST", f"{RESERVATIONS}/renew", {**body, "ReservationDuration": RESERVATION_MINUTES})

    def release(self, keys: Keys) -> None:
        """Release them; reservations that cannot be released expire."""
        if keys:
            body = {"ReservationKeys": _reservation_keys(keys), "ProcessingModel": "flexible"}
            self._mesh.ask("smd", "POST", f"{RESERVATIONS}/release", body)


def _reservation_keys(keys: Keys) -> list[Json]:
    return [{"ID": name, "Key": reservation} for name, (reservation, _) in keys.items()]


def _error_message(reply: Reply) -> str:
    """CAPMC's message about an error of HSM (``doRequest`` in hsmapi.go)."""
    if not reply.media.startswith("application/problem+json"):
        return reply.body.decode(errors="replace")
    problem = reply.json()
    message = "Hardware State Manager error"
    if problem.get("status", 0) >= 400 and problem.get("title"):
        message += f": Error: {problem['status']} {problem['title']}"
    return message + (f": Details: {problem['detail']}" if problem.get("detail") else "")
