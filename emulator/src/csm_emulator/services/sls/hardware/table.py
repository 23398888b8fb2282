"""The table of hardware, with computed parents, children and types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from csm_emulator.context import Context
from csm_emulator.dialects.hms.names import hms_type
from csm_emulator.machine.lookup import Lookup
from csm_emulator.records import Json
from csm_emulator.services.sls.names import CLASSES, COMPTYPES, parent
from csm_emulator.services.sls.postgres_jsonb import has_nul, text_of
from csm_emulator.services.sls.responses import times
from csm_emulator.services.sls.versions import Versions

_INDEXED = ("NID", "Aliases", "NodeNics", "Networks", "Peers")
"""Properties with an index, so that a search does not read every row."""


class InvalidHardware(Exception):
    """The database, or SLS's own check before it, refuses the record."""


class HardwareTable:
    """Rows are ``{"Class", "ExtraProperties", "at"}``; those of the site's own description have no ``at``."""

    def __init__(self, context: Context, versions: Versions) -> None:
        self._versions = versions
        self._table = context.tables.open("sls.hardware", context.machine.topology.sls.get("Hardware") or {})
        self._children: dict[str, set[str]] | None = None
        self._by_property = {name: Lookup(self._table, partial(self._texts, name)) for name in _INDEXED}

    def __contains__(self, xname: object) -> bool:
        return xname in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def row(self, xname: str) -> Json:
        return self._table[xname]

    def children(self, xname: str) -> list[str]:
        if self._children is None:
            self._children = {}
            for child in self._table:
                self._children.setdefault(parent(child), set()).add(child)
        return sorted(self._children.get(xname, ()))

    def candidates(self, properties: Mapping[str, str | list[str]]) -> list[str] | None:
        """Xnames that include all matches; None when none of the properties has an index."""
        for name, lookup in self._by_property.items():
            if value := properties.get(name):
                return lookup.candidates([value] if isinstance(value, str) else value)
        return None

    def _texts(self, name: str) -> Iterator[tuple[str, str]]:
        for xname, row in self._table.seed.items():
            properties = row.get("ExtraProperties")
            value = properties.get(name) if isinstance(properties, dict) else None
            if value is not None:
                items = [item for item in value if isinstance(item, str)] if isinstance(value, list | dict) else []
                yield from ((text, xname) for text in (text_of(value), *items))

    def record(self, xname: str) -> Json:
        row = self._table[xname]
        children = self.children(xname)
        record = record_without_times(xname, row.get("Class", ""), row.get("ExtraProperties"))
        extra = {"ExtraProperties": record.pop("ExtraProperties")} if "ExtraProperties" in record else {}
        head = {"Parent": record.pop("Parent")} | ({"Children": children} if children else {})
        return head | record | times(row.get("at", self._versions.begin)) | extra

    def put(self, xname: str, hardware_class: str, properties: Json) -> bool:
        """Whether the row is new; raises ``InvalidHardware``."""
        check_storable(xname, hardware_class)
        if has_nul(properties):
            self._versions.fail()
            raise InvalidHardware
        created = xname not in self._table
        self._write(xname, hardware_class, properties, self._versions.change())
        return created

    def delete(self, xname: str) -> None:
        """Delete it and its descendants, each as a change of its own."""
        for child in self.children(xname):
            self.delete(child)
        self._versions.change()
        self._remove(xname)

    def replace(self, rows: Sequence[tuple[str, str, Json]]) -> None:
        """Replace all rows in one change; raises ``InvalidHardware`` and then changes nothing."""
        new = {xname: (hardware_class, properties) for xname, hardware_class, properties in rows}
        if len(new) != len(rows) or any(has_nul(properties) for _, properties in new.values()):
            self._versions.fail()
            raise InvalidHardware
        at = self._versions.change()
        for xname in [xname for xname in self._table if xname not in new]:
            self._remove(xname)
        for xname, (hardware_class, properties) in new.items():
            self._write(xname, hardware_class, properties, at)

    def _write(self, xname: str, hardware_class: str, properties: Json, at: float) -> None:
        self._table[xname] = {"Class": hardware_class, "ExtraProperties": properties, "at": at}
        if self._children is not None:
            self._children.setdefault(parent(xname), set()).add(xname)

    def _remove(self, xname: str) -> None:
        del self._table[xname]
        if self._children is not None:
            self._children[parent(xname)].discard(xname)


def check_storable(xname: str, hardware_class: str) -> None:
    """SLS's own check before it stores; raises ``InvalidHardware``."""
    if hms_type(xname) not in COMPTYPES or hardware_class not in CLASSES:
        raise InvalidHardware


def record_without_times(xname: str, hardware_class: str, properties: Json) -> Json:
    """The record without its children and times, which only the database has."""
    kind = hms_type(xname)
    record = {
        "Parent": parent(xname),
        "Xname": xname,
        "Type": COMPTYPES.get(kind, "INVALID"),
        "Class": hardware_class,
        "TypeString": kind or "INVALID",
    }
    return record if properties is None else record | {"ExtraProperties": properties}
