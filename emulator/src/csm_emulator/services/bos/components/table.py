"""All components, and who of them is where: what operators ask for is found without looking at all."""

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
    merged,
    runs_something,
    status_of,
)
from csm_emulator.services.bos.timestamps import stamp

DISCOVERED = "newly_discovered"
UNKNOWN_MEMBER = "bos-unknown-member"


class NoSuchComponent(Exception):
    def __init__(self, component: str) -> None:
        super().__init__(component)
        self.component = component


def new_component(component: str) -> Record:
    """As discovery writes it."""
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
        self._hidden = Hidden(context.faults)
        began = context.tables.open("bos.began")
        if "at" not in began:
            began["at"] = context.clock.now()
        self._table = context.tables.open("bos.components", _seed(context, float(began["at"])))
        self._by_status: defaultdict[str, set[str]] = defaultdict(set)
        self._by_session: defaultdict[str, set[str]] = defaultdict(set)
        self._by_staged: defaultdict[str, set[str]] = defaultdict(set)
        self._running: set[str] = set()
        for name, record in self._table.items():
            if not self._table.is_of_seed(name):
                self._index(name, record)

    # Reading

    def __contains__(self, component: object) -> bool:
        return component in self._table and not self._hidden.covers(str(component))

    def get(self, component: str) -> Record:
        if component not in self:
            raise NoSuchComponent(component)
        record: Record = self._table[component]
        return record

    def names(self) -> list[str]:
        return self._sorted(self._table)

    def all_known(self) -> Iterator[str]:
        """Hidden ones too."""
        return iter(self._table)

    def with_status(self, *statuses: str) -> list[Record]:
        """Enabled ones, in the order of their names."""
        found = [name for status in statuses for name in self._by_status.get(status, ())]
        return [self._table[name] for name in self._sorted(found)]

    def enabled(self) -> list[Record]:
        return self.with_status(*self._by_status)

    def any_with_status(self, *statuses: str) -> bool:
        return any(self._by_status.get(status) for status in statuses)

    def any_enabled(self) -> bool:
        return any(self._by_status.values())

    def of_session(self, session: str) -> list[str]:
        return self._sorted(self._by_session.get(session, ()))

    def staged_for(self, session: str) -> list[str]:
        return self._sorted(self._by_staged.get(session, ()))

    def running_something(self) -> list[str]:
        return self._sorted(self._running)

    def is_hidden(self, component: str) -> bool:
        return self._hidden.covers(component)

    def _sorted(self, names: Iterable[str]) -> list[str]:
        return sorted(self._hidden.without(names))

    # Writing

    def put(self, component: str, record: Record) -> Record:
        """As it is."""
        if component in self._table:
            self._unindex(component, self._table[component])
        self._table[component] = record
        self._index(component, record)
        return record

    def put_new(self, records: Mapping[str, Record]) -> list[Record]:
        return [self.put(name, self._auto.added(record)) for name, record in records.items()]

    def patch(self, patches: Mapping[str, Record]) -> list[Record]:
        """All of them, or none: raises ``NoSuchComponent``."""
        found = {name: self.get(name) for name in patches}
        # Thousands of nodes often have one patch in common.
        added = {id(patch): self._auto.added(patch) for patch in {id(each): each for each in patches.values()}.values()}
        return [self.put(name, merged(record, added[id(patches[name])])) for name, record in found.items()]

    def patch_alike(self, components: Sequence[str], patch: Record) -> list[Record]:
        """The same for all of them."""
        return self.patch(dict.fromkeys(components, patch))

    def patch_known(self, patches: Mapping[str, Record]) -> list[Record]:
        """Those that are there."""
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
        if runs_something(record):
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


class Hidden:
    """Nodes that BOS does not know because of the fault ``bos-unknown-member``."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults

    def covers(self, component: str) -> bool:
        return self._present() and self._faults.present(UNKNOWN_MEMBER, component) is not None

    def without(self, names: Iterable[str]) -> Iterable[str]:
        return [name for name in names if not self.covers(name)] if self._present() else names

    def _present(self) -> bool:
        return any(fault.kind == UNKNOWN_MEMBER for fault in self._faults)


def _seed(context: Context, began: float) -> Mapping[str, Record]:
    """Discovery ran before our time began."""
    dated = {"last_updated": stamp(began)}
    common = {
        **new_component(""),
        "actual_state": {**NO_ACTUAL_STATE, **dated},
        "desired_state": {**NO_DESIRED_STATE, **dated},
        "staged_state": dated,
        "last_action": {"action": DISCOVERED, "failed": False, **dated},
        "event_stats": NO_ATTEMPTS,
    }
    return {part.xname: {**common, "id": part.xname} for part in context.machine.parts("Node")}
