"""All components, with indexes by status and session, so that operators do not scan every component."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from csm_emulator.context import Context
from csm_emulator.machine.faults.faults import Faults
from csm_emulator.records import Record
from csm_emulator.services.bos.components.auto_fields import AutoFields
from csm_emulator.services.bos.components.records import (
    NO_ACTUAL_STATE,
    NO_ATTEMPTS,
    NO_DESIRED_STATE,
    has_boot_artefacts,
    merge_patch,
    status_of,
)
from csm_emulator.services.bos.timestamps import stamp
from csm_emulator.state.tables import RecordTable

DISCOVERED = "newly_discovered"
UNKNOWN_MEMBER = "bos-unknown-member"


class NoSuchComponent(Exception):
    def __init__(self, component: str) -> None:
        super().__init__(component)
        self.component = component


def new_component(component: str) -> Record:
    """The record that discovery writes for a node."""
    return {
        "id": component,
        "actual_state": NO_ACTUAL_STATE,
        "desired_state": NO_DESIRED_STATE,
        "staged_state": {},
        "last_action": {"action": DISCOVERED, "failed": False},
        "enabled": False,
        "error": "",
        "session": "",
    }


class ComponentStore:
    def __init__(self, context: Context, auto: AutoFields) -> None:
        self._auto = auto
        self._unknown_members = UnknownMemberFault(context.faults)
        start: RecordTable[float] = context.tables.open("bos.began")
        if "at" not in start:
            start["at"] = context.clock.now()
        self._table = context.tables.open("bos.components", _seed(context, float(start["at"])))
        self._by_status: defaultdict[str, set[str]] = defaultdict(set)
        self._by_session: defaultdict[str, set[str]] = defaultdict(set)
        self._by_staged: defaultdict[str, set[str]] = defaultdict(set)
        self._running: set[str] = set()
        for name, record in self._table.items():
            if not self._table.is_unchanged(name):
                self._index(name, record)

    # Reading

    def __contains__(self, component: object) -> bool:
        return component in self._table and not self._unknown_members.covers(str(component))

    def get(self, component: str) -> Record:
        if component not in self:
            raise NoSuchComponent(component)
        record: Record = self._table[component]
        return record

    def names(self) -> list[str]:
        return self._sorted(self._table)

    def all_names(self) -> Iterator[str]:
        """Names of all components, including those hidden by the fault ``bos-unknown-member``."""
        return iter(self._table)

    def with_status(self, *statuses: str) -> list[Record]:
        """Enabled components with one of these statuses, sorted by name."""
        names = [name for status in statuses for name in self._by_status.get(status, ())]
        return [self._table[name] for name in self._sorted(names)]

    def enabled(self) -> list[Record]:
        return self.with_status(*self._by_status)

    def any_with_status(self, *statuses: str) -> bool:
        return any(self._by_status.get(status) for status in statuses)

    def any_enabled(self) -> bool:
        return any(self._by_status.values())

    def names_in_session(self, session: str) -> list[str]:
        return self._sorted(self._by_session.get(session, ()))

    def names_staged_for(self, session: str) -> list[str]:
        return self._sorted(self._by_staged.get(session, ()))

    def with_boot_artefacts(self) -> list[str]:
        return self._sorted(self._running)

    def is_hidden(self, component: str) -> bool:
        return self._unknown_members.covers(component)

    def _sorted(self, names: Iterable[str]) -> list[str]:
        return sorted(self._unknown_members.without(names))

    # Writing

    def put(self, component: str, record: Record) -> Record:
        """Write the record unchanged, without automatic fields."""
        if component in self._table:
            self._unindex(component, self._table[component])
        self._table[component] = record
        self._index(component, record)
        return record

    def put_new(self, records: Mapping[str, Record]) -> list[Record]:
        return [self.put(name, self._auto.with_auto_fields(record)) for name, record in records.items()]

    def patch(self, patches: Mapping[str, Record]) -> list[Record]:
        """Patch every component, or none: raises ``NoSuchComponent`` when one is missing."""
        records = {name: self.get(name) for name in patches}
        # Thousands of nodes often share one patch object, so automatic fields are computed once per object.
        completed = {
            id(patch): self._auto.with_auto_fields(patch)
            for patch in {id(shared): shared for shared in patches.values()}.values()
        }
        return [self.put(name, merge_patch(record, completed[id(patches[name])])) for name, record in records.items()]

    def patch_alike(self, components: Sequence[str], patch: Record) -> list[Record]:
        """Apply the same patch to every component."""
        return self.patch(dict.fromkeys(components, patch))

    def patch_existing(self, patches: Mapping[str, Record]) -> list[Record]:
        """Patch the components that exist; ignore the others."""
        return self.patch({name: patch for name, patch in patches.items() if name in self})

    def delete(self, component: str) -> None:
        self._unindex(component, self.get(component))
        del self._table[component]

    def _index(self, name: str, record: Record) -> None:
        if record.get("enabled"):
            self._by_status[status_of(record)].add(name)
        if record.get("session"):
            self._by_session[record["session"]].add(name)
        staged = record.get("staged_state", {}).get("session")
        if staged:
            self._by_staged[staged].add(name)
        if has_boot_artefacts(record):
            self._running.add(name)

    def _unindex(self, name: str, record: Record) -> None:
        if record.get("enabled"):
            self._by_status[status_of(record)].discard(name)
        for index, key in (
            (self._by_session, record.get("session")),
            (self._by_staged, record.get("staged_state", {}).get("session")),
        ):
            if key:
                index[key].discard(name)
                if not index[key]:
                    del index[key]
        self._running.discard(name)


class UnknownMemberFault:
    """The fault ``bos-unknown-member``: BOS answers as if it did not know the nodes that the fault names."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def covers(self, component: str) -> bool:
        return self._present() and self._faults.present(UNKNOWN_MEMBER, component) is not None

    def without(self, names: Iterable[str]) -> Iterable[str]:
        return [name for name in names if not self.covers(name)] if self._present() else names

    def _present(self) -> bool:
        return any(fault.kind == UNKNOWN_MEMBER for fault in self._faults)


def _seed(context: Context, start: float) -> Mapping[str, Record]:
    """Components of all nodes: discovery ran before the emulator's clock started."""
    timestamp = {"last_updated": stamp(start)}
    common = {
        **new_component(""),
        "actual_state": {**NO_ACTUAL_STATE, **timestamp},
        "desired_state": {**NO_DESIRED_STATE, **timestamp},
        "staged_state": timestamp,
        "last_action": {"action": DISCOVERED, "failed": False, **timestamp},
        "event_stats": NO_ATTEMPTS,
    }
    return {part.xname: {**common, "id": part.xname} for part in context.machine.parts("Node")}
