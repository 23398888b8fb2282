"""Power cap tasks, which read or set the caps of components (domain/power-cap.go)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.pcs.component_types import INVALID, type_of
from csm_emulator.services.pcs.hsm_answers import RETRY_DELAYS, HsmFailure, HsmInventory, HsmUnavailable
from csm_emulator.services.pcs.power_caps.operations import (
    FAILED,
    IN_PROGRESS,
    SUCCEEDED,
    UNSUPPORTED,
    CapControls,
    Operation,
    cap_controls,
    failed_operation,
    merged_components,
    patch,
    snapshot,
)
from csm_emulator.services.pcs.problems import Refusal
from csm_emulator.services.pcs.transitions.records import LIFETIME, MAX_ENDED, TransitionStore
from csm_emulator.services.pcs.transitions.waves import TIMEOUT
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

SNAPSHOT, PATCH = "snapshot", "patch"
NEW, COMPLETED = "new", "completed"


class CapTask(TypedDict):
    id: str
    type: str
    created: float
    expires: float
    status: str
    wanted: list[list[Json]]
    """Pairs of an xname and the requested watts by control."""
    operations: list[Operation]


class CapTasks:
    def __init__(self, context: Context, store: TransitionStore, inventory: HsmInventory) -> None:
        self._context = context
        self._store = store
        self._inventory = inventory
        self._table: RecordTable[CapTask] = context.tables.open("pcs.caps")
        context.scheduler.register("pcs.caps", self._run)
        context.scheduler.register("pcs.caps-end", self._end)
        context.scheduler.register("pcs.caps-expire", self._expire)

    def create(self, kind: str, requested_caps: list[list[Json]]) -> str:
        now = self._context.clock.now()
        identity = self._context.random.uuid("pcs.cap", self._store.number("cap"))
        self._table[identity] = CapTask(
            id=identity,
            type=kind,
            created=now,
            expires=now + LIFETIME,
            status=NEW,
            wanted=requested_caps,
            operations=[],
        )
        self._context.scheduler.after(0.0, "pcs.caps", identity, 0)
        self._context.scheduler.after(LIFETIME, "pcs.caps-expire", identity)
        return identity

    def all(self) -> list[Json]:
        """Ordered by id, as etcd orders its keys."""
        return [_view(self._table[identity], full=False) for identity in sorted(self._table)]

    def show(self, identity: str) -> Json:
        if identity not in self._table:
            raise Refusal(404, f"Key /powercaptask/{identity} does not exist")
        return _view(self._table[identity], full=True)

    def _run(self, identity: str, attempts: int) -> None:
        """A task that was under way when PCS was restarted stays as it is: PCS does not resume power cap tasks."""
        task = self._table.get(identity)
        if task is None or self._context.faults.present("service-restart", "pcs"):
            return
        requested_caps = _watts_by_control(task["wanted"])
        names = [x for x in requested_caps if type_of(self._context.machine, x) != INVALID]
        valid = set(names)
        operations = [failed_operation(x, "Invalid xname") for x in requested_caps if x not in valid]
        try:
            components = self._inventory.components(names) if names else {}
            endpoints = self._inventory.component_endpoints(list(components)) if components else {}
        except HsmUnavailable:
            if attempts < len(RETRY_DELAYS):
                self._context.scheduler.after(RETRY_DELAYS[attempts], "pcs.caps", identity, attempts + 1)
                return
            operations += [failed_operation(x, "Error retrieving HSM data") for x in names]
        except HsmFailure:
            operations += [failed_operation(x, "Error retrieving HSM data") for x in names]
        else:
            operations += [failed_operation(x, "Xname not found in HSM") for x in names if x not in components]
            for xname in names:
                if xname in components:
                    controls = cap_controls(endpoints.get(xname))
                    operations += self._component_operations(task, components[xname], controls, requested_caps[xname])
        self._finish(task, operations)

    def _component_operations(
        self, task: CapTask, component: Json, controls: CapControls, requested_watts: dict[str, int]
    ) -> list[Operation]:
        caps, random = self._context.machine.caps, self._context.random
        operations = (
            patch(component, controls, caps, requested_watts)
            if task["type"] == PATCH
            else snapshot(component, controls, caps)
        )
        # etcd returns operations in the order of their ids, which are random.
        order = sorted(range(len(operations)), key=lambda place: random.uuid("pcs.cap-operation", task["id"], place))
        return [operations[index] for index in order]

    def _finish(self, task: CapTask, operations: list[Operation]) -> None:
        """A controller that does not answer keeps the whole task in progress until ``TIMEOUT``."""
        waiting = any(operation["status"] == IN_PROGRESS for operation in operations)
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
            failed_operation(operation["component"]["xname"], "context deadline exceeded")
            if operation["status"] == IN_PROGRESS
            else operation
            for operation in task["operations"]
        ]
        self._table[identity] = {**task, "status": COMPLETED, "operations": operations}

    def _expire(self, identity: str) -> None:
        self._table.pop(identity, None)

    def _keep_newest(self) -> None:
        if len(self._table) <= MAX_ENDED:
            return
        ended = [task for task in self._table.values() if task["status"] == COMPLETED]
        for task in sorted(ended, key=lambda task: float(task["created"]))[: max(0, len(ended) - MAX_ENDED)]:
            del self._table[task["id"]]


def _watts_by_control(requested_caps: Iterable[list[Json]]) -> dict[str, dict[str, int]]:
    """The watts by xname and control. A later entry for the same xname adds to the earlier one."""
    merged: dict[str, dict[str, int]] = {}
    for xname, controls in requested_caps:
        merged.setdefault(xname, {}).update(controls)
    return merged


def _view(task: CapTask, *, full: bool) -> Json:
    status_counts = Counter(operation["status"] for operation in task["operations"])
    task_view = {
        "taskID": task["id"],
        "type": task["type"],
        "taskCreateTime": rfc3339(task["created"], 9),
        "automaticExpirationTime": rfc3339(task["expires"], 9),
        "taskStatus": task["status"],
        "taskCounts": {"total": status_counts.total()}
        | {status: status_counts[status] for status in (NEW, IN_PROGRESS, FAILED, SUCCEEDED, UNSUPPORTED)},
    }
    components = merged_components(task["operations"]) if full else []
    return task_view | ({"components": components} if components else {})
