"""A site in real time: errors, full disks, steps and loads at the same time."""

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
def running_site(path: Path, topology: str | None = "tiny", speed: float | None = 0.0) -> Iterator[SiteRunner]:
    state_file = StateFile(path)
    try:
        yield SiteRunner(state_file, MachineRequest(topology, speed=speed), lambda *_: None)
    finally:
        state_file.close()


@contextlib.asynccontextmanager
async def ticking(running: SiteRunner) -> AsyncIterator[list[asyncio.Task[None]]]:
    loops = [asyncio.create_task(loop()) for loop in (running.tick_forever, running.save_forever)]
    yield loops
    for task in loops:
        task.cancel()


def _break() -> None:
    raise ZeroDivisionError


def test_an_action_that_fails_is_logged_and_time_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(running: SiteRunner) -> None:
        site = running.site
        moments: list[float] = []
        site.scheduler.register("test.breaks", _break)
        site.scheduler.register("test.works", lambda: moments.append(site.clock.now()))
        begin = site.clock.now()
        site.scheduler.after(10, "test.breaks")
        site.scheduler.after(20, "test.works")
        async with ticking(running) as loops:
            await running.step(30)
            assert (await running.answer_at("smd", READY)).status == 200
            assert not any(task.done() for task in loops)
        assert moments == [begin + 20]
        assert site.clock.now() == begin + 30

    with running_site(tmp_path / "state") as running, caplog.at_level(logging.ERROR):
        asyncio.run(scenario(running))
    assert "test.breaks" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_full_disk_is_logged_and_the_state_is_written_later(
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

    with running_site(tmp_path / "state") as running, caplog.at_level(logging.ERROR):
        asyncio.run(scenario(running))
    assert "cannot be written" in caplog.text


def test_steps_at_once_add_up(tmp_path: Path) -> None:
    async def scenario(running: SiteRunner) -> None:
        begin = running.site.clock.now()
        # Both steps are under way at once.
        running.site.scheduler.register("test.nothing", lambda: None)
        for number in range(3000):
            running.site.scheduler.after(number / 10, "test.nothing")
        await asyncio.gather(running.step(100), running.step(50), running.step(7))
        assert running.site.clock.now() == begin + 157

    with running_site(tmp_path / "state") as running:
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

    with running_site(tmp_path / "state") as running:
        asyncio.run(scenario(running))


def test_a_machine_of_another_topology_can_be_loaded(tmp_path: Path) -> None:
    with running_site(tmp_path / "other", "empty", speed=7.0) as other_runner:
        other_runner.site.save()
        other_runner.site.state_file.copy_to(tmp_path / "saved")
    with running_site(tmp_path / "state") as running:
        running.load(tmp_path / "saved")
        assert running.site.machine.topology.name == "empty"
        assert running.site.clock.speed == 7.0
        running.site.save()
    with running_site(tmp_path / "state", None, None) as reopened_runner:
        assert reopened_runner.site.machine.topology.name == "empty"


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
    with running_site(tmp_path / "state") as running:
        running.site.save()
        running.site.state_file.copy_to(saved)
        with contextlib.closing(sqlite3.connect(saved)) as file:
            file.execute(spoil)
            file.commit()
        site, rows = running.site, list(running.site.state_file.rows())
        if spoil.startswith("DROP"):
            # A missing table is created again: an empty log is a valid log.
            running.load(saved)
            return
        with pytest.raises(InvalidMachine):
            running.load(saved)
        assert running.site is site
        assert list(site.state_file.rows()) == rows


def test_an_action_without_a_handler_does_not_stop_the_clock(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Such an action may come from another version of the emulator."""
    state_file = StateFile(tmp_path / "state")
    state_file.write([("scheduler", "1", json.dumps([0.0, "of.yore", []]))], [])
    state_file.close()
    with running_site(tmp_path / "state") as running:
        asyncio.run(running.step(10))
        assert all(value[1] != "of.yore" for value in running.site.tables._tables["scheduler"].values())
    assert "of.yore" in caplog.text


def test_speed_is_as_asked_and_else_as_it_was(tmp_path: Path) -> None:
    for requested_speed, expected in ((None, 1.0), (5.0, 5.0), (None, 5.0), (0.0, 0.0), (None, 0.0)):
        with running_site(tmp_path / "state", None, requested_speed) as running:
            assert running.site.clock.speed == expected
            running.site.save()


def test_time_that_began_does_not_begin_again(tmp_path: Path) -> None:
    with running_site(tmp_path / "state") as running:
        running.site.save()
    with (
        contextlib.closing(StateFile(tmp_path / "state")) as state_file,
        pytest.raises(InvalidMachine, match="--begin"),
    ):
        SiteRunner(state_file, MachineRequest(moment=5.0), lambda *_: None)


def test_its_own_state_is_not_loaded(tmp_path: Path) -> None:
    with running_site(tmp_path / "state") as running, pytest.raises(InvalidMachine, match="in use"):
        running.load(tmp_path / "state")
