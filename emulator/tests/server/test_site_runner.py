"""A site in real time: mistakes, full disks, steps and loads that cross."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine_choice import MachineRequest
from csm_emulator.site_runner import SiteRunner
from csm_emulator.state.file import StateFile
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call

READY = Call("GET", "/hsm/v2/service/ready")
Scenario = Callable[[SiteRunner], Coroutine[Any, Any, None]]


@contextlib.contextmanager
def opened(path: Path, topology: str | None = "tiny", speed: float | None = 0.0) -> Iterator[SiteRunner]:
    kept = StateFile(path)
    try:
        yield SiteRunner(kept, MachineRequest(topology, speed=speed), lambda *_: None)
    finally:
        kept.close()


@contextlib.asynccontextmanager
async def ticking(running: SiteRunner) -> AsyncIterator[list[asyncio.Task[None]]]:
    loops = [asyncio.create_task(loop()) for loop in (running.tick_forever, running.save_forever)]
    yield loops
    for task in loops:
        task.cancel()


def _break() -> None:
    raise ZeroDivisionError


def test_a_mistake_in_what_is_due_is_told_and_time_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(running: SiteRunner) -> None:
        site = running.site
        done: list[float] = []
        site.scheduler.register("test.breaks", _break)
        site.scheduler.register("test.works", lambda: done.append(site.clock.now()))
        begin = site.clock.now()
        site.scheduler.after(10, "test.breaks")
        site.scheduler.after(20, "test.works")
        async with ticking(running) as loops:
            await running.step(30)
            assert (await running.answer_at("smd", READY)).status == 200
            assert not any(task.done() for task in loops)
        assert done == [begin + 20]
        assert site.clock.now() == begin + 30

    with opened(tmp_path / "state") as running, caplog.at_level(logging.ERROR):
        asyncio.run(scenario(running))
    assert "test.breaks" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_full_disk_is_told_and_written_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("csm_emulator.site_runner.SAVE_INTERVAL", 0.01)

    async def scenario(running: SiteRunner) -> None:
        connection = running.site.state_file._connection
        table: RecordTable[str] = running.site.tables.open("test")
        table["key"] = "x" * 10_000_000
        connection.execute("PRAGMA max_page_count = 100")
        async with ticking(running) as loops:
            await asyncio.sleep(0.2)
            assert not any(task.done() for task in loops)
            connection.execute("PRAGMA max_page_count = 1000000")
            await asyncio.sleep(0.2)
        assert any(table == "test" for table, _, _ in running.site.state_file.rows())

    with opened(tmp_path / "state") as running, caplog.at_level(logging.ERROR):
        asyncio.run(scenario(running))
    assert "cannot be written" in caplog.text


def test_steps_at_once_add_up(tmp_path: Path) -> None:
    async def scenario(running: SiteRunner) -> None:
        begin = running.site.clock.now()
        # Work on the way, so that they meet.
        running.site.scheduler.register("test.nothing", lambda: None)
        for number in range(3000):
            running.site.scheduler.after(number / 10, "test.nothing")
        await asyncio.gather(running.step(100), running.step(50), running.step(7))
        assert running.site.clock.now() == begin + 157

    with opened(tmp_path / "state") as running:
        asyncio.run(scenario(running))


def test_a_load_ends_a_step_that_is_under_way(tmp_path: Path) -> None:
    async def scenario(running: SiteRunner) -> None:
        begin = running.site.clock.now()
        running.site.save()
        running.site.state_file.copy_to(tmp_path / "saved")
        running.site.scheduler.register("test.nothing", lambda: None)
        for number in range(3000):
            running.site.scheduler.after(number / 10, "test.nothing")
        step = asyncio.create_task(running.step(10_000_000))
        await asyncio.sleep(0)
        running.load(tmp_path / "saved")
        await step
        assert running.site.clock.now() == begin

    with opened(tmp_path / "state") as running:
        asyncio.run(scenario(running))


def test_a_machine_of_another_topology_can_be_loaded(tmp_path: Path) -> None:
    with opened(tmp_path / "other", "empty", speed=7.0) as other:
        other.site.save()
        other.site.state_file.copy_to(tmp_path / "saved")
    with opened(tmp_path / "state") as running:
        running.load(tmp_path / "saved")
        assert running.site.machine.topology.name == "empty"
        assert running.site.clock.speed == 7.0
        running.site.save()
    with opened(tmp_path / "state", None, None) as again:
        assert again.site.machine.topology.name == "empty"


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE metadata SET value = '{}' WHERE name = 'topology'",
        "UPDATE metadata SET value = '{\"name\": \"atlantis\"}' WHERE name = 'topology'",
        "UPDATE metadata SET value = 'no JSON' WHERE name = 'seed'",
        "INSERT INTO records VALUES (NULL, 'clock', 'now', '[]') ON CONFLICT DO UPDATE SET value = excluded.value",
        "INSERT INTO records VALUES (NULL, 'scheduler', 'x', '[]')",
        "INSERT INTO records VALUES (NULL, 'faults', 'f1', '{\"colour\": 1}')",
        "INSERT INTO records VALUES (NULL, 'smd.components', 'x0', 'no JSON')",
        "DROP TABLE log",
    ],
)
def test_a_state_that_cannot_be_opened_changes_nothing(tmp_path: Path, spoil: str) -> None:
    saved = tmp_path / "saved"
    with opened(tmp_path / "state") as running:
        running.site.save()
        running.site.state_file.copy_to(saved)
        with contextlib.closing(sqlite3.connect(saved)) as file:
            file.execute(spoil)
            file.commit()
        site, rows = running.site, list(running.site.state_file.rows())
        if spoil.startswith("DROP"):
            # A missing table is made anew: an empty log is a log.
            running.load(saved)
            return
        with pytest.raises(InvalidMachine):
            running.load(saved)
        assert running.site is site
        assert list(site.state_file.rows()) == rows


def test_what_nobody_answers_any_more_does_not_stop_the_clock(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """From another version, for example."""
    kept = StateFile(tmp_path / "state")
    kept.write([("scheduler", "1", json.dumps([0.0, "of.yore", []]))], [])
    kept.close()
    with opened(tmp_path / "state") as running:
        asyncio.run(running.step(10))
        assert all(value[1] != "of.yore" for value in running.site.tables._tables["scheduler"].values())
    assert "of.yore" in caplog.text


def test_speed_is_as_asked_and_else_as_it_was(tmp_path: Path) -> None:
    for asked, expected in ((None, 1.0), (5.0, 5.0), (None, 5.0), (0.0, 0.0), (None, 0.0)):
        with opened(tmp_path / "state", None, asked) as running:
            assert running.site.clock.speed == expected
            running.site.save()


def test_time_that_began_does_not_begin_again(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as running:
        running.site.save()
    with contextlib.closing(StateFile(tmp_path / "state")) as kept, pytest.raises(InvalidMachine, match="--begin"):
        SiteRunner(kept, MachineRequest(moment=5.0), lambda *_: None)


def test_its_own_state_is_not_loaded(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as running, pytest.raises(InvalidMachine, match="in use"):
        running.load(tmp_path / "state")
