"""The store of actions and operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.fas.responses import NIL, RequestFailed
from csm_emulator.state.tables import RecordTable


class ActionStore:
    """``changed`` is called with the id of each action whose operations changed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.actions: RecordTable[Record] = context.tables.open("fas.actions")
        self.operations: RecordTable[Record] = context.tables.open("fas.operations")
        self._count: RecordTable[int] = context.tables.open("fas.count")
        self.changed: Callable[[str], None] = lambda _: None

    def new_action(self, parameters: Json) -> str:
        action = self._id("action")
        self.actions[action] = {
            "actionID": action,
            "snapshotID": NIL,
            "command": parameters["command"],
            "startTime": self._context.clock.now(),
            "endTime": None,
            "state": "new",
            "parameters": parameters,
            "operationIDs": [],
            "blockedBy": [],
            "errors": [],
        }
        return action

    def new_operation(self, action: str, **fields: Json) -> Json:
        now = self._context.clock.now()
        return {
            "operationID": self._id("operation"),
            "actionID": action,
            "state": "initial",
            "stateHelper": "",
            "error": "",
            "startTime": now,
            "endTime": None,
            "expirationTime": None,
            "softwareId": "",
            "fromFirmwareVersion": "",
            "fromImageID": NIL,
            "toImageID": NIL,
            "blockedBy": [],
            "launched": False,
            "turn": 0,
            **fields,
        }

    def put_action(self, action: Json) -> None:
        self.actions[action["actionID"]] = action

    def put_operation(self, operation: Json) -> None:
        self.operations[operation["operationID"]] = {**operation, "refreshTime": self._context.clock.now()}
        self.changed(operation["actionID"])

    def of_action(self, action: Json) -> Iterator[Json]:
        for operation in action["operationIDs"]:
            if operation in self.operations:
                yield self.operations[operation]

    def expect_action(self, action: str) -> Json:
        return _expect(self.actions.get(action), "action", action)

    def expect_operation(self, operation: str) -> Json:
        return _expect(self.operations.get(operation), "operation", operation)

    def _id(self, kind: str) -> str:
        number = self._count.get(kind, 0) + 1
        self._count[kind] = number
        return self._context.random.uuid("fas", kind, number)


def _expect(record: Json | None, kind: str, key: str) -> Json:
    if key == NIL:
        raise RequestFailed(404, f"Null {kind} id")
    if record is None:
        raise RequestFailed(404, f"Key /{kind}s/{key} does not exist")
    return record
