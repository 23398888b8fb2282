"""VNI blocks: VNIs of a partition that edge ports let pass, and no others. A task enforces each change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csm_emulator.machine.fabric.ports import Ranges, join_ranges
from csm_emulator.services.fabric_manager.documents import Document, Refusal, read_object
from csm_emulator.services.fabric_manager.fields import own_name, read_fields, text, texts, wholes
from csm_emulator.services.fabric_manager.tables import Store
from csm_emulator.services.fabric_manager.vnis.enforcement import Enforcement, Order
from csm_emulator.services.fabric_manager.vnis.ranges import parse_ranges, within
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_FIELDS = {"vniBlockName": own_name, "partitionName": text, "vniRanges": texts, "portDFAs": wholes}
_LATER = ("vniRanges", "portDFAs")
"""What can be changed."""


class Blocks:
    def __init__(self, store: Store, enforcement: Enforcement) -> None:
        self._store = store
        self._all = store.blocks
        self._enforcement = enforcement
        self._intended: dict[int, Ranges] | None = None
        """By address of a port; made anew after each change."""

    def routes(self) -> Sequence[Route]:
        return self._all.routes(self._create, self._delete, self._patch)

    def intended(self, dfa: int) -> Ranges | None:
        """The VNIs that the documents let a port use; None when no block has the port."""
        if self._intended is None:
            self._intended = self._index()
        return self._intended.get(dfa)

    def _index(self) -> dict[int, Ranges]:
        found: dict[int, list[tuple[int, int]]] = {}
        for block in self._all.values():
            ranges = parse_ranges(block["vniRanges"])
            for dfa in set(block["portDFAs"]):
                found.setdefault(dfa, []).extend(ranges)
        return {dfa: join_ranges(ranges) for dfa, ranges in found.items()}

    def _create(self, call: Call) -> Reply:
        said = read_fields(read_object(call), _FIELDS)
        for field in ("vniBlockName", "partitionName"):
            if field not in said:
                raise Refusal(400, f"{field} is missing")
        name = said["vniBlockName"]
        if name in self._all:
            return json_reply(self._all.create(name, said))
        partition = self._partition(said["partitionName"])
        said = {"vniRanges": partition["vniRanges"], "portDFAs": []} | said
        self._check(said, partition)
        return json_reply(self._all.create(name, said | {"enforcementTaskServiceLink": self._enforce(said)}))

    def _patch(self, call: Call) -> Reply:
        name = call.args["name"]
        before = self._all.get(name)
        asked = read_fields(read_object(call), _FIELDS)
        said = {field: asked[field] for field in _LATER if field in asked}
        if not said:
            return json_reply(self._all.change(name, {}))
        after = {**before, **said}
        self._check(after, self._partition(before["partitionName"]))
        return json_reply(self._all.change(name, said | {"enforcementTaskServiceLink": self._enforce(after)}))

    def _delete(self, call: Call) -> Reply:
        """Gone at once as a document; its ports are let go by a task."""
        document = self._all.delete(call.args["name"])
        self._intended = None
        order = Order(document["vniBlockName"], document["partitionName"], (), ())
        return json_reply(document | {"enforcementTaskServiceLink": self._enforcement.begin(order)})

    def _enforce(self, block: dict[str, Any]) -> str:
        ranges = parse_ranges(block["vniRanges"])
        self._intended = None
        order = Order(block["vniBlockName"], block["partitionName"], ranges, tuple(block["portDFAs"]))
        return self._enforcement.begin(order)

    def _partition(self, name: str) -> Document:
        if name not in self._store.partitions:
            raise Refusal(400, f"partitionName: no VNI partition {name}")
        return self._store.partitions.get(name)

    def _check(self, block: dict[str, Any], partition: Document) -> None:
        if not block["vniRanges"] or not within(parse_ranges(block["vniRanges"]), parse_ranges(partition["vniRanges"])):
            raise Refusal(400, f"vniRanges must be within those of partition {partition['partitionName']}")
        ports = set(partition["edgePortDFAs"])
        for dfa in block["portDFAs"]:
            if dfa not in ports:
                raise Refusal(400, f"portDFAs: {dfa} is not of partition {partition['partitionName']}")
