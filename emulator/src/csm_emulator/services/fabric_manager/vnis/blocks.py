"""VNI blocks: the only VNIs of a partition that edge ports let pass. A task enforces each change."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.fabric.ports import Ranges, join_ranges
from csm_emulator.records import Record
from csm_emulator.services.fabric_manager.documents import Document, RequestRejected, read_object
from csm_emulator.services.fabric_manager.fields import integers, path_name, read_fields, text, texts
from csm_emulator.services.fabric_manager.tables import DocumentStore
from csm_emulator.services.fabric_manager.vnis.enforcement import Enforcement, EnforcementOrder
from csm_emulator.services.fabric_manager.vnis.ranges import parse_ranges, within
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_FIELDS = {"vniBlockName": path_name, "partitionName": text, "vniRanges": texts, "portDFAs": integers}
_CHANGEABLE = ("vniRanges", "portDFAs")
"""The fields that a PATCH can change."""


class Blocks:
    def __init__(self, store: DocumentStore, enforcement: Enforcement) -> None:
        self._store = store
        self._documents = store.blocks
        self._enforcement = enforcement
        self._intended: dict[int, Ranges] | None = None
        """Port address → its VNIs; None after a change, until it is needed."""

    def routes(self) -> Sequence[Route]:
        return self._documents.routes(self._create, self._delete, self._patch)

    def intended(self, dfa: int) -> Ranges | None:
        """The VNIs that the documents let a port use; None when no block has the port."""
        if self._intended is None:
            self._intended = self._index()
        return self._intended.get(dfa)

    def _index(self) -> dict[int, Ranges]:
        ranges_by_dfa: dict[int, list[tuple[int, int]]] = {}
        for block in self._documents.values():
            ranges = parse_ranges(block["vniRanges"])
            for dfa in set(block["portDFAs"]):
                ranges_by_dfa.setdefault(dfa, []).extend(ranges)
        return {dfa: join_ranges(ranges) for dfa, ranges in ranges_by_dfa.items()}

    def _create(self, call: Call) -> Reply:
        fields = read_fields(read_object(call), _FIELDS)
        for field in ("vniBlockName", "partitionName"):
            if field not in fields:
                raise RequestRejected(400, f"{field} is missing")
        name = fields["vniBlockName"]
        if name in self._documents:
            return json_reply(self._documents.create(name, fields))
        partition = self._partition(fields["partitionName"])
        fields = {"vniRanges": partition["vniRanges"], "portDFAs": []} | fields
        self._check(fields, partition)
        return json_reply(self._documents.create(name, fields | {"enforcementTaskServiceLink": self._enforce(fields)}))

    def _patch(self, call: Call) -> Reply:
        name = call.args["name"]
        block = self._documents.get(name)
        fields = read_fields(read_object(call), _FIELDS)
        changes = {field: fields[field] for field in _CHANGEABLE if field in fields}
        if not changes:
            return json_reply(self._documents.change(name, {}))
        changed_block = {**block, **changes}
        self._check(changed_block, self._partition(block["partitionName"]))
        return json_reply(
            self._documents.change(name, changes | {"enforcementTaskServiceLink": self._enforce(changed_block)})
        )

    def _delete(self, call: Call) -> Reply:
        """Delete the document at once; a task ends the enforcement on its ports."""
        document = self._documents.delete(call.args["name"])
        self._intended = None
        order = EnforcementOrder(document["vniBlockName"], document["partitionName"], (), ())
        return json_reply(document | {"enforcementTaskServiceLink": self._enforcement.begin(order)})

    def _enforce(self, block: Record) -> str:
        ranges = parse_ranges(block["vniRanges"])
        self._intended = None
        order = EnforcementOrder(block["vniBlockName"], block["partitionName"], ranges, tuple(block["portDFAs"]))
        return self._enforcement.begin(order)

    def _partition(self, name: str) -> Document:
        if name not in self._store.partitions:
            raise RequestRejected(400, f"partitionName: no VNI partition {name}")
        return self._store.partitions.get(name)

    def _check(self, block: Record, partition: Document) -> None:
        if not block["vniRanges"] or not within(parse_ranges(block["vniRanges"]), parse_ranges(partition["vniRanges"])):
            raise RequestRejected(400, f"vniRanges must be within those of partition {partition['partitionName']}")
        ports = set(partition["edgePortDFAs"])
        for dfa in block["portDFAs"]:
            if dfa not in ports:
                raise RequestRejected(400, f"portDFAs: {dfa} is not of partition {partition['partitionName']}")
