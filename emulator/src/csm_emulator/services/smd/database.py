"""What SMD keeps in its database, as far as more than one part of the API uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from csm_emulator.context import Context
from csm_emulator.services.smd.components import seed_data as component_seeds
from csm_emulator.services.smd.components.table import ComponentTable
from csm_emulator.services.smd.groups import seed_data as group_seeds
from csm_emulator.services.smd.inventory import Inventory, open_inventory
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Json

ChangeListener = Callable[[Sequence[str], Mapping[str, Json]], None]
"""(xnames, what became of them): one of ``{"State": …, "Flag": …}``, ``{"State": …}``, ``{"Enabled": …}``,
``{"SoftwareStatus": …}`` and ``{"Role": …, "SubRole": …}``."""


@dataclass(slots=True)
class Hsm:
    context: Context
    components: ComponentTable
    """By xname, as they stand on the wire. Replace records, never change them."""
    groups: RecordTable
    partitions: RecordTable
    node_maps: RecordTable
    inventory: Inventory
    """What discovery found: endpoints, hardware, Ethernet interfaces."""
    change_listeners: list[ChangeListener] = field(default_factory=list)
    """Who is told of changes: append to it in ``routes``."""
    removal_listeners: list[Callable[[str], None]] = field(default_factory=list)
    """What the database deletes together with a component: each is given the xname."""

    _members: dict[tuple[str, str], tuple[Sequence[str], frozenset[str]]] = field(default_factory=dict)

    def members(self, table: RecordTable, name: str) -> frozenset[str]:
        """Of a group or a partition; made once for every list that is put there."""
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
        """With its places in groups and partitions, and its reservations."""
        self._remove([xname])

    def remove_all_components(self) -> int:
        """How many there were."""
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
        """A state change notification, when there is anybody whose state changed."""
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
