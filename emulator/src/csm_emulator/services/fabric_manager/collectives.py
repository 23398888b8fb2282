"""Multicast addresses for jobs, as Slurm asks for them: a token per job, steps that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csm_emulator.services.fabric_manager.documents import Refusal, read_object
from csm_emulator.services.fabric_manager.fields import own_name, read_fields, whole
from csm_emulator.services.fabric_manager.tables import Store
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_FIELDS = {"jobID": own_name, "mcastLimit": whole}


class Collectives:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._all = store.jobs

    def routes(self) -> Sequence[Route]:
        return self._all.routes(self._create, self._delete, self._patch)

    def _create(self, call: Call) -> Reply:
        said = read_fields(read_object(call), _FIELDS)
        if "jobID" not in said:
            raise Refusal(400, "jobID is missing")
        if said.get("mcastLimit", 0) < 0:
            raise Refusal(400, "mcastLimit must not be negative")
        made = {"mcastLimit": 0} | said | {"jobSteps": {}, "sessionToken": self._store.new_id("session")}
        return json_reply(self._all.create(said["jobID"], made))

    def _delete(self, call: Call) -> Reply:
        return json_reply(self._all.delete(call.args["name"]))

    def _patch(self, call: Call) -> Reply:
        """A step that is null is over."""
        name = call.args["name"]
        before = self._all.get(name)
        body = read_object(call)
        steps = body.get("jobSteps")
        if steps is not None and not isinstance(steps, dict):
            raise Refusal(400, "jobSteps must be an object")
        merged: dict[str, Any] = {**before["jobSteps"], **(steps or {})}
        kept = {step: value for step, value in merged.items() if value is not None}
        return json_reply(self._all.change(name, {"jobSteps": kept}))
