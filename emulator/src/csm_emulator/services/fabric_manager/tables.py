"""The tables of all documents that clients can create, change or delete."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fabric_manager import seed_data as seeds
from csm_emulator.services.fabric_manager.documents import INSTALLATION_TIME, Document, DocumentCollection, Envelope
from csm_emulator.state.tables import RecordTable

TASKS = "/fabric/vni/block-enforcement-tasks"


class DocumentStore:
    def __init__(self, context: Context) -> None:
        self._context = context
        self.envelope = Envelope(context)
        self.vlans = self._open("vlans", "VlanState", "/fabric/vlans", seeds.VLANS)
        self.policies = self._open("policies", "PortPolicyState", "/fabric/port-policies", seeds.POLICIES)
        self.partitions = self._open("partitions", "VniPartitionState", "/fabric/vni/partitions")
        self.blocks = self._open("blocks", "VniBlockState", "/fabric/vni/blocks")
        self.tasks = self._open("tasks", "VniBlockEnforceTaskServiceState", TASKS)
        self.jobs = self._open("jobs", "CollectivesJobState", "/fabric/collectives/jobs")
        self._counters: RecordTable[int] = context.tables.open("fabric-manager.counters")

    def _open(
        self, name: str, kind: str, path: str, seed: Mapping[str, Mapping[str, Json]] | None = None
    ) -> DocumentCollection:
        def wrap(key: str, content: Mapping[str, Json]) -> Document:
            return {**content, **self.envelope.wrap(kind, f"{path}/{key}", "POST", 0, INSTALLATION_TIME)}

        wrapped = {key: wrap(key, content) for key, content in (seed or {}).items()}
        table = self._context.tables.open(f"fabric-manager.{name}", wrapped)
        return DocumentCollection(table, self.envelope, kind, path)

    def next_number(self, counter: str) -> int:
        """The next number of this counter, from 1."""
        number = int(self._counters.get(counter, 0)) + 1
        self._counters[counter] = number
        return number

    def new_id(self, kind: str) -> str:
        return self._context.random.uuid("fabric-manager", kind, self.next_number(kind))
