"""Power cap tasks: for each component, what its controller says or was told. domain/power-cap.go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, TypedDict

from canton.emulator.faces.pcs.hsm import WAITS, Hsm, Silent, Wrong
from canton.emulator.faces.pcs.kinds import INVALID, type_of
from canton.emulator.faces.pcs.problems import Refusal
from canton.emulator.faces.pcs.records import EXPIRES, MOST, Records
from canton.emulator.faces.pcs.waves import TIMEOUT
from canton.emulator.machine.caps import CONTROL
from canton.emulator.machine.clock import rfc3339
from canton.emulator.machine.power import Unreachable
from canton.emulator.wire.call import Json
from canton.emulator.world import World

SNAPSHOT, PATCH = "snapshot", "patch"
NEW, IN_PROGRESS, COMPLETED = "new", "in-progress", "completed"
FAILED, SUCCEEDED, UNSUPPORTED = "failed", "succeeded", "un-supported"


class Operation(TypedDict):
    status: str
    component: dict[str, Any]


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
    def __init__(self, world: World, store: Records, hsm: Hsm) -> None:
        self._world = world
        self._store = store
        self._hsm = hsm
        self._shelf = world.shelves.open("pcs.caps")
        world.agenda.answer("pcs.caps", self._run)
        world.agenda.answer("pcs.caps-end", self._end)
        world.agenda.answer("pcs.caps-expire", self._expire)

    def create(self, kind: str, wanted: list[list[Any]]) -> str:
        now = self._world.clock.now()
        identity = self._world.dice.uuid("pcs.cap", self._store.number("cap"))
        self._shelf[identity] = CapTask(
            id=identity, type=kind, created=now, expires=now + EXPIRES, status=NEW, wanted=wanted, operations=[]
        )
        self._world.agenda.after(0.0, "pcs.caps", identity, 0)
        self._world.agenda.after(EXPIRES, "pcs.caps-expire", identity)
        return identity

    def all(self) -> list[Json]:
        """In the order of etcd's keys."""
        return [_view(self._shelf[identity], full=False) for identity in sorted(self._shelf)]

    def show(self, identity: str) -> Json:
        if identity not in self._shelf:
            raise Refusal(404, f"Key /powercaptask/{identity} does not exist")
        return _view(self._shelf[identity], full=True)

    def _run(self, identity: str, tries: int) -> None:
        """A process that dies leaves its task where it was: nobody takes up power caps."""
        task = self._shelf.get(identity)
        if task is None or self._world.faults.present("service-restart", "pcs"):
            return
        wanted = _merged(task["wanted"])
        names = [x for x in wanted if type_of(self._world.machine, x) != INVALID]
        operations = [_failed(x, "Invalid xname") for x in wanted if x not in set(names)]
        try:
            found = self._hsm.components(names) if names else {}
        except Silent:
            if tries < len(WAITS):
                self._world.agenda.after(WAITS[tries], "pcs.caps", identity, tries + 1)
                return
            operations += [_failed(x, "Error retrieving HSM data") for x in names]
        except Wrong:
            operations += [_failed(x, "Error retrieving HSM data") for x in names]
        else:
            operations += [_failed(x, "Xname not found in HSM") for x in names if x not in found]
            for xname in names:
                if xname in found:
                    operations += self._one(task, found[xname], wanted[xname])
        self._finish(task, operations)

    def _finish(self, task: CapTask, operations: list[Operation]) -> None:
        """Controllers that do not answer hold the whole task up."""
        waiting = any(each["status"] == IN_PROGRESS for each in operations)
        self._shelf[task["id"]] = {
            **task,
            "status": IN_PROGRESS if waiting else COMPLETED,
            "operations": operations,
            "wanted": [],
        }
        if waiting:
            self._world.agenda.after(TIMEOUT, "pcs.caps-end", task["id"])
        self._keep_newest()

    def _end(self, identity: str) -> None:
        task = self._shelf.get(identity)
        if task is None:
            return
        operations = [
            _failed(each["component"]["xname"], "context deadline exceeded") if each["status"] == IN_PROGRESS else each
            for each in task["operations"]
        ]
        self._shelf[identity] = {**task, "status": COMPLETED, "operations": operations}

    def _expire(self, identity: str) -> None:
        self._shelf.pop(identity, None)

    def _keep_newest(self) -> None:
        if len(self._shelf) <= MOST:
            return
        ended = [task for task in self._shelf.values() if task["status"] == COMPLETED]
        for task in sorted(ended, key=lambda task: float(task["created"]))[: max(0, len(ended) - MOST)]:
            del self._shelf[task["id"]]

    def _one(self, task: CapTask, component: Json, wanted: dict[str, int]) -> list[Operation]:
        xname = component["ID"]
        limits = self._world.machine.caps.range(xname)
        undefined = [_failed(xname, f"Skipping undefined control '{x}'") for x in wanted if not limits or x != CONTROL]
        if task["type"] == PATCH and (CONTROL not in wanted or limits is None):
            return undefined
        trouble = self._trouble(component)
        if trouble:
            return [*undefined, trouble]
        if limits is None:
            return [*undefined, _failed(xname, "Missing Power Cap URI")]
        watts = wanted.get(CONTROL)
        wrong = _out_of_range(watts, limits) if watts is not None else ""
        return [*undefined, _failed(xname, wrong) if wrong else self._ask(xname, watts, limits)]

    def _trouble(self, component: Json) -> Operation | None:
        xname, kind = component["ID"], component.get("Type", "")
        if not self._world.machine.controller(xname):
            return _failed(xname, "Missing RfFQDN")
        if kind != "Node":
            return _failed(xname, f"Type, {kind} unsupported for power capping", UNSUPPORTED)
        if component.get("Role") == "Management":
            return _failed(xname, "Power capping Management nodes is not supported", UNSUPPORTED)
        return None

    def _ask(self, xname: str, watts: int | None, limits: tuple[int, int]) -> Operation:
        caps = self._world.machine.caps
        try:
            if watts is not None:
                caps.write(xname, watts, "pcs power-cap")
            value = caps.read(xname)
        except Unreachable:
            return Operation(status=IN_PROGRESS, component={"xname": xname})
        low, high = limits
        control = {"name": CONTROL, "currentValue": value, "maximumValue": high, "minimumValue": low}
        # Redfish has a blade draw as much when it starts as it ever may (PowerResetWatts).
        limits_told = {"hostLimitMax": high, "hostLimitMin": low, "powerupPower": high}
        told = {"limits": limits_told} if watts is None else {}
        return Operation(status=SUCCEEDED, component={"xname": xname, **told, "powerCapLimits": [control]})


