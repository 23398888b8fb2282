"""The tasks of transitions under way: one for each component, each a row of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypedDict, Unpack

from csm_emulator.state.tables import RecordTable

NEW, IN_PROGRESS, FAILED, SUCCEEDED, UNSUPPORTED = "new", "in-progress", "failed", "succeeded", "unsupported"
OPEN = frozenset({NEW, IN_PROGRESS})
GATHERING, SENDING, WAITING, CONFIRMED = range(4)
UNACHIEVED = "Failed to achieve transition"


class Task(TypedDict):
    xname: str
    type: str
    operation: str
    """The operation that was last sent to Redfish; before that, the transition's."""
    state: int
    status: str
    description: str
    error: str
    deputy: str
    reservation: str
    owner: bool
    """PCS made the reservation itself; otherwise it has a deputy key."""
    fed_by: list[str]
    plan: list[str]
    """The actions that the component gets, in order."""
    left: int
    """Actions of the plan that are not confirmed yet. Below 0 with deadline 0, as in the real PCS."""
    pending: bool
    """An action was sent and is not confirmed yet."""


class Decision(TypedDict, total=False):
    """The plan of a task, or its end."""

    state: int
    status: str
    description: str
    error: str
    plan: list[str]
    left: int


class TaskChanges(Decision, total=False):
    """The fields of a task that change after its creation."""

    operation: str
    deputy: str
    reservation: str
    owner: bool
    fed_by: list[str]
    pending: bool


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


def task_views(tasks: Iterable[Task]) -> list[dict[str, str]]:
    """The tasks as clients see them; ``error`` only if it is not empty."""
    return [
        {"xname": task["xname"], "taskStatus": task["status"], "taskStatusDescription": task["description"]}
        | ({"error": task["error"]} if task["error"] else {})
        for task in tasks
    ]


def counts(statuses: Iterable[str]) -> dict[str, int]:
    counter = Counter(statuses)
    return {
        "total": counter.total(),
        "new": counter[NEW],
        "in-progress": counter[IN_PROGRESS],
        "failed": counter[FAILED],
        "succeeded": counter[SUCCEEDED],
        "un-supported": counter[UNSUPPORTED],
    }


class Tasks:
    """Tasks by transition and xname. A change of a task writes only its row."""

    def __init__(self, table: RecordTable[Task]) -> None:
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

    def change(self, transition: str, task: Task, **changes: Unpack[TaskChanges]) -> Task:
        return self.put(transition, {**task, **changes})

    def drop(self, transition: str) -> None:
        for xname in self._by_transition.pop(transition, {}):
            del self._table[f"{transition}/{xname}"]
