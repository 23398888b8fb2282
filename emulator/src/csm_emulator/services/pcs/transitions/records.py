"""Transitions on their tables: what was asked, how it stands, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.pcs.problems import Refusal
from csm_emulator.services.pcs.transitions.tasks import Task, Tasks, counts, shown
from csm_emulator.state.clock import rfc3339

NEW, IN_PROGRESS, COMPLETED, ABORTED = "new", "in-progress", "completed", "aborted"
SIGNALED = "abort-signaled"
ENDED = frozenset({COMPLETED, ABORTED})
EXPIRES = 86400.0
MOST = 20_000
"""So many ended records are kept (defaultMaxNumCompleted, defaultExpireTimeMins in main.go)."""
REAPER = 60.0
MAX_OBJECT, MAX_MESSAGE = 1_570_000, 130
"""Above this size in etcd, messages are cut (storage_etcd_impl.go)."""


class Transition(TypedDict):
    id: str
    operation: str
    deadline: int
    """In minutes; 0 does not wait, below 0 waits for ever."""
    created: float
    expires: float
    status: str
    run: int
    """How often somebody took it up: what an earlier run put on the agenda no longer counts."""
    until: float
    counts: dict[str, int] | None
    """Of those that ended."""


class Records:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._table = context.tables.open("pcs.transitions")
        self._outcomes = context.tables.open("pcs.outcomes")
        self._locations = context.tables.open("pcs.locations")
        self._numbers = context.tables.open("pcs.numbers")
        self.tasks = Tasks(context.tables.open("pcs.tasks"))
        context.scheduler.register("pcs.expires", self._reap)

    def number(self, of: str) -> int:
        self._numbers[of] = self._numbers.get(of, 0) + 1
        return int(self._numbers[of])

    def create(self, operation: str, deadline: int, location: Sequence[tuple[str, str]]) -> Transition:
        now = self._context.clock.now()
        transition = Transition(
            id=self._context.random.uuid("pcs.transition", self.number("transition")),
            operation=operation,
            deadline=deadline,
            created=now,
            expires=now + EXPIRES,
            status=NEW,
            run=1,
            until=0.0,
            counts=None,
        )
        self._table[transition["id"]] = transition
        self._locations[transition["id"]] = [list(each) for each in location]
        self._context.scheduler.at(transition["expires"], "pcs.expires", transition["id"])
        return transition

    def location(self, identity: str) -> list[tuple[str, str]]:
        return [(xname, deputy) for xname, deputy in self._locations.get(identity, ())]

    def find(self, identity: str) -> Transition | None:
        return self._table.get(identity)

    def get(self, identity: str) -> Transition:
        found = self._table.get(identity)
        if found is None:
            raise Refusal(404, f"Key /transition/{identity} does not exist")
        return found  # type: ignore[no-any-return]

    def all(self) -> list[Transition]:
        """In the order of etcd's keys."""
        return [self._table[identity] for identity in sorted(self._table)]

    def change(self, transition: Transition, **changes: Any) -> Transition:
        changed: Transition = {**transition, **changes}  # type: ignore[typeddict-item]
        self._table[transition["id"]] = changed
        return changed

    def end(self, transition: Transition, status: str) -> None:
        """The tasks become part of the record, as they stand."""
        identity = transition["id"]
        tasks = list(self.tasks.of(identity).values())
        self._outcomes[identity] = _cut(shown(tasks))
        self.change(transition, status=status, counts=counts(task["status"] for task in tasks))
        self.tasks.drop(identity)
        self._locations.pop(identity, None)
        self._keep_newest()

    def view(self, transition: Transition, *, full: bool) -> Json:
        identity = transition["id"]
        running: Sequence[Task] = list(self.tasks.of(identity).values()) if transition["counts"] is None else ()
        told = {
            "transitionID": identity,
            "operation": transition["operation"],
            "createTime": rfc3339(transition["created"], 9),
            "automaticExpirationTime": rfc3339(transition["expires"], 9),
            "transitionStatus": transition["status"],
            "taskCounts": transition["counts"] or counts(task["status"] for task in running),
        }
        tasks = (self._outcomes.get(identity) or shown(running)) if full else []
        return told | ({"tasks": tasks} if tasks else {})

    def signal_abort(self, transition: Transition) -> None:
        self.change(transition, status=SIGNALED)

    def _reap(self, identity: str) -> None:
        """Of an ended one nothing remains; one that still goes on is told to stop, and looked at again."""
        transition = self._table.get(identity)
        if transition is None:
            return
        if transition["status"] in ENDED:
            self._forget(identity)
        else:
            self.signal_abort(transition)
            self._context.scheduler.after(REAPER, "pcs.expires", identity)

    def _keep_newest(self) -> None:
        if len(self._outcomes) <= MOST:
            return
        oldest = sorted(self._outcomes, key=lambda identity: self._table[identity]["created"])
        for identity in oldest[: len(self._outcomes) - MOST]:
            self._forget(identity)

    def _forget(self, identity: str) -> None:
        del self._table[identity]
        self._outcomes.pop(identity, None)


def _cut(tasks: list[dict[str, str]]) -> list[dict[str, str]]:
    """A task costs about 60 bytes beside its texts, and its xname and id again in the lists of the record."""
    size = sum(180 + len(task["taskStatusDescription"]) + len(task.get("error", "")) for task in tasks)
    return [_shortened(task) for task in tasks] if size > MAX_OBJECT else tasks


def _shortened(task: dict[str, str]) -> dict[str, str]:
    error, description = task.get("error", ""), task["taskStatusDescription"]
    if len(error) > MAX_MESSAGE:
        error, description = error[:MAX_MESSAGE] + "...", "..." if len(description) > 3 else description
    elif len(description) > MAX_MESSAGE - len(error):
        description = description[: MAX_MESSAGE - len(error)] + "..."
    return {**task, "taskStatusDescription": description} | ({"error": error} if error else {})
