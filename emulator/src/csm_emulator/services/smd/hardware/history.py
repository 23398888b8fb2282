"""``/Inventory/Hardware/History`` and ``/Inventory/HardwareByFRU/History``: when FRUs were detected and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from csm_emulator.dialects.hms.names import verified
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.hardware.seed_data import HistoryEvent
from csm_emulator.services.smd.inventory import Inventory
from csm_emulator.services.smd.postgres_text import InvalidTime, parse_time
from csm_emulator.services.smd.query_parameters import values
from csm_emulator.services.smd.responses import json_reply, message, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BY_PLACE = "/hsm/v2/Inventory/Hardware/History"
BY_FRU = "/hsm/v2/Inventory/HardwareByFRU/History"
EVENT_TYPES = {"added": "Added", "removed": "Removed", "scanned": "Scanned", "detected": "Detected"}
EventTest = Callable[[HistoryEvent], bool]


class History:
    def __init__(self, inventory: Inventory) -> None:
        self._table: RecordTable[list[HistoryEvent]] = inventory.history
        self._hardware_seeds = inventory.hardware_seeds

    def of_place(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return problem(400, "Invalid xname")
        return self._one(call, call.args["xname"], self._table.get(xname, ()))

    def of_fru(self, call: Call) -> Reply:
        name = call.args["fruid"]
        return self._one(
            call, name, (event for event in self._events(self._places_of([name])) if event["FRUID"] == name)
        )

    def _one(self, call: Call, name: str, events: Iterable[HistoryEvent]) -> Reply:
        try:
            tests = _tests(call)
        except ValueError as error:
            return problem(400, str(error))
        if tests is None:
            return problem(500, "failed to query DB.")
        return json_reply(
            {"ID": name, "History": _in_order_of_time(event for event in events if _passes(event, tests))}
        )

    def by_place(self, call: Call) -> Reply:
        return self._all(call, "ID")

    def by_fru(self, call: Call) -> Reply:
        return self._all(call, "FRUID")

    def _all(self, call: Call, key: Literal["ID", "FRUID"]) -> Reply:
        xnames = values(call, "id")
        if not all(map(verified, xnames)):
            return problem(400, "Invalid xname")
        try:
            tests = _tests(call)
        except ValueError as error:
            return problem(400, str(error))
        if tests is None:
            return problem(500, "failed to query DB.")
        if frus := values(call, "fruid"):
            tests.append(lambda event: event["FRUID"] in frus)
        places = [verified(xname) for xname in xnames] or (self._places_of(frus) if frus else list(self._table))
        events = self._events(places)
        grouped: dict[str, list[HistoryEvent]] = {}
        for event in _in_order_of_time(event for event in events if _passes(event, tests)):
            grouped.setdefault(event[key], []).append(event)
        histories = [{"ID": name, "History": history} for name, history in grouped.items()]
        # An empty list is nil in Go, and null on the wire.
        return json_reply({"Components": histories or None})

    def _events(self, xnames: Iterable[str]) -> Iterable[HistoryEvent]:
        for xname in dict.fromkeys(xnames):
            yield from self._table.get(xname, ())

    def _places_of(self, frus: Iterable[str]) -> list[str]:
        """Places where these FRUs may have been: where the machine has them, and every place with later events."""
        return [*filter(None, map(self._hardware_seeds.with_fru, frus)), *self._table.assigned_keys()]

    def delete_place(self, call: Call) -> Reply:
        xname = verified(call.args["xname"])
        if not xname:
            return problem(400, "Invalid xname")
        return _deleted(len(self._table.pop(xname, ())))

    def delete_all(self, _: Call) -> Reply:
        count = sum(1 for _ in self._events(self._table))
        self._table.clear()
        return _deleted(count)

    def delete_fru(self, call: Call) -> Reply:
        name, count = call.args["fruid"], 0
        touched = {event["ID"] for event in self._events(self._places_of([name])) if event["FRUID"] == name}
        for xname in touched:
            remaining = [event for event in self._table[xname] if event["FRUID"] != name]
            count += len(self._table[xname]) - len(remaining)
            if remaining:
                self._table[xname] = remaining
            else:
                del self._table[xname]
        return _deleted(count)


def _deleted(count: int) -> Reply:
    return message(f"deleted {count} entries") if count else problem(404, "no entries to delete")


def _tests(call: Call) -> list[EventTest] | None:
    """None for a time that the database cannot read; raises ``ValueError`` for an unknown event type."""
    tests: list[EventTest] = []
    if events := values(call, "eventtype"):
        event_types = {EVENT_TYPES.get(text.lower(), "") for text in events}
        if "" in event_types:
            raise ValueError("Invalid HWInvHist event type")
        tests.append(lambda event: event["EventType"] in event_types)
    try:
        for name, sign in (("starttime", 1), ("endtime", -1)):
            text_limit = (values(call, name) or [""])[0]
            if text_limit:
                tests.append(_time_test(parse_time(text_limit), sign))
    except InvalidTime:
        return None
    return tests


def _time_test(limit: float, sign: int) -> EventTest:
    return lambda event: (parse_time(event["Timestamp"]) - limit) * sign > 0


def _passes(event: HistoryEvent, tests: Sequence[EventTest]) -> bool:
    return all(test(event) for test in tests)


def _in_order_of_time(events: Iterable[HistoryEvent]) -> list[HistoryEvent]:
    return sorted(events, key=lambda event: parse_time(event["Timestamp"]))


def routes(hsm: Hsm) -> Sequence[Route]:
    history = History(hsm.inventory)
    return (
        Route("GET", f"{BY_PLACE}/{{xname}}", history.of_place),
        Route("GET", BY_PLACE, history.by_place),
        Route("GET", f"{BY_FRU}/{{fruid}}", history.of_fru),
        Route("GET", BY_FRU, history.by_fru),
        Route("DELETE", f"{BY_PLACE}/{{xname}}", history.delete_place),
        Route("DELETE", BY_PLACE, history.delete_all),
        Route("DELETE", f"{BY_FRU}/{{fruid}}", history.delete_fru),
    )
