"""VNI partitions: VNIs that are kept for some edge ports. They enforce nothing; blocks do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csm_emulator.machine.fabric.plan import Plan
from csm_emulator.machine.fabric.ports import Ranges
from csm_emulator.services.fabric_manager.documents import Refusal, read_object
from csm_emulator.services.fabric_manager.fields import own_name, read_fields, texts, whole, wholes
from csm_emulator.services.fabric_manager.tables import Store
from csm_emulator.services.fabric_manager.vnis.ranges import deal, overlap, parse_ranges, size, within
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

MOST_VNIS = 65535
_FIELDS = {"partitionName": own_name, "vniCount": whole, "vniRanges": texts, "edgePortDFAs": wholes}


class Partitions:
    def __init__(self, store: Store, plan: Plan) -> None:
        self._store = store
        self._all = store.partitions
        self._plan = plan

    def routes(self) -> Sequence[Route]:
        return self._all.routes(self._create, self._delete, self._patch)

    def _create(self, call: Call) -> Reply:
        said = read_fields(read_object(call), _FIELDS)
        if "partitionName" not in said:
            raise Refusal(400, "partitionName is missing")
        name = said["partitionName"]
        if name not in self._all:
            said = {"edgePortDFAs": []} | said | self._settle(name, said)
        return json_reply(self._all.create(name, said))

    def _patch(self, call: Call) -> Reply:
        name = call.args["name"]
        before = self._all.get(name)
        said = read_fields(read_object(call), _FIELDS)
        if said.get("partitionName", name) != name:
            raise Refusal(400, f"partitionName: {name} cannot be renamed")
        if said.get("vniCount") == before["vniCount"] and not said.get("vniRanges"):
            del said["vniCount"]
        self._check_ports(said)
        if said.get("vniRanges") or said.get("vniCount"):
            said |= self._settle(name, said)
            self._check_blocks(name, parse_ranges(said["vniRanges"]))
        else:
            said = {field: value for field, value in said.items() if field == "edgePortDFAs"}
        return json_reply(self._all.change(name, said))

    def _settle(self, name: str, said: dict[str, Any]) -> dict[str, Any]:
        """Ranges as asked for, or as many VNIs as are free; what is another's is refused."""
        self._check_ports(said)
        count = said.get("vniCount", 0)
        if not 0 <= count <= MOST_VNIS:
            raise Refusal(400, f"vniCount must be from 0 to {MOST_VNIS}")
        others = {other: parse_ranges(found["vniRanges"]) for other, found in self._all.items() if other != name}
        if said.get("vniRanges"):
            ranges = parse_ranges(said["vniRanges"])
            for other, theirs in others.items():
                common = overlap(ranges, theirs)
                if common:
                    raise Refusal(400, f"vniRanges: {common[0]}-{common[1]} is of partition {other}")
            return {"vniCount": count or size(ranges), "vniRanges": said["vniRanges"]}
        if not count:
            raise Refusal(400, "vniCount or vniRanges is missing")
        dealt = deal(count, (span for theirs in others.values() for span in theirs))
        return {"vniCount": count, "vniRanges": [f"{first}-{last}" for first, last in dealt]}

    def _check_ports(self, said: dict[str, Any]) -> None:
        for dfa in said.get("edgePortDFAs", ()):
            if self._plan.edge_port_with(dfa) is None:
                raise Refusal(400, f"edgePortDFAs: no edge port has the address {dfa}")

    def _check_blocks(self, name: str, ranges: Ranges) -> None:
        for block, found in self._store.blocks.items():
            if found["partitionName"] == name and not within(parse_ranges(found["vniRanges"]), ranges):
                raise Refusal(400, f"vniRanges: block {block} has VNIs beyond them")

    def _delete(self, call: Call) -> Reply:
        name = call.args["name"]
        self._all.get(name)
        for block, found in self._store.blocks.items():
            if found["partitionName"] == name:
                raise Refusal(400, f"{self._all.link(name)} is in use by {self._store.blocks.link(block)}")
        return json_reply(self._all.delete(name))
