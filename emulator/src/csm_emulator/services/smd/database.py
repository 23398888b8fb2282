"""The tables of SMD's database that more than one part of the API uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.components import seed_data as component_seeds
from csm_emulator.services.smd.components.table import ComponentTable
from csm_emulator.services.smd.groups import seed_data as group_seeds
from csm_emulator.services.smd.inventory import Inventory, open_inventory
from csm_emulator.state.tables import RecordTable

ChangeListener = Callable[[Sequence[str], Mapping[str, Json]], None]
"""(xnames, their new values): one of ``{"State": …, "Flag": …}``, ``{"State": …}``, ``{"Enabled": …}``,
``{"SoftwareStatus": …}`` and ``{"Role": …, "SubRole": …}``."""


@dataclass(slots=True)
class Hsm:
    context: Context
    components: ComponentTable
    """By xname, in the form of the API. Replace records, never change them."""
    groups: RecordTable[Record]
    partitions: RecordTable[Record]
    node_maps: RecordTable[Record]
    inventory: Inventory
    """The result of discovery: endpoints, hardware, Ethernet interfaces."""
    change_listeners: list[ChangeListener] = field(default_factory=list)
    """Functions to call after a change of components; parts of the API append to it in ``routes``."""
    removal_listeners: list[Callable[[str], None]] = field(default_factory=list)
    """Functions that delete the rows that refer to a component; called with the xname of a deleted component."""

    _members: dict[tuple[str, str], tuple[Sequence[str], frozenset[str]]] = field(default_factory=dict)

    def members(self, table: RecordTable[Record], name: str) -> frozenset[str]:
        """The members of a group or a partition; computed once for each list that is stored there."""
        ids = table[name]["members"]["ids"]
        cached = self._members.get((table.name, name))
        if cached is None or cached[0] is not ids:
            cached = self._members[table.name, name] = ids, frozenset(ids)
        return cached[1]

    def has_component(self, xname: str) -> bool:
        return xname in self.components

    def put_component(self, record: Mapping[str, Json]) -> None:
        self.components.put(dict(record))

    def remove_component(self, xname: str) -> None:
        """Remove it, its memberships in groups and partitions, and its reservations."""
        self._remove([xname])

    def remove_all_components(self) -> int:
        """Returns the number of removed components."""
        xnames = list(self.components)
        self._remove(xnames)
        return len(xnames)

    def _remove(self, xnames: Sequence[str]) -> None:
        removed = frozenset(xnames)
        for table in (self.groups, self.partitions):
            for name, record in list(table.items()):
                ids = record["members"]["ids"]
                if not removed.isdisjoint(ids):
                    table[name] = {**record, "members": {"ids": [xname for xname in ids if xname not in removed]}}
        for xname in xnames:
            self.components.remove(xname)
            for remove in self.removal_listeners:
                remove(xname)

    def notify(self, xnames: Iterable[str], change: Mapping[str, Json]) -> None:
        """Send a state change notification, unless ``xnames`` is empty."""
        ids = list(xnames)
        if ids:
            for listener in self.change_listeners:
                listener(ids, change)


def open_hsm(context: Context) -> Hsm:
    tables = context.tables
    return Hsm(
        context,
        ComponentTable(tables.open("smd.components", component_seeds.components(context.machine))),
        tables.open("smd.groups", group_seeds.groups(context.machine.topology)),
        tables.open("smd.partitions"),
        tables.open("smd.nodemaps"),
        open_inventory(context),
    )
