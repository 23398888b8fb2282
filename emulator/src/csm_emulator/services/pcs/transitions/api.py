"""``/transitions``: create, list, show, abort."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.dialects.go_json.types import INT, STRING, pointer_to, slice_of, struct
from csm_emulator.services.pcs.kinds import OPERATIONS
from csm_emulator.services.pcs.problems import Refusal, read_uuid, written
from csm_emulator.services.pcs.request_bodies import read
from csm_emulator.services.pcs.transitions import records
from csm_emulator.services.pcs.transitions.records import Records
from csm_emulator.services.pcs.transitions.worker import Worker
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

_LOCATION = struct("model.LocationParameter", {"xname": STRING, "deputyKey": STRING})
_PARAMETER = struct(
    "model.TransitionParameter",
    {"operation": STRING, "taskDeadlineMinutes": pointer_to(INT), "location": slice_of(_LOCATION)},
)
DEADLINE = 5
"""Minutes."""
_ACCEPTED = {"abortStatus": "Accepted - abort initiated"}


class Transitions:
    def __init__(self, store: Records, worker: Worker) -> None:
        self._store = store
        self._worker = worker

    def routes(self) -> Sequence[Route]:
        return (
            Route("GET", "/transitions", self._list),
            Route("POST", "/transitions", self._create),
            Route("GET", "/transitions/{transitionID}", self._show),
            Route("DELETE", "/transitions/{transitionID}", self._abort),
        )

    def _create(self, call: Call) -> Reply:
        asked = read(call.body, _PARAMETER)
        operation = OPERATIONS.get(asked["operation"].lower())
        if operation is None:
            raise Refusal(400, f"invalid Operation type {asked['operation']}")
        deadline = asked["taskDeadlineMinutes"]
        location = [(each["xname"], each["deputyKey"]) for each in asked["location"] or ()]
        transition = self._store.create(operation, DEADLINE if deadline is None else deadline, location)
        self._worker.start(transition)
        return written(
            {"transitionID": transition["id"], "operation": operation},
            headers=(("Location", f"../transitions/{transition['id']}"),),
        )

    def _list(self, _: Call) -> Reply:
        return written({"transitions": [self._store.view(each, full=False) for each in self._store.all()]})

    def _show(self, call: Call) -> Reply:
        transition = self._store.get(read_uuid(call.args["transitionID"]))
        return written(self._store.view(transition, full=True))

    def _abort(self, call: Call) -> Reply:
        transition = self._store.get(read_uuid(call.args["transitionID"]))
        if transition["status"] == records.COMPLETED:
            raise Refusal(400, "Transition is already finished and cannot be aborted.")
        if transition["status"] != records.ABORTED:
            self._store.signal_abort(transition)
        return written(_ACCEPTED, 202)
