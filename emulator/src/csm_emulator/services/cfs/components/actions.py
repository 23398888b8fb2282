"""What can be done to components, in either version."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from csm_emulator.records import Record
from csm_emulator.services.cfs.components.changes import patched, with_automatic_fields
from csm_emulator.services.cfs.components.filters import Query, select
from csm_emulator.services.cfs.components.hardware_sync import HardwareSync
from csm_emulator.services.cfs.components.table import Components
from csm_emulator.services.cfs.errors import UNPARSABLE, check_key, no_component, refuse
from csm_emulator.services.cfs.timestamps import stamp
from csm_emulator.state.clock import Clock

MOST_OF_ONE, MOST_OF_ALL = 64 << 10, 32 << 20
"""Characters of a component as JSON, and of all that one request writes."""


class _Room:
    """What is left of them."""

    def __init__(self) -> None:
        self._left = MOST_OF_ALL

    def take(self, record: Record) -> Record:
        """The record; raises ``Refused`` when it is too large, or one too many."""
        size = len(json.dumps(record))
        self._left -= size
        if size > MOST_OF_ONE or self._left < 0:
            limits = f"{MOST_OF_ONE} characters of one component or {MOST_OF_ALL} of all"
            raise refuse(413, "Payload Too Large", f"The request makes more than {limits}")
        return record


class ComponentActions:
    def __init__(self, clock: Clock, table: Components, sync: HardwareSync) -> None:
        self._clock = clock
        self._table = table
        self._sync = sync

    def get(self, key: str) -> Record:
        """Raises ``Refused`` when there is none."""
        found = self._table.get(key)
        if found is None:
            self._sync.follow()
            found = self._table.get(key)
        if found is None:
            raise no_component(key)
        return found

    def select(self, query: Query, after: str = "") -> Iterator[tuple[str, Record]]:
        self._sync.follow()
        return select(self._table, query, after)

    def put(self, key: str, data: Record) -> Record:
        """All of it is new."""
        check_key(key)
        record = _Room().take(with_automatic_fields(data, self._now()))
        self._table.put(key, record)
        return record

    def patch(self, key: str, patch: Record) -> Record:
        record = self.get(key)
        now = self._now()
        return self._change(key, record, with_automatic_fields(patch, now), now)

    def patch_each(self, patches: Iterable[Record]) -> list[tuple[str, Record]]:
        """Each names its component; when one cannot be, none is done."""
        self._sync.follow()
        wanted = [(self._known(patch), patch) for patch in patches]
        now = self._now()
        drafts: dict[str, Record] = {}
        results = []
        room = _Room()
        for key, patch in wanted:
            before = drafts.get(key) or self.get(key)
            drafts[key] = room.take(patched(before, with_automatic_fields(patch, now), now))
            results.append((key, drafts[key]))
        for key, record in drafts.items():
            self._table.put(key, record)
        return results

    def patch_matching(self, query: Query, patch: Record) -> list[tuple[str, Record]]:
        now = self._now()
        filled = with_automatic_fields({name: value for name, value in patch.items() if name != "id"}, now)
        room = _Room()
        drafts = [(key, room.take(patched(record, filled, now))) for key, record in self.select(query)]
        for key, record in drafts:
            self._table.put(key, record)
        return drafts

    def delete(self, key: str) -> None:
        self.get(key)
        self._table.delete(key)

    def _change(self, key: str, record: Record, patch: Record, now: str) -> Record:
        changed = _Room().take(patched(record, patch, now))
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
