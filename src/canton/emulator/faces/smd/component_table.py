"""The table of components, with what makes it quick: NIDs, and every record's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from canton.emulator.faces.smd.problems import go_json
from canton.emulator.machine.shelves import Shelf
from canton.emulator.wire.call import Json

Record = dict[str, Any]

FIELDS = (
    "ID",
    "Type",
    "State",
    "Flag",
    "Enabled",
    "SoftwareStatus",
    "Role",
    "SubRole",
    "NID",
    "Subtype",
    "NetType",
    "Arch",
    "Class",
    "ReservationDisabled",
    "Locked",
)
"""In the order of the wire. Texts that are empty and switches that are false are left out, but for Enabled."""


def on_wire(fields: Mapping[str, Json]) -> Record:
    """Without what SMD leaves out, in its order."""
    return {
        name: fields[name] for name in FIELDS if name in fields and (name == "Enabled" or fields[name] not in ("", False, None))
    }


class ComponentTable(Mapping[str, Record]):
    """Records as they stand on the wire, by xname."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._texts: dict[str, str] = {}
        self._by_nid: dict[int, str] = {}
        for xname, record in shelf.items():
            self._learn_nid(xname, record)

    def __getitem__(self, xname: str) -> Record:
        return self._shelf[xname]  # type: ignore[no-any-return]

    def __contains__(self, xname: object) -> bool:
        return xname in self._shelf

    def __iter__(self) -> Iterator[str]:
        return iter(self._shelf)

    def __len__(self) -> int:
        return len(self._shelf)

    def put(self, record: Record) -> None:
        xname = record["ID"]
        self._forget(xname)
        record = on_wire(record)
        self._shelf[xname] = record
        self._learn_nid(xname, record)

    def remove(self, xname: str) -> None:
        self._forget(xname)
        del self._shelf[xname]

    def with_nid(self, nid: int) -> Record | None:
        xname = self._by_nid.get(nid)
        return None if xname is None else self[xname]

    def text(self, xname: str) -> str:
        """The record's JSON, made once."""
        found = self._texts.get(xname)
        if found is None:
            found = self._texts[xname] = go_json(self._shelf[xname])
        return found

    def texts(self, xnames: Iterable[str]) -> str:
        return ",".join(map(self.text, xnames))

    def _learn_nid(self, xname: str, record: Record) -> None:
        nid = record.get("NID", -1)
        if nid >= 0:
            self._by_nid[nid] = xname

    def _forget(self, xname: str) -> None:
        self._texts.pop(xname, None)
        old = self._shelf.get(xname)
        if old is not None and self._by_nid.get(old.get("NID", -1)) == xname:
            del self._by_nid[old["NID"]]
