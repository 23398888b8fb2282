"""The tables of IMS.

The real service keeps every table in memory and writes it to a file at each change. "Delete all" of v2 replaces the
table with a plain mapping that is never written: after a restart of the service the deleted records are back, and
records created since then are gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping

from csm_emulator.dialects.python_times import without_zone
from csm_emulator.records import Record
from csm_emulator.state.clock import Clock
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.tables import RecordTable, RecordTables


class Table(MutableMapping[str, Record]):
    """Records by id, in order of creation."""

    def __init__(self, tables: RecordTables, name: str, seed: Mapping[str, Record] | None = None) -> None:
        self._written = tables.open(f"ims.{name}", seed)
        self._unwritten: RecordTable[Record] = tables.open(f"ims.{name}.unwritten")
        self._state: RecordTable[bool] = tables.open(f"ims.{name}.state")

    @property
    def _current(self) -> RecordTable[Record]:
        return self._unwritten if "loose" in self._state else self._written

    def __getitem__(self, key: str) -> Record:
        record: Record = self._current[key]
        return record

    def __setitem__(self, key: str, record: Record) -> None:
        self._current[key] = record

    def __delitem__(self, key: str) -> None:
        del self._current[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._current)

    def __len__(self) -> int:
        return len(self._current)

    def hide_all(self) -> None:
        """Hide all records until the next restart, as "delete all" of v2 does."""
        self._state["loose"] = True
        self._unwritten.clear()

    def restarted(self) -> None:
        self._state.pop("loose", None)
        self._unwritten.clear()


class Tables:
    def __init__(
        self,
        tables: RecordTables,
        clock: Clock,
        random: SeededRandom,
        images: Mapping[str, Record],
        recipes: Mapping[str, Record],
    ) -> None:
        self._clock = clock
        self._random = random
        self._numbers: RecordTable[int] = tables.open("ims.numbers")
        self.images = Table(tables, "images", images)
        self.deleted_images = Table(tables, "deleted-images")
        self.recipes = Table(tables, "recipes", recipes)
        self.deleted_recipes = Table(tables, "deleted-recipes")
        self.public_keys = Table(tables, "public-keys")
        self.deleted_public_keys = Table(tables, "deleted-public-keys")
        self.jobs = Table(tables, "jobs")
        self.remote_build_nodes = Table(tables, "remote-build-nodes")

    def new(self, kind: str) -> Record:
        """Id and creation time of a new record."""
        number = int(self._numbers.get(kind, 0)) + 1
        self._numbers[kind] = number
        return {"id": self._random.uuid("ims", kind, number), "created": self.now()}

    def now(self) -> str:
        """The current time without an offset, as Python writes ``datetime.now()``."""
        return stamp(self._clock.now())

    def restarted(self) -> None:
        for table in (self.images, self.recipes, self.public_keys):
            table.restarted()


def without_deletion_date(record: Record) -> Record:
    return {name: value for name, value in record.items() if name != "deleted"}


def stamp(moment: float) -> str:
    return without_zone(moment).isoformat()
