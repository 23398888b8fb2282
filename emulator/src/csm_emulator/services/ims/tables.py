"""The records of IMS, a table each.

The real one keeps every table in memory and writes it to a file whenever it changes. "Delete all" of v2 puts a plain
mapping in the table's place, which is never written: after a restart of the service what was deleted is there again,
and what was made since is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping

from csm_emulator.dialects.python_times import without_zone
from csm_emulator.records import Record
from csm_emulator.state.clock import Clock
from csm_emulator.state.random import SeededRandom
from csm_emulator.state.tables import RecordTable, RecordTables


class Table(MutableMapping[str, Record]):
    """By id, in the order in which they came."""

    def __init__(self, tables: RecordTables, name: str, seed: Mapping[str, Record] | None = None) -> None:
        self._written = tables.open(f"ims.{name}", seed)
        self._unwritten = tables.open(f"ims.{name}.unwritten")
        self._state = tables.open(f"ims.{name}.state")

    @property
    def _here(self) -> RecordTable:
        return self._unwritten if "loose" in self._state else self._written

    def __getitem__(self, key: str) -> Record:
        record: Record = self._here[key]
        return record

    def __setitem__(self, key: str, record: Record) -> None:
        self._here[key] = record

    def __delitem__(self, key: str) -> None:
        del self._here[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._here)

    def __len__(self) -> int:
        return len(self._here)

    def put_away(self) -> None:
        """As v2 deletes all."""
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
        self._numbers = tables.open("ims.numbers")
        self.images = Table(tables, "images", images)
        self.deleted_images = Table(tables, "deleted-images")
        self.recipes = Table(tables, "recipes", recipes)
        self.deleted_recipes = Table(tables, "deleted-recipes")
        self.public_keys = Table(tables, "public-keys")
        self.deleted_public_keys = Table(tables, "deleted-public-keys")
        self.jobs = Table(tables, "jobs")
        self.remote_build_nodes = Table(tables, "remote-build-nodes")

    def new(self, kind: str) -> Record:
        """What every new record has."""
        number = int(self._numbers.get(kind, 0)) + 1
        self._numbers[kind] = number
        return {"id": self._random.uuid("ims", kind, number), "created": self.now()}

    def now(self) -> str:
        """Without an offset, as Python's ``datetime.now`` is written."""
        return stamp(self._clock.now())

    def restarted(self) -> None:
        for table in (self.images, self.recipes, self.public_keys):
            table.restarted()


def undeleted(record: Record) -> Record:
    return {name: value for name, value in record.items() if name != "deleted"}


def stamp(moment: float) -> str:
    return without_zone(moment).isoformat()
