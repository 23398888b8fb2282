"""Tasks that enforce a VNI block on the switches: created, started, and finished or failed.

Tasks of one block run one after another. A failed task changes nothing: the earlier enforcement stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.machine.fabric.plan import PlannedPort
from csm_emulator.machine.fabric.ports import Ranges, join_ranges
from csm_emulator.records import Record
from csm_emulator.services.fabric_manager.documents import Document
from csm_emulator.services.fabric_manager.switch_sync import SwitchSync
from csm_emulator.services.fabric_manager.tables import TASKS, DocumentStore
from csm_emulator.services.fabric_manager.vnis.ranges import numbers
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

CREATED, STARTED, FINISHED, FAILED = "CREATED", "STARTED", "FINISHED", "FAILED"
_STEPS = {CREATED: "INIT", STARTED: "CONFIGURE_SWITCHES", FINISHED: "COMPLETED", FAILED: "ERROR"}
START_DELAY = (0.1, 0.6)
DURATION = (1.0, 4.0)
RETENTION = 86400.0
"""Seconds for which a task can be read after its end."""


@dataclass(frozen=True, slots=True)
class EnforcementOrder:
    block: str
    partition: str
    ranges: Ranges
    dfas: tuple[int, ...]
    """Addresses of edge ports; without any, the enforcement of the block ends."""


class Enforced(TypedDict):
    """The last enforcement of a block."""

    ranges: list[list[int]]
    """The first and the last VNI of each."""
    dfas: list[int]
    """The fabric addresses of the ports."""


NOT_ENFORCED: Enforced = {"ranges": [], "dfas": []}


class Enforcement:
    def __init__(self, context: Context, store: DocumentStore, switch_sync: SwitchSync) -> None:
        self._context = context
        self._store = store
        self._switch_sync = switch_sync
        self._fabric = context.machine.fabric
        self._enforced: RecordTable[Enforced] = context.tables.open("fabric-manager.enforced")
        """Block → its last enforcement: ranges and addresses of ports."""
        self._busy: RecordTable[float] = context.tables.open("fabric-manager.busy")
        """Block → time when its last task ends."""
        context.scheduler.register("fabric-manager.task-starts", self._start)
        context.scheduler.register("fabric-manager.task-ends", self._end)

    def routes(self) -> Sequence[Route]:
        return (Route("GET", f"{TASKS}/{{id}}", self._read),)

    def begin(self, order: EnforcementOrder) -> str:
        """Start a task; returns its link."""
        self._remove_expired()
        now, name = self._context.clock.now(), self._store.new_id("task")
        previous = self._enforced.get(order.block, NOT_ENFORCED)
        starts = max(now, self._busy.get(order.block, now)) + self._context.random.between(*START_DELAY, "task", name)
        ends = starts + self._context.random.between(*DURATION, "task ends", name)
        ends += self._switch_sync.delay(*(port.xname for port in self._ports({*order.dfas, *previous["dfas"]})))
        self._busy[order.block] = ends
        content = {
            **_stage(CREATED),
            "order": {"block": order.block, "partition": order.partition},
            "ranges": [list(span) for span in order.ranges],
            "edgePortDFAs": list(order.dfas),
            "before": previous,
            "expires": ends + RETENTION,
        }
        self._store.tasks.create(name, content)
        self._context.scheduler.at(starts, "fabric-manager.task-starts", name)
        self._context.scheduler.at(ends, "fabric-manager.task-ends", name)
        return self._store.tasks.link(name)

    def _remove_expired(self) -> None:
        now = self._context.clock.now()
        for name in [name for name, task in self._store.tasks.items() if task["expires"] < now]:
            self._store.tasks.delete(name)
        for block in [block for block, until in self._busy.items() if until < now]:
            del self._busy[block]

    def _start(self, name: str) -> None:
        self._store.tasks.change(name, _stage(STARTED))

    def _end(self, name: str) -> None:
        task = self._store.tasks.get(name)
        previous = self._enforced.get(task["order"]["block"], NOT_ENFORCED)
        ports = self._ports({*task["edgePortDFAs"], *previous["dfas"]})
        obstacle = self._obstacle(task["order"], ports)
        if obstacle:
            self._context.log.add("enforcement-failed", task["order"]["block"], obstacle)
            self._store.tasks.change(name, _stage(FAILED))
            return
        self._store_enforced(task)
        vnis = self._vnis({port.dfa for port in ports})
        for port in ports:
            if self._context.faults.trigger("fm-no-effect", port.xname):
                self._context.log.add("port-push-lost", port.xname, "fault fm-no-effect")
            else:
                self._fabric.configure(port.xname, "fabric-manager enforcement", vnis=vnis.get(port.dfa))
        self._store.tasks.change(name, _stage(FINISHED))

    def _obstacle(self, order: dict[str, str], ports: Iterable[PlannedPort]) -> str:
        if self._context.faults.trigger("enforcement-failed", order["block"], order["partition"]):
            return "fault enforcement-failed"
        unreachable = next((port.switch for port in ports if not self._switch_sync.reaches(port.switch)), None)
        return f"{unreachable.xname} does not answer" if unreachable else ""

    def _store_enforced(self, task: Document) -> None:
        block = task["order"]["block"]
        if task["edgePortDFAs"]:
            self._enforced[block] = {"ranges": task["ranges"], "dfas": task["edgePortDFAs"]}
        else:
            self._enforced.pop(block, None)

    def _vnis(self, dfas: set[int]) -> dict[int, Ranges]:
        """Port address → the VNIs of all blocks with the port; no entry, and no enforcement, for other ports."""
        ranges_by_dfa: dict[int, list[tuple[int, int]]] = {}
        for block in self._enforced.values():
            for dfa in dfas.intersection(block["dfas"]):
                ranges_by_dfa.setdefault(dfa, []).extend((first, last) for first, last in block["ranges"])
        return {dfa: join_ranges(ranges) for dfa, ranges in ranges_by_dfa.items()}

    def _ports(self, dfas: Iterable[int]) -> list[PlannedPort]:
        ports = map(self._fabric.plan.edge_port_with, sorted(dfas))
        return [port for port in ports if port is not None]

    def _read(self, call: Call) -> Reply:
        task = self._store.tasks.get(call.args["id"])
        hidden = ("order", "ranges", "before", "expires")
        document = {field: value for field, value in task.items() if field not in hidden}
        document["documentExpirationTimeMicros"] = round(task["expires"] * 1_000_000)
        return json_reply(document | self._lists(task))

    def _lists(self, task: Document) -> Record:
        new, old = numbers(task["ranges"]), numbers(task["before"]["ranges"])
        removed_dfas = sorted(set(task["before"]["dfas"]) - set(task["edgePortDFAs"]))
        return {
            "removeEdgePortDFAs": removed_dfas,
            "vniList": sorted(new),
            "addVniList": sorted(new - old),
            "removeVniList": sorted(old - new),
            "switchPortMap": self._by_switch(task["edgePortDFAs"]),
            "removeSwitchPortMap": self._by_switch(removed_dfas),
        }

    def _by_switch(self, dfas: Iterable[int]) -> dict[str, str]:
        numbers_by_link: dict[str, list[int]] = {}
        for port in self._ports(set(dfas)):
            numbers_by_link.setdefault(f"/fabric/switches/{port.switch.controller}", []).append(port.number)
        return {link: ",".join(map(str, numbers)) for link, numbers in numbers_by_link.items()}


def _stage(stage: str) -> Record:
    return {"taskInfo": {"stage": stage, "isDirect": False}, "subStage": _STEPS[stage]}
