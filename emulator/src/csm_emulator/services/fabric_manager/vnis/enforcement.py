"""Tasks that bring a VNI block to the switches: created, started, and finished or failed.

One after another for the same block. One that fails changes nothing: what was enforced before stays so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from csm_emulator.context import Context
from csm_emulator.machine.fabric.plan import PortPlace
from csm_emulator.machine.fabric.ports import Ranges, join_ranges
from csm_emulator.services.fabric_manager.documents import Document
from csm_emulator.services.fabric_manager.switch_sync import Pushing
from csm_emulator.services.fabric_manager.tables import TASKS, Store
from csm_emulator.services.fabric_manager.vnis.ranges import numbers
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

CREATED, STARTED, FINISHED, FAILED = "CREATED", "STARTED", "FINISHED", "FAILED"
_STEPS = {CREATED: "INIT", STARTED: "CONFIGURE_SWITCHES", FINISHED: "COMPLETED", FAILED: "ERROR"}
STARTS = (0.1, 0.6)
TAKES = (1.0, 4.0)
KEPT = 86400.0
"""Seconds for which a task can be asked about."""


@dataclass(frozen=True, slots=True)
class Order:
    block: str
    partition: str
    ranges: Ranges
    dfas: tuple[int, ...]
    """Without any, the block is no longer enforced."""


class Enforcement:
    def __init__(self, context: Context, store: Store, pushing: Pushing) -> None:
        self._context = context
        self._store = store
        self._pushing = pushing
        self._fabric = context.machine.fabric
        self._enforced = context.tables.open("fabric-manager.enforced")
        """By block, what the switches were told at last: ranges and addresses of ports."""
        self._busy = context.tables.open("fabric-manager.busy")
        """By block, when its last task ends."""
        context.scheduler.register("fabric-manager.task-starts", self._start)
        context.scheduler.register("fabric-manager.task-ends", self._end)

    def routes(self) -> Sequence[Route]:
        return (Route("GET", f"{TASKS}/{{id}}", self._one),)

    def begin(self, order: Order) -> str:
        """The link of the task."""
        self._forget_old()
        now, name = self._context.clock.now(), self._store.new_id("task")
        before = self._enforced.get(order.block, {"ranges": [], "dfas": []})
        starts = max(now, self._busy.get(order.block, now)) + self._context.random.between(*STARTS, "task", name)
        ends = starts + self._context.random.between(*TAKES, "task ends", name)
        ends += self._pushing.delay(*(port.xname for port in self._ports({*order.dfas, *before["dfas"]})))
        self._busy[order.block] = ends
        content = {
            **_stage(CREATED),
            "order": {"block": order.block, "partition": order.partition},
            "ranges": [list(span) for span in order.ranges],
            "edgePortDFAs": list(order.dfas),
            "before": before,
            "expires": ends + KEPT,
        }
        self._store.tasks.create(name, content)
        self._context.scheduler.at(starts, "fabric-manager.task-starts", name)
        self._context.scheduler.at(ends, "fabric-manager.task-ends", name)
        return self._store.tasks.link(name)

    def _forget_old(self) -> None:
        now = self._context.clock.now()
        for name in [name for name, task in self._store.tasks.items() if task["expires"] < now]:
            self._store.tasks.delete(name)
        for block in [block for block, until in self._busy.items() if until < now]:
            del self._busy[block]

    def _start(self, name: str) -> None:
        self._store.tasks.change(name, _stage(STARTED))

    def _end(self, name: str) -> None:
        task = self._store.tasks.get(name)
        before = self._enforced.get(task["order"]["block"], {"dfas": []})
        ports = self._ports({*task["edgePortDFAs"], *before["dfas"]})
        why = self._obstacle(task["order"], ports)
        if why:
            self._context.log.add("enforcement-failed", task["order"]["block"], why)
            self._store.tasks.change(name, _stage(FAILED))
            return
        self._note(task)
        vnis = self._vnis({port.dfa for port in ports})
        for port in ports:
            if self._context.faults.strikes("fm-no-effect", port.xname):
                self._context.log.add("port-push-lost", port.xname, "fault fm-no-effect")
            else:
                self._fabric.configure(port.xname, "fabric-manager enforcement", vnis=vnis.get(port.dfa))
        self._store.tasks.change(name, _stage(FINISHED))

    def _obstacle(self, order: dict[str, str], ports: Iterable[PortPlace]) -> str:
        if self._context.faults.strikes("enforcement-failed", order["block"], order["partition"]):
            return "fault enforcement-failed"
        away = next((port.switch for port in ports if not self._pushing.reaches(port.switch)), None)
        return f"{away.xname} does not answer" if away else ""

    def _note(self, task: Document) -> None:
        block = task["order"]["block"]
        if task["edgePortDFAs"]:
            self._enforced[block] = {"ranges": task["ranges"], "dfas": task["edgePortDFAs"]}
        else:
            self._enforced.pop(block, None)

    def _vnis(self, dfas: set[int]) -> dict[int, Ranges]:
        """Of all blocks that have the port; where there is none, nothing is enforced."""
        found: dict[int, list[tuple[int, int]]] = {}
        for block in self._enforced.values():
            for dfa in dfas.intersection(block["dfas"]):
                found.setdefault(dfa, []).extend((first, last) for first, last in block["ranges"])
        return {dfa: join_ranges(ranges) for dfa, ranges in found.items()}

    def _ports(self, dfas: Iterable[int]) -> list[PortPlace]:
        found = map(self._fabric.plan.edge_port_with, sorted(dfas))
        return [port for port in found if port is not None]

    def _one(self, call: Call) -> Reply:
        task = self._store.tasks.get(call.args["id"])
        hidden = ("order", "ranges", "before", "expires")
        told = {field: value for field, value in task.items() if field not in hidden}
        told["documentExpirationTimeMicros"] = round(task["expires"] * 1_000_000)
        return json_reply(told | self._lists(task))

    def _lists(self, task: Document) -> dict[str, Any]:
        new, old = numbers(task["ranges"]), numbers(task["before"]["ranges"])
        gone = sorted(set(task["before"]["dfas"]) - set(task["edgePortDFAs"]))
        return {
            "removeEdgePortDFAs": gone,
            "vniList": sorted(new),
            "addVniList": sorted(new - old),
            "removeVniList": sorted(old - new),
            "switchPortMap": self._by_switch(task["edgePortDFAs"]),
            "removeSwitchPortMap": self._by_switch(gone),
        }

    def _by_switch(self, dfas: Iterable[int]) -> dict[str, str]:
        found: dict[str, list[int]] = {}
        for port in self._ports(set(dfas)):
            found.setdefault(f"/fabric/switches/{port.switch.controller}", []).append(port.number)
        return {link: ",".join(map(str, numbers)) for link, numbers in found.items()}


def _stage(stage: str) -> dict[str, Any]:
    return {"taskInfo": {"stage": stage, "isDirect": False}, "subStage": _STEPS[stage]}
