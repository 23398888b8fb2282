"""VNI partitions: VNIs that are reserved for some edge ports. Partitions enforce nothing; blocks do."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.machine.fabric.plan import FabricPlan
from csm_emulator.machine.fabric.ports import Ranges
from csm_emulator.records import Record
from csm_emulator.services.fabric_manager.documents import RequestRejected, read_object
from csm_emulator.services.fabric_manager.fields import integer, integers, path_name, read_fields, texts
from csm_emulator.services.fabric_manager.tables import DocumentStore
from csm_emulator.services.fabric_manager.vnis.ranges import free_ranges, overlap, parse_ranges, size, within
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

MAX_VNIS = 65535
_FIELDS = {"partitionName": path_name, "vniCount": integer, "vniRanges": texts, "edgePortDFAs": integers}


class Partitions:
    def __init__(self, store: DocumentStore, plan: FabricPlan) -> None:
        self._store = store
        self._documents = store.partitions
        self._plan = plan

    def routes(self) -> Sequence[Route]:
        return self._documents.routes(self._create, self._delete, self._patch)

    def _create(self, call: Call) -> Reply:
        fields = read_fields(read_object(call), _FIELDS)
        if "partitionName" not in fields:
            raise RequestRejected(400, "partitionName is missing")
        name = fields["partitionName"]
        if name not in self._documents:
            fields = {"edgePortDFAs": []} | fields | self._vni_fields(name, fields)
        return json_reply(self._documents.create(name, fields))

    def _patch(self, call: Call) -> Reply:
        name = call.args["name"]
        partition = self._documents.get(name)
        fields = read_fields(read_object(call), _FIELDS)
        if fields.get("partitionName", name) != name:
            raise RequestRejected(400, f"partitionName: {name} cannot be renamed")
        if fields.get("vniCount") == partition["vniCount"] and not fields.get("vniRanges"):
            del fields["vniCount"]
        self._check_ports(fields)
        if fields.get("vniRanges") or fields.get("vniCount"):
            fields |= self._vni_fields(name, fields)
            self._check_blocks(name, parse_ranges(fields["vniRanges"]))
        else:
            fields = {field: value for field, value in fields.items() if field == "edgePortDFAs"}
        return json_reply(self._documents.change(name, fields))

    def _vni_fields(self, name: str, fields: Record) -> Record:
        """The requested ranges, or a free range of ``vniCount`` VNIs; raises ``RequestRejected`` on an overlap."""
        self._check_ports(fields)
        count = fields.get("vniCount", 0)
        if not 0 <= count <= MAX_VNIS:
            raise RequestRejected(400, f"vniCount must be from 0 to {MAX_VNIS}")
        other_ranges = {
            partition: parse_ranges(document["vniRanges"])
            for partition, document in self._documents.items()
            if partition != name
        }
        if fields.get("vniRanges"):
            ranges = parse_ranges(fields["vniRanges"])
            for partition, ranges_of_other in other_ranges.items():
                common = overlap(ranges, ranges_of_other)
                if common:
                    raise RequestRejected(400, f"vniRanges: {common[0]}-{common[1]} is of partition {partition}")
            return {"vniCount": count or size(ranges), "vniRanges": fields["vniRanges"]}
        if not count:
            raise RequestRejected(400, "vniCount or vniRanges is missing")
        new_ranges = free_ranges(count, (span for ranges_of_other in other_ranges.values() for span in ranges_of_other))
        return {"vniCount": count, "vniRanges": [f"{first}-{last}" for first, last in new_ranges]}

    def _check_ports(self, fields: Record) -> None:
        for dfa in fields.get("edgePortDFAs", ()):
            if self._plan.edge_port_with(dfa) is None:
                raise RequestRejected(400, f"edgePortDFAs: no edge port has the address {dfa}")

    def _check_blocks(self, name: str, ranges: Ranges) -> None:
        for block, document in self._store.blocks.items():
            if document["partitionName"] == name and not within(parse_ranges(document["vniRanges"]), ranges):
                raise RequestRejected(400, f"vniRanges: block {block} has VNIs beyond them")

    def _delete(self, call: Call) -> Reply:
        name = call.args["name"]
        self._documents.get(name)
        for block, document in self._store.blocks.items():
            if document["partitionName"] == name:
                raise RequestRejected(
                    400, f"{self._documents.link(name)} is in use by {self._store.blocks.link(block)}"
                )
        return json_reply(self._documents.delete(name))
