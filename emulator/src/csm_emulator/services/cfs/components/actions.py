"""Operations on components, shared by both API versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from csm_emulator.records import Record
from csm_emulator.services.cfs.components.changes import apply_patch, with_automatic_fields
from csm_emulator.services.cfs.components.filters import Query, select
from csm_emulator.services.cfs.components.hardware_sync import HardwareSync
from csm_emulator.services.cfs.components.table import Components
from csm_emulator.services.cfs.errors import UNPARSABLE, check_key, no_component, refuse
from csm_emulator.services.cfs.timestamps import stamp
from csm_emulator.state.clock import Clock

MAX_COMPONENT_SIZE, MAX_REQUEST_SIZE = 64 << 10, 32 << 20
"""Characters of a component as JSON, and of all that one request writes."""


class _SizeLimit:
    """Counts the characters that a request writes, up to the maximum."""

    def __init__(self) -> None:
        self._remaining = MAX_REQUEST_SIZE

    def take(self, record: Record) -> Record:
        """The record; raises ``Refused`` (413) when it or the whole request is too large."""
        size = len(json.dumps(record))
        self._remaining -= size
        if size > MAX_COMPONENT_SIZE or self._remaining < 0:
            limits = f"{MAX_COMPONENT_SIZE} characters for one component or {MAX_REQUEST_SIZE} for all components"
            raise refuse(413, "Payload Too Large", f"The request writes more than {limits}")
        return record


class ComponentActions:
    def __init__(self, clock: Clock, table: Components, sync: HardwareSync) -> None:
        self._clock = clock
        self._table = table
        self._sync = sync

    def get(self, key: str) -> Record:
        """The component; raises ``Refused`` (404)."""
        record = self._table.get(key)
        if record is None:
            self._sync.follow()
            record = self._table.get(key)
        if record is None:
            raise no_component(key)
        return record

    def select(self, query: Query, start_after: str = "") -> Iterator[tuple[str, Record]]:
        self._sync.follow()
        return select(self._table, query, start_after)

    def put(self, key: str, data: Record) -> Record:
        """Replace the component."""
        check_key(key)
        record = _SizeLimit().take(with_automatic_fields(data, self._now()))
        self._table.put(key, record)
        return record

    def patch(self, key: str, patch: Record) -> Record:
        record = self.get(key)
        now = self._now()
        return self._change(key, record, with_automatic_fields(patch, now), now)

    def patch_each(self, patches: Iterable[Record]) -> list[tuple[str, Record]]:
        """Apply patches that name their components; when one fails, none is applied."""
        self._sync.follow()
        named_patches = [(self._known(patch), patch) for patch in patches]
        now = self._now()
        drafts: dict[str, Record] = {}
        results = []
        room = _SizeLimit()
        for key, patch in named_patches:
            current = drafts.get(key) or self.get(key)
            drafts[key] = room.take(apply_patch(current, with_automatic_fields(patch, now), now))
            results.append((key, drafts[key]))
        for key, record in drafts.items():
            self._table.put(key, record)
        return results

    def patch_matching(self, query: Query, patch: Record) -> list[tuple[str, Record]]:
        now = self._now()
        filled = with_automatic_fields({name: value for name, value in patch.items() if name != "id"}, now)
        room = _SizeLimit()
        drafts = [(key, room.take(apply_patch(record, filled, now))) for key, record in self.select(query)]
        for key, record in drafts:
            self._table.put(key, record)
        return drafts

    def delete(self, key: str) -> None:
        self.get(key)
        self._table.delete(key)

    def _change(self, key: str, record: Record, patch: Record, now: str) -> Record:
        changed = _SizeLimit().take(apply_patch(record, patch, now))
        self._table.put(key, changed)
        return changed

    def _known(self, patch: Record) -> str:
        if "id" not in patch:
            raise refuse(400, UNPARSABLE, "'id'")
        if patch["id"] not in self._table:
            raise no_component(patch["id"])
        return str(patch["id"])

    def _now(self) -> str:
        return stamp(self._clock.now())
