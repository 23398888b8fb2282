"""What PCS asks of HSM, over the mesh."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlencode

from csm_emulator.records import Json
from csm_emulator.services.pcs.transitions.tasks import Task
from csm_emulator.transport.call import Reply
from csm_emulator.transport.mesh import NO_BODY, Mesh

RESERVATIONS = "/hsm/v2/locks/service/reservations"
MINUTES = 1
"""How long a reservation lasts that nobody renews (the 1 of ``InitInstance`` in hsm/state_manager.go)."""
WAITS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds between the tries of the HTTP client, when HSM answers with 5xx."""


class Silent(Exception):
    """HSM answers 5xx, and may answer better later."""

    def __init__(self, reply: Reply, path: str) -> None:
        super().__init__(f"POST http://cray-smd{path} giving up after {len(WAITS) + 1} attempt(s)")
        self.reply = reply


class Wrong(Exception):
    """HSM answers, and it is no use."""


class Hsm:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh

    def _ask(self, method: str, path: str, body: Json = NO_BODY) -> Reply:
        reply = self._mesh.ask("smd", method, path, body)
        if reply.status >= 500 and reply.status != 501:
            raise Silent(reply, path)
        return reply

    def alive(self) -> bool:
        return self._mesh.ask("smd", "GET", "/hsm/v2/service/liveness").status < 500

    def components(self, xnames: Sequence[str]) -> dict[str, Json]:
        """Those of them that HSM has."""
        reply = self._ask("POST", "/hsm/v2/State/Components/Query", {"ComponentIDs": list(xnames)})
        found = _json(reply)
        listed = found.get("Components") if isinstance(found, dict) else None
        return {component["ID"]: component for component in listed or ()}

    def component_endpoints(self, xnames: Sequence[str]) -> dict[str, Json]:
        """What Redfish has of those of them that were discovered."""
        query = urlencode([("id", xname) for xname in xnames])
        told = _json(self._ask("GET", f"/hsm/v2/Inventory/ComponentEndpoints?{query}"))
        listed = told.get("ComponentEndpoints") if isinstance(told, dict) else None
        return {endpoint["ID"]: endpoint for endpoint in listed or ()}

    def power_maps(self) -> dict[str, list[str]]:
        """What feeds what, as far as somebody told HSM."""
        listed = _json(self._ask("GET", "/hsm/v2/sysinfo/powermaps"))
        if listed is not None and not isinstance(listed, list):
            raise Wrong("cannot unmarshal object into Go value of type []sm.PowerMap")
        return {entry["id"]: list(entry.get("poweredBy") or ()) for entry in listed or ()}

    def reserve(self, xnames: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Reservation key and deputy key of those that could be had."""
        body = {"ComponentIDs": list(xnames), "ProcessingModel": "flexible", "ReservationDuration": MINUTES}
        reply = self._ask("POST", RESERVATIONS, body)
        if reply.status == 400:
            raise Wrong(f"ERROR aquiring needed reservations: {_json(reply).get('detail', '')}")
        if reply.status != 200:
            raise Wrong(f"ERROR aquiring needed reservations: {reply.body.decode(errors='replace')}")
        return {got["ID"]: (got["ReservationKey"], got["DeputyKey"]) for got in _json(reply).get("Success") or ()}

    def renew(self, tasks: Iterable[Task]) -> set[str]:
        """The xnames whose reservation still is ours."""
        keys = _keys(tasks, "reservation")
        if not keys:
            return set()
        body = {"ReservationKeys": keys, "ProcessingModel": "flexible", "ReservationDuration": MINUTES}
        reply = self._ask("POST", f"{RESERVATIONS}/renew", body)
        if reply.status != 200:
            raise Wrong("ERROR reacquiring reservations: failed to renew")
        return set(_json(reply).get("Success", {}).get("ComponentIDs") or ())

    def check(self, tasks: Iterable[Task]) -> set[str]:
        """The xnames whose deputy key holds."""
        keys = _keys(tasks, "deputy")
        if not keys:
            return set()
        reply = self._ask("POST", f"{RESERVATIONS}/check", {"DeputyKeys": keys})
        if reply.status != 200:
            raise Wrong(f"ERROR validating deputy keys: Error response from deputy key check: {reply.status}")
        return {got["ID"] for got in _json(reply).get("Success") or ()}

    def release(self, tasks: Iterable[Task]) -> None:
        """What cannot be released falls off by itself."""
        keys = _keys((task for task in tasks if task["owner"]), "reservation")
        if keys:
            self._mesh.ask(
                "smd", "POST", f"{RESERVATIONS}/release", {"ReservationKeys": keys, "ProcessingModel": "flexible"}
            )


def _keys(tasks: Iterable[Task], kind: str) -> list[dict[str, str]]:
    return [{"ID": task["xname"], "Key": task[kind]} for task in tasks if task[kind]]  # type: ignore[literal-required]


def _json(reply: Reply) -> Json:
    try:
        return reply.json()
    except ValueError as error:
        raise Wrong(f"Error unmarshalling response body: {error}") from error
