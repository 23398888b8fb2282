"""Multicast addresses for jobs, as Slurm requests them: a token for each job, and its running steps."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.records import Record
from csm_emulator.services.fabric_manager.documents import RequestRejected, read_object
from csm_emulator.services.fabric_manager.fields import integer, path_name, read_fields
from csm_emulator.services.fabric_manager.tables import DocumentStore
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_FIELDS = {"jobID": path_name, "mcastLimit": integer}


class Collectives:
    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._documents = store.jobs

    def routes(self) -> Sequence[Route]:
        return self._documents.routes(self._create, self._delete, self._patch)

    def _create(self, call: Call) -> Reply:
        fields = read_fields(read_object(call), _FIELDS)
        if "jobID" not in fields:
            raise RequestRejected(400, "jobID is missing")
        if fields.get("mcastLimit", 0) < 0:
            raise RequestRejected(400, "mcastLimit must not be negative")
        content = {"mcastLimit": 0} | fields | {"jobSteps": {}, "sessionToken": self._store.new_id("session")}
        return json_reply(self._documents.create(fields["jobID"], content))

    def _delete(self, call: Call) -> Reply:
        return json_reply(self._documents.delete(call.args["name"]))

    def _patch(self, call: Call) -> Reply:
        """Add or end steps; null ends a step."""
        name = call.args["name"]
        job = self._documents.get(name)
        body = read_object(call)
        steps = body.get("jobSteps")
        if steps is not None and not isinstance(steps, dict):
            raise RequestRejected(400, "jobSteps must be an object")
        merged: Record = {**job["jobSteps"], **(steps or {})}
        running = {step: value for step, value in merged.items() if value is not None}
        return json_reply(self._documents.change(name, {"jobSteps": running}))
