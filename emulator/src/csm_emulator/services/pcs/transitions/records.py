"""The store of transitions: the request, the status and the results of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.pcs.problems import Refusal
from csm_emulator.services.pcs.transitions.tasks import Task, Tasks, counts, task_views
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable

NEW, IN_PROGRESS, COMPLETED, ABORTED = "new", "in-progress", "completed", "aborted"
SIGNALED = "abort-signaled"
ENDED = frozenset({COMPLETED, ABORTED})
LIFETIME = 86400.0
MAX_ENDED = 20_000
"""Seconds for which a transition is kept, and how many ended ones are kept (defaultExpireTimeMins and
defaultMaxNumCompleted in main.go)."""
REAPER_INTERVAL = 60.0
MAX_OBJECT, MAX_MESSAGE = 1_570_000, 130
"""A record of more bytes than this has its messages cut to this many characters (storage_etcd_impl.go)."""


class Transition(TypedDict):
    id: str
    operation: str
    deadline: int
    """In minutes. 0: PCS does not wait for confirmation; below 0: it waits without limit."""
    created: float
    expires: float
    status: str
    run: int
    """How often PCS started or resumed it. Scheduled steps of earlier runs are ignored."""
    until: float
    counts: dict[str, int] | None
    """The task counts of a transition that has ended; None before."""


class TransitionChanges(TypedDict, total=False):
    """The fields of a transition that change after its creation."""

    status: str
    run: int
    until: float
    counts: dict[str, int] | None


class TransitionStore:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._table: RecordTable[Transition] = context.tables.open("pcs.transitions")
        self._outcomes: RecordTable[list[dict[str, str]]] = context.tables.open("pcs.outcomes")
        self._locations: RecordTable[list[list[str]]] = context.tables.open("pcs.locations")
        self._numbers: RecordTable[int] = context.tables.open("pcs.numbers")
        self.tasks = Tasks(context.tables.open("pcs.tasks"))
        context.scheduler.register("pcs.expires", self._reap)

    def number(self, counter: str) -> int:
        self._numbers[counter] = self._numbers.get(counter, 0) + 1
        return int(self._numbers[counter])

    def create(self, operation: str, deadline: int, location: Sequence[tuple[str, str]]) -> Transition:
        now = self._context.clock.now()
        transition = Transition(
            id=self._context.random.uuid("pcs.transition", self.number("transition")),
            operation=operation,
            deadline=deadline,
            created=now,
            expires=now + LIFETIME,
            status=NEW,
            run=1,
            until=0.0,
            counts=None,
        )
        self._table[transition["id"]] = transition
        self._locations[transition["id"]] = [list(entry) for entry in location]
        self._context.scheduler.at(transition["expires"], "pcs.expires", transition["id"])
        return transition

    def location(self, identity: str) -> list[tuple[str, str]]:
        return [(xname, deputy) for xname, deputy in self._locations.get(identity, ())]

    def find(self, identity: str) -> Transition | None:
        return self._table.get(identity)

    def get(self, identity: str) -> Transition:
        transition = self._table.get(identity)
        if transition is None:
            raise Refusal(404, f"Key /transition/{identity} does not exist")
        return transition

    def all(self) -> list[Transition]:
        """Ordered by id, as etcd orders its keys."""
        return [self._table[identity] for identity in sorted(self._table)]

    def change(self, transition: Transition, **changes: Unpack[TransitionChanges]) -> Transition:
        changed: Transition = {**transition, **changes}
        self._table[transition["id"]] = changed
        return changed

    def end(self, transition: Transition, status: str) -> None:
        """Stores the tasks as they are now with the record, and drops them from the open tasks."""
        identity = transition["id"]
        tasks = list(self.tasks.of(identity).values())
        self._outcomes[identity] = _within_size(task_views(tasks))
        self.change(transition, status=status, counts=counts(task["status"] for task in tasks))
        self.tasks.drop(identity)
        self._locations.pop(identity, None)
        self._keep_newest()

    def view(self, transition: Transition, *, full: bool) -> Json:
        identity = transition["id"]
        running: Sequence[Task] = list(self.tasks.of(identity).values()) if transition["counts"] is None else ()
        view = {
            "transitionID": identity,
            "operation": transition["operation"],
            "createTime": rfc3339(transition["created"], 9),
            "automaticExpirationTime": rfc3339(transition["expires"], 9),
            "transitionStatus": transition["status"],
            "taskCounts": transition["counts"] or counts(task["status"] for task in running),
        }
        tasks = (self._outcomes.get(identity) or task_views(running)) if full else []
        return view | ({"tasks": tasks} if tasks else {})

    def signal_abort(self, transition: Transition) -> None:
        self.change(transition, status=SIGNALED)

    def _reap(self, identity: str) -> None:
        """Deletes an expired transition. One that has not ended is aborted and checked again."""
        transition = self._table.get(identity)
        if transition is None:
            return
        if transition["status"] in ENDED:
            self._forget(identity)
        else:
            self.signal_abort(transition)
            self._context.scheduler.after(REAPER_INTERVAL, "pcs.expires", identity)

    def _keep_newest(self) -> None:
        if len(self._outcomes) <= MAX_ENDED:
            return
        oldest = sorted(self._outcomes, key=lambda identity: self._table[identity]["created"])
        for identity in oldest[: len(self._outcomes) - MAX_ENDED]:
            self._forget(identity)

    def _forget(self, identity: str) -> None:
        del self._table[identity]
        self._outcomes.pop(identity, None)


def _within_size(tasks: list[dict[str, str]]) -> list[dict[str, str]]:
    """The tasks, with messages cut if the record is too large: a task has about 180 bytes beside its messages."""
    size = sum(180 + len(task["taskStatusDescription"]) + len(task.get("error", "")) for task in tasks)
    return [_shortened(task) for task in tasks] if size > MAX_OBJECT else tasks


def _shortened(task: dict[str, str]) -> dict[str, str]:
    error, description = task.get("error", ""), task["taskStatusDescription"]
    if len(error) > MAX_MESSAGE:
        error, description = error[:MAX_MESSAGE] + "...", "..." if len(description) > 3 else description
    elif len(description) > MAX_MESSAGE - len(error):
        description = description[: MAX_MESSAGE - len(error)] + "..."
    return {**task, "taskStatusDescription": description} | ({"error": error} if error else {})
