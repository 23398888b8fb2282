"""Components and reservations of HSM, with the errors that CAPMC makes of its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from csm_emulator.clients.hsm import Component, HsmClient, HsmResponse
from csm_emulator.services.capmc.responses import CapmcError, InvalidIds
from csm_emulator.transport.call import Reply

MAX_IDS_PER_URL = 2048
RESERVATION_MINUTES = 3
_LEAVES = frozenset({"Node", "CabinetPDUOutlet", "CabinetPDUPowerConnector", "HSNBoard"})
_DESCENDANTS = ("chassis", "cabinetpdu", "routermodule", "hsnboard", "computemodule", "node")

Query = Sequence[tuple[str, str]]
Keys = Mapping[str, Sequence[str]]
"""Reservation key and deputy key, by xname."""


class Components:
    def __init__(self, hsm: HsmClient) -> None:
        self._hsm = hsm

    def health(self) -> str:
        response = self._hsm.ready()
        if not response.ok:
            return "HSM queries result in error"
        return "HSM not ready" if response.value().get("code") else "HSM Ready"

    def matching(self, query: Query) -> list[Component]:
        """Raises ``CapmcError`` when HSM answers with an error."""
        return _checked(self._hsm.components(urlencode(query)))

    def by_xname(self, names: Sequence[str], query: Query) -> list[Component]:
        """The named components, or all that match when none is named. Raises ``InvalidIds`` for missing ones."""
        components: dict[str, Component] = {}
        for start in range(0, max(len(names), 1), MAX_IDS_PER_URL):
            ids = [("id", name) for name in names[start : start + MAX_IDS_PER_URL]]
            matches = self.matching([*ids, *query])
            components |= {match["ID"]: match for match in matches if match.get("State") != "Empty"}
        missing = [name for name in names if name not in components]
        if missing:
            raise InvalidIds("disabled or not found", missing)
        return [components[name] for name in names] if names else list(components.values())

    def descendants(self, names: Iterable[str], types: Iterable[str]) -> list[str]:
        """The components and everything below them. Raises ``InvalidIds`` for names for which HSM has no component."""
        xnames: dict[str, None] = {}
        missing: list[str] = []
        query = urlencode([("state", "!Empty"), *(("type", kind) for kind in _DESCENDANTS)])
        for name, kind in zip(names, types, strict=True):
            if name in xnames:
                continue
            if kind in _LEAVES:
                xnames[name] = None
                continue
            components = _checked(self._hsm.descendants(name, query))
            xnames.update({component["ID"]: None for component in components})
            if not components:
                missing.append(name)
        if missing:
            raise InvalidIds("invalid xnames", missing)
        return list(xnames)

    def reserve(self, names: Sequence[str]) -> Keys | None:
        """Reserves all of them, or none: None when one of them is reserved already, or locked."""
        response = self._hsm.reserve(names, "rigid", RESERVATION_MINUTES)
        reservations = response.value() if response.ok else []
        keys = {entry["ID"]: [entry["ReservationKey"], entry["DeputyKey"]] for entry in reservations}
        if len(keys) == len(set(names)):
            return keys
        self.release(keys)
        return None

    def renew(self, keys: Keys) -> None:
        self._hsm.renew(_reservation_keys(keys), "flexible", RESERVATION_MINUTES)

    def release(self, keys: Keys) -> None:
        if keys:
            self._hsm.release(_reservation_keys(keys), "flexible")


def _reservation_keys(keys: Keys) -> dict[str, str]:
    return {name: reservation for name, (reservation, _) in keys.items()}


def _checked(response: HsmResponse[list[Component]]) -> list[Component]:
    if response.status >= 300:
        raise CapmcError(500, _error_text(response.reply))
    return response.value()


def _error_text(reply: Reply) -> str:
    """As CAPMC words an error of HSM (``doRequest`` in hsmapi.go)."""
    if not reply.media.startswith("application/problem+json"):
        return reply.body.decode(errors="replace")
    problem = reply.json()
    message = "Hardware State Manager error"
    if problem.get("status", 0) >= 400 and problem.get("title"):
        message += f": Error: {problem['status']} {problem['title']}"
    return message + (f": Details: {problem['detail']}" if problem.get("detail") else "")
