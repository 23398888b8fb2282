"""The tasks of transitions that are under way: one for each component, each kept on its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from csm_emulator.state.tables import RecordTable

NEW, IN_PROGRESS, FAILED, SUCCEEDED, UNSUPPORTED = "new", "in-progress", "failed", "succeeded", "unsupported"
OPEN = frozenset({NEW, IN_PROGRESS})
GATHERING, SENDING, WAITING, CONFIRMED = range(4)
UNACHIEVED = "Failed to achieve transition"


class Task(TypedDict):
    xname: str
    type: str
    operation: str
    """What was last sent to Redfish, in PCS's words; the transition's before anything was."""
    state: int
    status: str
    description: str
    error: str
    deputy: str
    reservation: str
    owner: bool
    """Whether the reservation is our own."""
    fed_by: list[str]
    plan: list[str]
    """The actions that it takes part in."""
    left: int
    """How many of them until it is done; below 0 after deadline 0, as in the real one."""
    pending: bool
    """Sent, and not yet confirmed."""


def new_task(xname: str, kind: str, operation: str, deputy: str) -> Task:
    return Task(
        xname=xname,
        type=kind,
        operation=operation,
        state=GATHERING,
        status=NEW,
        description="Gathering data",
        error="",
        deputy=deputy,
        reservation="",
        owner=False,
        fed_by=[],
        plan=[],
        left=0,
        pending=False,
    )


def shown(tasks: Iterable[Task]) -> list[dict[str, str]]:
    """As clients see them: the error only when there is one."""
    return [
        {"xname": task["xname"], "taskStatus": task["status"], "taskStatusDescription": task["description"]}
        | ({"error": task["error"]} if task["error"] else {})
        for task in tasks
    ]


def counts(statuses: Iterable[str]) -> dict[str, int]:
    found = Counter(statuses)
    return {
        "total": found.total(),
        "new": found[NEW],
        "in-progress": found[IN_PROGRESS],
        "failed": found[FAILED],
        "succeeded": found[SUCCEEDED],
        "un-supported": found[UNSUPPORTED],
    }


class Tasks:
    """By transition and xname. A change of one writes one."""

    def __init__(self, table: RecordTable) -> None:
        self._table = table
        self._by_transition: dict[str, dict[str, Task]] = {}
        for key, task in table.items():
            self._by_transition.setdefault(key.partition("/")[0], {})[task["xname"]] = task

    def of(self, transition: str) -> Mapping[str, Task]:
        return self._by_transition.get(transition, {})

    def put(self, transition: str, task: Task) -> Task:
        self._by_transition.setdefault(transition, {})[task["xname"]] = task
        self._table[f"{transition}/{task['xname']}"] = task
        return task

    def change(self, transition: str, task: Task, **changes: Any) -> Task:
        return self.put(transition, {**task, **changes})  # type: ignore[typeddict-item]

    def drop(self, transition: str) -> None:
        for xname in self._by_transition.pop(transition, {}):
            del self._table[f"{transition}/{xname}"]
