"""A table is a mapping that survives a restart in the same order; only its differences from the seed are stored."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from csm_emulator.records import Json
from csm_emulator.state.file import StateFile
from csm_emulator.state.tables import RecordTable, RecordTables

SEED = {"a": 1, "b": {"x": [1, 2]}, "c": None}
KEYS = st.sampled_from(["a", "b", "c", "d", "e", "f", "ü\x00", ""])
VALUES = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)


class TableLikeADict(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="canton-table-")
        self.model: dict[str, Any] = dict(SEED)
        self.open()

    def open(self) -> None:
        self.file = StateFile(Path(self.folder.name) / "state")
        self.tables = RecordTables(self.file.rows())
        self.table: RecordTable[Json] = self.tables.open("letters", SEED)

    @rule(key=KEYS, value=VALUES)
    def put(self, key: str, value: Any) -> None:
        self.table[key] = self.model[key] = value

    @rule(key=KEYS)
    def take(self, key: str) -> None:
        assert self.table.pop(key, "nothing") == self.model.pop(key, "nothing")

    @rule()
    def clear(self) -> None:
        self.table.clear()
        self.model.clear()

    @rule()
    def keep(self) -> None:
        self.file.write(self.tables.take_changes(), [])

    @rule()
    def a_write_that_failed(self) -> None:
        self.tables.put_back(self.tables.take_changes())

    @rule()
    def keep_and_open_again(self) -> None:
        items_before = list(self.table.items())
        self.keep()
        self.file.close()
        self.open()
        assert sorted(self.table.items(), key=str) == sorted(items_before, key=str)

    @invariant()
    def they_are_equal(self) -> None:
        # Keys of the seed keep the seed's place, the others are in the order in which they were put.
        own = [key for key in self.model if key not in SEED]
        assert list(self.table) == [key for key in SEED if key in self.model] + own
        assert dict(self.table) == self.model
        assert len(self.table) == len(self.model)
        assert all((key in self.table) == (key in self.model) for key in "abcdefg")

    def teardown(self) -> None:
        self.file.close()
        self.folder.cleanup()


TestTableLikeADict = TableLikeADict.TestCase
TestTableLikeADict.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


def test_a_key_that_went_and_came_again_is_last_also_after_a_restart() -> None:
    table: RecordTable[Json] = RecordTable("s", {}, {})
    stored_rows: dict[str, str] = {}

    def keep() -> None:
        rows = table.take_changes()
        for _, key, value in rows:
            stored_rows.pop(key, None) if value is None else stored_rows.update({key: value})

    table["one"], table["two"] = 1, 2
    keep()
    del table["one"]
    table["one"] = 3
    keep()
    assert list(table) == list(stored_rows) == ["two", "one"]


def test_and_also_when_the_write_failed_at_first() -> None:
    tables = RecordTables([("s", "one", "1"), ("s", "two", "2")])
    table: RecordTable[Json] = tables.open("s")
    del table["one"]
    table["one"] = 3
    tables.put_back(tables.take_changes())
    assert tables.take_changes() == [("s", "one", None), ("s", "one", "3")]


def test_only_differences_are_written() -> None:
    tables = RecordTables()
    table = tables.open("s", SEED)
    assert tables.take_changes() == []
    table["a"] = 5
    del table["b"]
    assert tables.take_changes() == [("s", "a", "5"), ("s", "b", "")]
    assert tables.take_changes() == []


def test_a_table_has_one_owner() -> None:
    tables = RecordTables()
    tables.open("s")
    with pytest.raises(ValueError, match="owner"):
        tables.open("s")


def test_what_went_from_a_seed_that_is_another_now_is_not_there() -> None:
    table = RecordTables([("s", "old", ""), ("s", "own", "1")]).open("s", {"new": 2})
    assert list(table) == ["new", "own"]
    assert len(table) == 2
    with pytest.raises(KeyError):
        del table["old"]


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5))
def test_any_json_comes_back(values: dict[str, Any]) -> None:
    tables = RecordTables()
    tables.open("s").update(values)
    rows = tables.take_changes()
    assert dict(RecordTables(rows).open("s")) == values == json.loads(json.dumps(values))
