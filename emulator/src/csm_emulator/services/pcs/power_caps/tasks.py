"""Power cap tasks: for each component, what its controller says or was told. domain/power-cap.go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.pcs.hsm_client import WAITS, Hsm, Silent, Wrong
from csm_emulator.services.pcs.kinds import INVALID, type_of
from csm_emulator.services.pcs.power_caps.operations import (
    FAILED,
    IN_PROGRESS,
    SUCCEEDED,
    UNSUPPORTED,
    Capping,
    Operation,
    capping,
    failed,
    merged,
    patch,
    snapshot,
)
from csm_emulator.services.pcs.problems import Refusal
from csm_emulator.services.pcs.transitions.records import EXPIRES, MOST, Records
from csm_emulator.services.pcs.transitions.waves import TIMEOUT
from csm_emulator.state.clock import rfc3339

SNAPSHOT, PATCH = "snapshot", "patch"
NEW, COMPLETED = "new", "completed"


class CapTask(TypedDict):
    id: str
    type: str
    created: float
    expires: float
    status: str
    wanted: list[list[Any]]
    """Xname, and the watts by control."""
    operations: list[Operation]


class CapTasks:
    def __init__(self, context: Context, store: Records, hsm: Hsm) -> None:
        self._context = context
        self._store = store
        self._hsm = hsm
        self._table = context.tables.open("pcs.caps")
        context.scheduler.register("pcs.caps", self._run)
        context.scheduler.register("pcs.caps-end", self._end)
        context.scheduler.register("pcs.caps-expire", self._expire)

    def create(self, kind: str, wanted: list[list[Any]]) -> str:
        now = self._context.clock.now()
        identity = self._context.random.uuid("pcs.cap", self._store.number("cap"))
        self._table[identity] = CapTask(
            id=identity, type=kind, created=now, expires=now + EXPIRES, status=NEW, wanted=wanted, operations=[]
        )
        self._context.scheduler.after(0.0, "pcs.caps", identity, 0)
        self._context.scheduler.after(EXPIRES, "pcs.caps-expire", identity)
        return identity

    def all(self) -> list[Json]:
        """In the order of etcd's keys."""
        return [_view(self._table[identity], full=False) for identity in sorted(self._table)]

    def show(self, identity: str) -> Json:
        if identity not in self._table:
            raise Refusal(404, f"Key /powercaptask/{identity} does not exist")
        return _view(self._table[identity], full=True)

    def _run(self, identity: str, tries: int) -> None:
        """A process that dies leaves its task where it was: nobody takes up power caps."""
        task = self._table.get(identity)
        if task is None or self._context.faults.present("service-restart", "pcs"):
            return
        wanted = _merged(task["wanted"])
        names = [x for x in wanted if type_of(self._context.machine, x) != INVALID]
        valid = set(names)
        operations = [failed(x, "Invalid xname") for x in wanted if x not in valid]
        try:
            found = self._hsm.components(names) if names else {}
            endpoints = self._hsm.component_endpoints(list(found)) if found else {}
        except Silent:
            if tries < len(WAITS):
                self._context.scheduler.after(WAITS[tries], "pcs.caps", identity, tries + 1)
                return
            operations += [failed(x, "Error retrieving HSM data") for x in names]
        except Wrong:
            operations += [failed(x, "Error retrieving HSM data") for x in names]
        else:
            operations += [failed(x, "Xname not found in HSM") for x in names if x not in found]
            for xname in names:
                if xname in found:
                    known = capping(endpoints.get(xname))
                    operations += self._one(task, found[xname], known, wanted[xname])
        self._finish(task, operations)

    def _one(self, task: CapTask, component: Json, known: Capping, wanted: dict[str, int]) -> list[Operation]:
        caps, random = self._context.machine.caps, self._context.random
        made = patch(component, known, caps, wanted) if task["type"] == PATCH else snapshot(component, known, caps)
        # etcd gives them back in the order of their ids, which are random.
        order = sorted(range(len(made)), key=lambda place: random.uuid("pcs.cap-operation", task["id"], place))
        return [made[place] for place in order]

    def _finish(self, task: CapTask, operations: list[Operation]) -> None:
        """Controllers that do not answer hold the whole task up."""
        waiting = any(each["status"] == IN_PROGRESS for each in operations)
        self._table[task["id"]] = {
            **task,
            "status": IN_PROGRESS if waiting else COMPLETED,
            "operations": operations,
            "wanted": [],
        }
        if waiting:
            self._context.scheduler.after(TIMEOUT, "pcs.caps-end", task["id"])
        self._keep_newest()

    def _end(self, identity: str) -> None:
        task = self._table.get(identity)
        if task is None:
            return
        operations = [
            failed(each["component"]["xname"], "context deadline exceeded") if each["status"] == IN_PROGRESS else each
            for each in task["operations"]
        ]
        self._table[identity] = {**task, "status": COMPLETED, "operations": operations}

    def _expire(self, identity: str) -> None:
        self._table.pop(identity, None)

    def _keep_newest(self) -> None:
        if len(self._table) <= MOST:
            return
        ended = [task for task in self._table.values() if task["status"] == COMPLETED]
        for task in sorted(ended, key=lambda task: float(task["created"]))[: max(0, len(ended) - MOST)]:
            del self._table[task["id"]]


def _merged(wanted: Iterable[list[Any]]) -> dict[str, dict[str, int]]:
    """An xname that comes again adds to what it said before."""
    merged: dict[str, dict[str, int]] = {}
    for xname, controls in wanted:
        merged.setdefault(xname, {}).update(controls)
    return merged


def _view(task: CapTask, *, full: bool) -> Json:
    found = Counter(each["status"] for each in task["operations"])
    told = {
        "taskID": task["id"],
        "type": task["type"],
        "taskCreateTime": rfc3339(task["created"], 9),
        "automaticExpirationTime": rfc3339(task["expires"], 9),
        "taskStatus": task["status"],
        "taskCounts": {"total": found.total()}
        | {status: found[status] for status in (NEW, IN_PROGRESS, FAILED, SUCCEEDED, UNSUPPORTED)},
    }
    components = merged(task["operations"]) if full else []
    return told | ({"components": components} if components else {})
