"""The table of components, with an index of NIDs and the JSON of every record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from csm_emulator.dialects.hms.names import COMPONENT_FIELDS
from csm_emulator.dialects.hms.responses import marshal
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.hardware.numbering import lineage
from csm_emulator.state.tables import RecordTable

_OMITTED_VALUES: Mapping[str, tuple[Json, ...]] = {
    **dict.fromkeys(COMPONENT_FIELDS, ("",)),
    "Enabled": (),
    "NID": (-1,),
    "ReservationDisabled": (False,),
    "Locked": (False,),
}
_RECORD_START = '{"ID":'


def on_wire(fields: Mapping[str, Json]) -> Record:
    """The fields in SMD's order, without those that it omits: empty texts, false locks, NID -1."""
    return {
        name: fields[name] for name in COMPONENT_FIELDS if name in fields and fields[name] not in _OMITTED_VALUES[name]
    }


def visible_fields(record: Record, names: Iterable[str] = COMPONENT_FIELDS) -> Record:
    """These fields of a stored record, without a negative NID, which SMD never sends."""
    return {name: record[name] for name in names if name in record and (name != "NID" or record[name] >= 0)}


class ComponentTable(Mapping[str, Record]):
    """Records in the form of the API, by xname."""

    def __init__(self, table: RecordTable[Record]) -> None:
        self._table = table
        self._records: dict[str, Record] = dict(table.items())
        self._texts: dict[str, str] = {}
        self._by_nid: dict[int, tuple[str, ...]] = {}
        self._under: dict[str, list[str]] | None = None
        """Place → xnames at and under it; None before the first use, and after a component was added or removed."""
        for xname, record in self._records.items():
            self._index_nid(xname, record)
        # Now, so that the first reader of a large machine does not wait for it.
        self._write(list(self._records))

    def __getitem__(self, xname: str) -> Record:
        return self._records[xname]

    def __contains__(self, xname: object) -> bool:
        return xname in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    @property
    def records(self) -> Mapping[str, Record]:
        """The same as a plain mapping, which is faster to read as a whole."""
        return self._records

    def put(self, fields: Mapping[str, Json]) -> None:
        record = on_wire(fields)
        xname = record["ID"]
        if xname in self._records:
            self._drop_indexes(xname)
        else:
            self._under = None
        self._table[xname] = self._records[xname] = record
        self._index_nid(xname, record)

    def remove(self, xname: str) -> None:
        self._drop_indexes(xname)
        self._under = None
        del self._table[xname], self._records[xname]

    def with_nid(self, nid: int) -> tuple[str, ...]:
        """The xnames with this NID; SMD allows several components with the same NID."""
        return self._by_nid.get(nid, ())

    def under(self, place: str) -> Sequence[str]:
        """The component at a place, and those inside it."""
        if self._under is None:
            self._under = {}
            for xname in self._records:
                for ancestor in lineage(xname):
                    self._under.setdefault(ancestor, []).append(xname)
        return self._under.get(place, ())

    def text(self, xname: str) -> str:
        """The JSON of the record, encoded once."""
        if xname not in self._texts:
            self._write([xname])
        return self._texts[xname]

    def texts(self, xnames: Sequence[str]) -> str:
        """The JSON of several records, separated by commas."""
        texts = self._texts
        self._write([xname for xname in xnames if xname not in texts])
        return ",".join([texts[xname] for xname in xnames])

    def _write(self, xnames: Sequence[str]) -> None:
        """Encode all records at once, three times as fast as one by one, and split the text where records meet.

        The separator cannot occur within a text value, where JSON escapes the quote.
        """
        if not xnames:
            return
        records = map(self._records.__getitem__, xnames)
        array_text = marshal([record if record.get("NID", 0) >= 0 else visible_fields(record) for record in records])
        texts = array_text[len(_RECORD_START) + 1 : -2].split("}," + _RECORD_START)
        self._texts.update(zip(xnames, [f"{_RECORD_START}{text}}}" for text in texts], strict=True))

    def _index_nid(self, xname: str, record: Record) -> None:
        nid = record.get("NID")
        if nid is not None:
            self._by_nid[nid] = (*self._by_nid.get(nid, ()), xname)

    def _drop_indexes(self, xname: str) -> None:
        self._texts.pop(xname, None)
        nid = self._records.get(xname, {}).get("NID")
        if nid is not None:
            xnames = tuple(indexed for indexed in self._by_nid[nid] if indexed != xname)
            if xnames:
                self._by_nid[nid] = xnames
            else:
                del self._by_nid[nid]
