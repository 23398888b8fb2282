"""The clock and the scheduler: actions run in order, each at its own moment, also after a restart."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.state.clock import Clock, rfc3339
from csm_emulator.state.scheduler import Scheduler
from csm_emulator.state.tables import RecordTables

START = 1000.0


class ManualClock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def make(tables: RecordTables | None = None, speed: float = 0.0) -> tuple[Scheduler, Clock, list[Any]]:
    clock = Clock(START, speed, ManualClock())
    scheduler = Scheduler(tables or RecordTables(), clock)
    calls: list[Any] = []
    scheduler.register("note", lambda *args: calls.append((clock.now(), *args)))
    return scheduler, clock, calls


def test_what_is_due_is_done_in_order_at_its_moment() -> None:
    scheduler, clock, calls = make()
    scheduler.after(20, "note", "second")
    scheduler.after(10, "note", "first")
    scheduler.after(20, "note", "third")
    scheduler.at(START - 5, "note", "late")
    assert scheduler.run(START + 20, 100) == 4
    assert calls == [(995.0, "late"), (1010.0, "first"), (1020.0, "second"), (1020.0, "third")]
    assert clock.now() == START


def test_what_is_put_on_while_something_is_done_counts_from_there() -> None:
    scheduler, clock, calls = make()

    def again() -> None:
        scheduler.after(10, "note", clock.now())

    scheduler.register("again", again)
    scheduler.after(5, "again")
    scheduler.run(START + 100, 100)
    assert calls == [(1015.0, 1005.0)]


def test_the_number_of_actions_at_once_is_bounded() -> None:
    scheduler, _, calls = make()
    for number in range(5):
        scheduler.after(number, "note", number)
    assert scheduler.run(START + 10, 3) == 3
    assert scheduler.run(START + 10, 3) == 2
    assert [args for _, args in calls] == [0, 1, 2, 3, 4]


def test_it_survives() -> None:
    tables = RecordTables()
    scheduler, _, _ = make(tables)
    scheduler.after(20, "note", {"a": [1]})
    scheduler.after(10, "note", "x")
    reopened, _, calls = make(RecordTables(tables.take_changes()))
    assert reopened.next_moment() == 1010.0
    reopened.run(START + 20, 10)
    assert calls == [(1010.0, "x"), (1020.0, {"a": [1]})]


def test_an_action_that_fails_is_not_done_again_and_time_goes_on() -> None:
    scheduler, clock, calls = make()

    def fail() -> None:
        raise RuntimeError("broken")

    scheduler.register("fail", fail)
    scheduler.after(1, "fail")
    scheduler.after(2, "note", "after")
    with pytest.raises(RuntimeError):
        scheduler.run(START + 10, 10)
    assert clock.now() == START
    scheduler.run(START + 10, 10)
    assert calls == [(1002.0, "after")]


def test_every_kind_has_one_answer() -> None:
    scheduler, _, _ = make()
    with pytest.raises(ValueError, match="already"):
        scheduler.register("note", print)
    with pytest.raises(ValueError, match="has no action"):
        scheduler.after(1, "unheard-of")


def test_the_clock_goes_at_its_speed_and_can_change_it() -> None:
    wall = ManualClock()
    clock = Clock(START, 10.0, wall)
    wall.seconds = 3
    assert clock.now() == 1030.0
    clock.set_speed(0.0)
    wall.seconds = 100
    assert clock.now() == 1030.0
    assert clock.wall_seconds_until(2000.0) == float("inf")
    clock.jump_to(1500.0)
    clock.set_speed(1000.0)
    wall.seconds = 101
    assert clock.now() == 2500.0
    assert clock.wall_seconds_until(3500.0) == 1.0
    assert clock.wall_seconds_until(10.0) == 0.0


def test_the_clock_is_held_while_something_is_done() -> None:
    clock = Clock(START, 0.0, ManualClock())
    clock.hold(42.0)
    assert (clock.now(), clock.unheld_now()) == (42.0, START)
    clock.hold(None)
    assert clock.now() == START


@pytest.mark.parametrize(
    ("moment", "digits", "text"),
    [
        (0.0, 6, "1970-01-01T00:00:00Z"),
        (1_800_000_000.5, 6, "2027-01-15T08:00:00.5Z"),
        (1_800_000_000.123456, 6, "2027-01-15T08:00:00.123456Z"),
        (1_800_000_000.9, 0, "2027-01-15T08:00:00Z"),
        (1.9999999, 6, "1970-01-01T00:00:02Z"),
    ],
)
def test_instants_are_printed_as_go_does(moment: float, digits: int, text: str) -> None:
    assert rfc3339(moment, digits) == text
