"""How VNID is, and the switch that empties it."""

from __future__ import annotations

from csm_emulator.services.vnid.jobs import Jobs
from csm_emulator.services.vnid.problems import Refusal, read
from csm_emulator.services.vnid.table import Book
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

MOST_VERBOSE = 2


class Status:
    def __init__(self, tables: RecordTables, book: Book, jobs: Jobs) -> None:
        self._table = tables.open("vnid.status", {"verbose": 0})
        self._book = book
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
        said = read(call, {"verbose": int})
        verbose = said.get("verbose", self._table["verbose"])
        if not 0 <= verbose <= MOST_VERBOSE:
            raise Refusal(400, f"verbose must be from 0 to {MOST_VERBOSE}")
        self._table["verbose"] = verbose
        return self.get(call)

    def empty(self, _: Call) -> Reply:
        """Jobs and VNIs go; partitions and their pools stay."""
        for partition in self._book.partitions:
            for name in self._book.names(self._book.jobs, partition):
                self._jobs.end_multicast(partition, name)
                del self._book.jobs[f"{partition}/{name}"]
            self._book.clear(partition)
        return json_reply({})
