"""Protection of a state file: other programs' files, a second writer, other users."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from csm_emulator.errors import InvalidMachine, Unavailable
from csm_emulator.state.file import StateFile
from csm_emulator.state.tables import RecordTable, RecordTables


def test_a_foreign_database_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "browser.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    bytes_before = path.read_bytes()
    with pytest.raises(InvalidMachine, match="is not a state of the emulator"):
        StateFile(path)
    assert path.read_bytes() == bytes_before


def test_two_emulators_cannot_have_one_state(tmp_path: Path) -> None:
    with closing(StateFile(tmp_path / "state")) as first:
        with pytest.raises(InvalidMachine, match="does another emulator use it"):
            StateFile(tmp_path / "state")
        first.write([("numbers", "key", "1")], [])
    with closing(StateFile(tmp_path / "state")) as second:
        assert list(second.rows()) == [("numbers", "key", "1")]


def test_only_its_owner_may_read_it_and_its_copies(tmp_path: Path) -> None:
    with closing(StateFile(tmp_path / "state")) as state_file:
        state_file.write([("keycloak.keys", "private", '"secret"')], [])
        state_file.copy_to(tmp_path / "copy")
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}
    assert {"state", "copy"} <= set(modes)
    assert set(modes.values()) == {0o600}


def test_a_copy_takes_the_place_of_a_copy_and_of_nothing_else(tmp_path: Path) -> None:
    letter = tmp_path / "letter"
    letter.write_text("dear")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "state")
    with closing(StateFile(tmp_path / "state")) as state_file:
        for path in (letter, tmp_path, tmp_path / "state", link):
            with pytest.raises(InvalidMachine, match="name another file"):
                state_file.copy_to(path)
        state_file.copy_to(tmp_path / "copy")
        state_file.copy_to(tmp_path / "copy")
        state_file.write([("numbers", "key", "1")], [])
    assert letter.read_text() == "dear"
    assert not list(tmp_path.glob(".*"))
    with closing(StateFile(tmp_path / "state")) as second_file:
        assert list(second_file.rows()) == [("numbers", "key", "1")]


@pytest.mark.parametrize("name", ["a" * 300, "\ud800", "no/such/folder"])
def test_an_impossible_path_is_refused(tmp_path: Path, name: str) -> None:
    with closing(StateFile(tmp_path / "state")) as state_file, pytest.raises(InvalidMachine):
        state_file.copy_to(tmp_path / name)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with closing(StateFile(tmp_path / "state")) as state_file:
        state_file._connection.execute("PRAGMA max_page_count = 20")
        with pytest.raises(Unavailable, match="full"):
            state_file.write([("numbers", "key", "x" * 1_000_000)], [(1, "{}")])
        assert list(state_file.rows()) == []
        assert state_file.last_entry() == 0
        state_file._connection.execute("PRAGMA max_page_count = 10000")
        state_file.write([("numbers", "key", "1")], [(1, "{}")])
        assert state_file.last_entry() == 1


def test_text_that_no_file_can_hold_is_no_end_of_it(tmp_path: Path) -> None:
    tables = RecordTables()
    table: RecordTable[int] = tables.open("numbers")
    table["\ud800"] = 1
    with closing(StateFile(tmp_path / "state")) as state_file, pytest.raises(Unavailable):
        state_file.write(tables.take_changes(), [])
