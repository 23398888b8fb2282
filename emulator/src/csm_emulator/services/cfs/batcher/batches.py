"""Batches: components that need the same layers and are configured by one session."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace

from csm_emulator.records import Record
from csm_emulator.services.cfs.components.layer_status import PENDING
from csm_emulator.state.tables import RecordTable, RecordTables


@dataclass(frozen=True, slots=True)
class Member:
    """A component at the time when it joined the batch."""

    desired_layers_hash: str
    """Stored as ``wish``."""
    latest_time: str
    latest_status: str
    tags: dict[str, str]


@dataclass(frozen=True, slots=True)
class Batch:
    configuration: str
    limit: str
    """Indexes of the layers to apply, separated by commas."""
    latest_status: str
    """The status of the members' last layer: failed and interrupted components are in separate batches."""
    opened: float
    members: dict[str, Member] = field(default_factory=dict)
    session: str = ""
    sent: float = 0.0

    @property
    def kind(self) -> tuple[str, str, str]:
        return self.configuration, self.limit, self.latest_status

    def common_tags(self) -> dict[str, str]:
        first, *other_members = self.members.values()
        return {
            key: value
            for key, value in first.tags.items()
            if all(member.tags.get(key) == value for member in other_members)
        }


def as_member(record: Record, layers: Sequence[Record]) -> Member:
    """A component as a member; ``layers`` are its desired layers."""
    layer_names = ":".join(f"{layer.get('commit')}{layer.get('playbook')}" for layer in layers)
    latest = record["state"][-1] if record.get("state") else {}
    return Member(
        hashlib.blake2b(layer_names.encode(errors="replace"), digest_size=8).hexdigest(),
        latest.get("last_updated", ""),
        latest.get("status", ""),
        record.get("tags", {}),
    )


def pending_layers(layers: Sequence[Record]) -> str:
    return ",".join(str(index) for index, layer in enumerate(layers) if layer["status"] == PENDING)


class BatchTable:
    """All batches by number, and the components that are in a batch."""

    def __init__(self, tables: RecordTables) -> None:
        self._table: RecordTable[Record] = tables.open("cfs.batches")
        self._batches = {key: _read(value) for key, value in self._table.items()}
        self.taken = {xname for batch in self._batches.values() for xname in batch.members}

    def __len__(self) -> int:
        return len(self._batches)

    def items(self) -> list[tuple[str, Batch]]:
        return list(self._batches.items())

    def draft(self, number: str, like: Batch) -> Batch:
        """A copy of the batch with this number to add members to, or a new batch like ``like``."""
        batch = self._batches.get(number, replace(like, members={}))
        return replace(batch, members=dict(batch.members))

    def put(self, number: str, batch: Batch) -> None:
        self._table[number] = _written(batch)
        self._batches[number] = batch
        self.taken.update(batch.members)

    def remove(self, number: str) -> None:
        self.taken.difference_update(self._batches.pop(number).members)
        del self._table[number]

    def clear(self) -> None:
        for number in list(self._batches):
            self.remove(number)


def _written(batch: Batch) -> Record:
    """The record of a batch; saved machines have the members' hash under the name ``wish``."""
    members = {
        xname: {
            "wish": member.desired_layers_hash,
            "latest_time": member.latest_time,
            "latest_status": member.latest_status,
            "tags": dict(member.tags),
        }
        for xname, member in batch.members.items()
    }
    return {**asdict(replace(batch, members={})), "members": members}


def _read(value: Record) -> Batch:
    members = {
        xname: Member(member["wish"], member["latest_time"], member["latest_status"], member["tags"])
        for xname, member in value["members"].items()
    }
    return Batch(**{**value, "members": members})
