"""The state file of a machine: a kill at any moment leaves a complete state."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from csm_emulator.errors import InvalidMachine, Unavailable
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.state.file import StateFile
from machine.bare_machine import BareMachine
from machine.invariants import check

TINY = topologies.load("tiny")
_RUN = """
import sys
from pathlib import Path
from machine.bare_machine import BareMachine
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.machine.power import ControllerUnreachable

bare = BareMachine(Path(sys.argv[1]), topologies.load("tiny"))
nodes = [part.xname for part in bare.machine.parts("Node")]
actions = ["On", "ForceRestart", "Off", "PowerCycle", "ForceOff"]
for number in range(1_000_000):
    for place, node in enumerate(nodes):
        try:
            bare.order(node, actions[(number + place) % len(actions)])
        except ControllerUnreachable:
            pass
    bare.step(97)
    bare.keep()
    print(bare.log.last, flush=True)
"""


@pytest.mark.parametrize("line_count", [1, 4, 15])
def test_killed_while_writing_it_goes_on_from_what_was_kept(tmp_path: Path, line_count: int) -> None:
    path = tmp_path / "state"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", _RUN, path], stdout=subprocess.PIPE, text=True, env=environment
    ) as run:
        assert run.stdout is not None
        last_stored = 0
        for _ in range(line_count):
            last_stored = int(run.stdout.readline())
        # A moment in the middle of the next rounds, which take some milliseconds each.
        time.sleep(0.003 * line_count)
        run.send_signal(signal.SIGKILL)
        last_stored = max([last_stored, *map(int, run.stdout.read().split())])
    bare = BareMachine(path, TINY)
    assert bare.log.last >= last_stored
    check(bare)
    bare.order("x1000c0s1b1n0", "ForceOff")
    bare.step(1000)
    check(bare)
    bare.close()


def test_what_was_not_kept_did_not_happen(tmp_path: Path) -> None:
    bare = BareMachine(tmp_path / "state", TINY)
    bare.order("x1000c0s0b1n0", "On")
    bare.step(5)
    bare.keep()
    contents_before = bare.contents()
    bare.step(500)
    bare.close()
    reopened = BareMachine(tmp_path / "state", TINY)
    assert reopened.contents() == contents_before
    reopened.close()


def test_a_write_that_fails_changes_nothing(tmp_path: Path) -> None:
    state_file = StateFile(tmp_path / "state")
    state_file.write([("s", "a", "1")], [(1, "{}")])
    with pytest.raises(Unavailable):
        state_file.write([("s", "a", "2"), ("s", "b", "3")], [(2, "{}"), (1, "{}")])
    assert list(state_file.rows()) == [("s", "a", "1")]
    assert state_file.last_entry() == 1
    state_file.close()


def test_rows_come_back_in_the_order_of_their_coming(tmp_path: Path) -> None:
    state_file = StateFile(tmp_path / "state")
    state_file.write([("s", key, "1") for key in "zay"], [])
    state_file.write([("s", "z", "2"), ("s", "a", None), ("s", "a", "3")], [])
    assert list(state_file.rows()) == [("s", "z", "2"), ("s", "y", "1"), ("s", "a", "3")]
    state_file.close()


def test_the_log_comes_in_pages(tmp_path: Path) -> None:
    bare = BareMachine(tmp_path / "state", TINY)
    bare.order("x1000c0s0", "Off")
    bare.step(5)
    bare.keep()
    bare.order("x1000c0s0", "On")
    bare.step(100)
    whole = bare.lines()
    assert bare.log.after(0, 3) + bare.log.after(3, 1000) == whole
    assert bare.log.after(whole[-1]["number"], 10) == []
    bare.close()


@pytest.mark.parametrize("content", [b"this is no database, by far not one" * 40, b"\x00" * 5000])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state"
    path.write_bytes(content)
    with pytest.raises(InvalidMachine, match="not a state of the emulator"):
        StateFile(path)
    assert path.read_bytes() == content


def test_a_file_of_format_1_is_refused_and_may_be_replaced(tmp_path: Path) -> None:
    """Format 1 had other names of tables."""
    path = tmp_path / "state"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        connection.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, shelf TEXT, key TEXT, value TEXT)")
        connection.execute("INSERT INTO about VALUES ('format', '1')")
        connection.commit()
    content = path.read_bytes()
    with pytest.raises(InvalidMachine, match="has format 1, but this emulator reads format 2; name another file"):
        StateFile(path)
    assert path.read_bytes() == content
    state_file = StateFile(tmp_path / "other")
    state_file.copy_to(path)
    state_file.close()
    StateFile(path).close()


def test_another_format_is_refused(tmp_path: Path) -> None:
    state_file = StateFile(tmp_path / "state")
    state_file.set_metadata("format", 99)
    state_file.close()
    with pytest.raises(InvalidMachine, match="format 99"):
        StateFile(tmp_path / "state")