def _merged(wanted: Iterable[list[Any]]) -> dict[str, dict[str, int]]:
    """An xname that comes again adds to what it said before."""
    merged: dict[str, dict[str, int]] = {}
    for xname, controls in wanted:
        merged.setdefault(xname, {}).update(controls)
    return merged


def _failed(xname: str, error: str, status: str = FAILED) -> Operation:
    return Operation(status=status, component={"xname": xname, "error": error})


def _out_of_range(watts: int, limits: tuple[int, int]) -> str:
    """0 takes the cap away."""
    low, high = limits
    if 0 < watts < low:
        return f"Control ({CONTROL}) value ({watts}) is less than minimum ({low})"
    return f"Control ({CONTROL}) value ({watts}) is more than maximum ({high})" if watts > high else ""


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
    components = _components(task["operations"]) if full else []
    return told | ({"components": components} if components else {})


def _components(operations: Iterable[Operation]) -> list[Json]:
    """One for each xname, with all that its operations said."""
    merged: dict[str, dict[str, Any]] = {}
    for operation in operations:
        said = operation["component"]
        known = merged.setdefault(said["xname"], {})
        errors = [each["error"] for each in (known, said) if "error" in each]
        known |= said | ({"error": "; ".join(errors)} if errors else {})
    return list(merged.values())
