"""``/fabric/status``: health, verbosity, and the removal of all jobs and VNIs."""

from __future__ import annotations

from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.problems import RequestRejected, read_fields
from csm_emulator.services.vnid.table import VniTable
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

MAX_VERBOSE = 2


class Status:
    def __init__(self, tables: RecordTables, vni_table: VniTable, jobs: Jobs) -> None:
        self._table = tables.open("vnid.status", {"verbose": 0})
        self._vni_table = vni_table
        self._jobs = jobs

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/fabric/status", self.get),
            Route("POST", "/fabric/status", self.post),
            Route("DELETE", "/fabric/status", self.empty),
        ]

    def get(self, _: Call) -> Reply:
        return json_reply({"status": "Active", "verbose": self._table["verbose"]})

    def post(self, call: Call) -> Reply:
        fields = read_fields(call, {"verbose": int})
        verbose = fields.get("verbose", self._table["verbose"])
        if not 0 <= verbose <= MAX_VERBOSE:
            raise RequestRejected(400, f"verbose must be from 0 to {MAX_VERBOSE}")
        self._table["verbose"] = verbose
        return self.get(call)

    def empty(self, _: Call) -> Reply:
        """Remove all jobs and VNIs; partitions and their pools stay."""
        for partition in self._vni_table.partitions:
            for name in self._vni_table.names(self._vni_table.jobs, partition):
                self._jobs.end_multicast(partition, name)
                del self._vni_table.jobs[f"{partition}/{name}"]
            self._vni_table.clear(partition)
        return json_reply({})
