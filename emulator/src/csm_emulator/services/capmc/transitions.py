"""Power orders: PCS gets the deputy keys, and CAPMC releases the reservations once PCS has begun.

Facts from compctl.go and reserve.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.capmc.components import Components, Keys
from csm_emulator.state.tables import RecordTable

POLL_INTERVAL = 2.0
"""Seconds before the first poll of a transition, and between two polls."""
_POLL = "capmc.look"
_POST_FAILED = "Error: Failed to send power request to PCS."
_GET_FAILED = "Error: Failed to get transition from PCS."


@dataclass(slots=True)
class Outcome:
    """The result of an order, for which a client waits."""

    answer: Json | None = None
    abandoned: bool = False
    """CAPMC stopped before the order ended."""

    def answer_now(self, *, clock_stopped: bool) -> Json | None:
        """The answer, or None before there is one. While the clock is stopped, a started order counts as a success."""
        return {"e": 0, "err_msg": ""} if self.answer is None and clock_stopped else self.answer


class Order(TypedDict):
    names: list[str]
    word: str
    left: list[str]
    """Operations that are not begun."""
    keys: Keys
    transition: str
    """The id of PCS's transition under way."""


class PowerOrders:
    """An order is a row of the table until it ends; a client that disconnects does not end it."""

    def __init__(self, context: Context, components: Components) -> None:
        self._context = context
        self._components = components
        self._table: RecordTable[Order] = context.tables.open("capmc.orders")
        self._count: RecordTable[int] = context.tables.open("capmc.count")
        self._outcomes: dict[str, Outcome] = {}
        context.scheduler.register(_POLL, self._poll)

    def start(self, names: Sequence[str], word: str, operations: Sequence[str], keys: Keys) -> Outcome:
        """Start ``operations`` one after the other, on components that are reserved with these keys."""
        self._count["orders"] = count = self._count.get("orders", 0) + 1
        number = str(count)
        outcome = self._outcomes[number] = Outcome()
        order = Order(names=list(names), word=word, left=list(operations), keys=keys, transition="")
        self._send(number, order)
        return outcome

    def release_all(self) -> None:
        """When the process stops, it releases all reservations and drops its orders.

        After a crash (the fault ``service-restart``) this happens at the next start.
        """
        for number, order in list(self._table.items()):
            self._components.release(order["keys"])
            self._abandon(number)
            del self._table[number]

    def _send(self, number: str, order: Order) -> None:
        operation, *remaining = order["left"]
        location = [{"xname": name, "deputyKey": order["keys"][name][1]} for name in order["names"]]
        reply = self._context.mesh.ask("pcs", "POST", "/transitions", {"operation": operation, "location": location})
        if not reply.ok:
            self._end(number, order, 500, _POST_FAILED)
            return
        self._table[number] = {**order, "left": remaining, "transition": reply.json()["transitionID"]}
        self._context.scheduler.after(POLL_INTERVAL, _POLL, number, operation)

    def _poll(self, number: str, operation: str) -> None:
        order = self._table.get(number)
        if order is None:
            return
        if self._context.faults.present("service-restart", "capmc"):
            self._abandon(number)
            return
        self._components.renew(order["keys"])
        reply = self._context.mesh.ask("pcs", "GET", f"/transitions/{order['transition']}")
        if not reply.ok:
            self._end(number, order, 500, _GET_FAILED)
        elif _must_wait(reply.json(), until_done=bool(order["left"])):
            self._context.scheduler.after(POLL_INTERVAL, _POLL, number, operation)
        elif order["left"]:
            self._send(number, order)
        else:
            self._finish(number, order, reply.json()["taskCounts"])

    def _finish(self, number: str, order: Order, counts: Record) -> None:
        """The reply does not name the failed components: CAPMC searches for "Failed" where PCS writes "failed"."""
        failures = counts["failed"] + counts["un-supported"]
        message = f"Errors encountered with {failures}/{len(order['names'])} Xnames issued {order['word']}"
        self._end(number, order, *((-1, message) if failures else (0, "")))

    def _end(self, number: str, order: Order, error: int, message: str) -> None:
        self._components.release(order["keys"])
        outcome = self._outcomes.pop(number, None)
        if outcome is not None:
            outcome.answer = {"e": error, "err_msg": message}
        self._table.pop(number, None)

    def _abandon(self, number: str) -> None:
        """End the order without an answer; its reservations stay until ``release_all``."""
        outcome = self._outcomes.pop(number, None)
        if outcome is not None:
            outcome.abandoned = True


def _must_wait(transition: Json, *, until_done: bool) -> bool:
    """Whether CAPMC continues to wait: until PCS has begun all tasks or, between off and on, until all are done."""
    counts = transition["taskCounts"]
    if transition["transitionStatus"] == "new" or counts["new"]:
        return True
    ended = counts["failed"] + counts["succeeded"] + counts["un-supported"]
    return until_done and bool(ended < counts["total"])
