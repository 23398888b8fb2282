from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection

from canton.domain.errors import DatabaseUnavailable
from canton.store import outbox, schema
from canton.store.database import Database, now
from canton.store.outbox import Event

Append = Callable[[Connection, str, Sequence[Event]], None]


def event(kind: str = "node.assigned", **body: int) -> Event:
    return Event(kind, "x1000c0s0b0n0", body)


def numbers(database: Database, stream: str = "psi", start: int = 0) -> list[int]:
    with database.read() as connection:
        return [event.seq for event in outbox.read(connection, stream, start, 10_000)]


def naive_append() -> Append:
    """Appends with numbers as a sequence gives them: at once, without a lock, and never returned."""
    count = itertools.count(1)

    def append(connection: Connection, stream: str, events: Sequence[Event]) -> None:
        for event in events:
            connection.execute(
                sa.insert(schema.event).values(
                    stream=stream,
                    seq=next(count),
                    at=now(),
                    kind=event.kind,
                    subject=event.subject,
                    body=dict(event.body),
                )
            )

    return append


@contextmanager
def open_transaction(database: Database) -> Iterator[Connection]:
    """A transaction that stays open until the test ends it."""
    with database.engine.connect() as connection:
        yield connection


def test_events_are_read_as_they_were_written(database: Database) -> None:
    with database.write() as connection:
        instant_before = connection.scalar(sa.select(now()))
        outbox.append(connection, "psi", [event("a", n=1), event("b", n=2)])
    with database.read() as connection:
        first, second = outbox.read(connection, "psi", 0, 10)
    assert (first.seq, first.kind, first.subject, first.body) == (1, "a", "x1000c0s0b0n0", {"n": 1})
    assert (second.seq, second.kind, second.body) == (2, "b", {"n": 2})
    assert instant_before is not None
    assert first.at >= instant_before


def test_reading_goes_on_where_it_stopped(database: Database) -> None:
    with database.write() as connection:
        outbox.append(connection, "psi", [event() for _ in range(7)])
    with database.read() as connection:
        assert [stored_event.seq for stored_event in outbox.read(connection, "psi", 0, 3)] == [1, 2, 3]
        assert [stored_event.seq for stored_event in outbox.read(connection, "psi", 3, 3)] == [4, 5, 6]
        assert [stored_event.seq for stored_event in outbox.read(connection, "psi", 6, 3)] == [7]
        assert outbox.read(connection, "psi", 7, 3) == []


def test_every_stream_counts_for_itself(database: Database) -> None:
    with database.write() as connection:
        outbox.append(connection, "psi", [event(), event()])
        outbox.append(connection, outbox.PROVIDER, [event()])
        outbox.append(connection, "psi", [event()])
    with database.read() as connection:
        assert outbox.last(connection, "psi") == 3
        assert outbox.last(connection, outbox.PROVIDER) == 1
        assert outbox.last(connection, "never used") == 0
        assert outbox.read(connection, "never used", 0, 10) == []
    assert numbers(database) == [1, 2, 3]


def test_no_events_leave_no_trace(database: Database) -> None:
    with database.write() as connection:
        outbox.append(connection, "psi", [])
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.stream)) == 0


def test_a_rollback_leaves_no_hole(database: Database) -> None:
    for commit in (True, False, True):
        with open_transaction(database) as connection:
            outbox.append(connection, "psi", [event(), event()])
            if commit:
                connection.commit()
    assert numbers(database) == [1, 2, 3, 4]


def test_the_first_use_rolled_back_leaves_no_stream(database: Database) -> None:
    with open_transaction(database) as connection:
        outbox.append(connection, "psi", [event()])
    with database.read() as connection:
        assert outbox.last(connection, "psi") == 0


def test_the_database_refuses_to_change_an_event(database: Database) -> None:
    with database.write() as connection:
        outbox.append(connection, "psi", [event()])
    with pytest.raises(sa.exc.IntegrityError, match="event refuses UPDATE"), database.write() as connection:
        connection.execute(sa.update(schema.event).values(kind="x"))


def test_two_statements_are_enough(database: Database) -> None:
    statements: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement.split(maxsplit=1)[0])

    with database.write() as connection:
        outbox.append(connection, "psi", [event()])
    with database.write() as connection:
        sa.event.listen(database.engine, "before_cursor_execute", note)
        outbox.append(connection, "psi", [event() for _ in range(10)])
        sa.event.remove(database.engine, "before_cursor_execute", note)
    assert statements == ["UPDATE", "INSERT"]


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_a_stream_in_use_makes_only_its_own_writers_wait(database: Database) -> None:
    with database.write() as connection:
        outbox.append(connection, "psi", [event()])
        outbox.append(connection, "eth", [event()])
    with open_transaction(database) as late:
        outbox.append(late, "psi", [event()])
        append_impatiently(database, "eth")
        with pytest.raises(DatabaseUnavailable) as caught:
            append_impatiently(database, "psi")
        assert "lock timeout" in caught.value.cause
        assert (numbers(database, "psi"), numbers(database, "eth")) == ([1], [1, 2])
        late.commit()
    assert numbers(database, "psi") == [1, 2]


def append_impatiently(database: Database, stream: str) -> None:
    with database.write() as connection:
        connection.exec_driver_sql("SET LOCAL lock_timeout = '200ms'")
        outbox.append(connection, stream, [event()])


@pytest.mark.parametrize("commit", [True, False], ids=["commits", "rolls back"])
@pytest.mark.parametrize("used_before", [True, False], ids=["used", "new"])
@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_an_append_after_a_late_commit_has_a_later_number(database: Database, used_before: bool, commit: bool) -> None:
    if used_before:
        with database.write() as connection:
            outbox.append(connection, "psi", [event("first")])

    def write() -> None:
        with database.write() as connection:
            outbox.append(connection, "psi", [event("waited")])

    with ThreadPoolExecutor(1) as pool, open_transaction(database) as late:
        outbox.append(late, "psi", [event("late")])
        waiting = pool.submit(write)
        wait_for_lock(database, waiting)
        assert numbers(database) == [1] * used_before
        if commit:
            late.commit()
        else:
            late.rollback()
        waiting.result()
    with database.read() as connection:
        kinds = [(stored_event.seq, stored_event.kind) for stored_event in outbox.read(connection, "psi", 0, 10)]
    expected = ["first"] * used_before + ["late"] * commit + ["waited"]
    assert kinds == list(enumerate(expected, 1))


def wait_for_lock(database: Database, waiting: Future[None]) -> None:
    blocked = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert not waiting.done(), "the second writer did not wait"
        with database.read() as connection:
            if connection.scalar(blocked):
                return
        time.sleep(0.01)
    pytest.fail("the second writer never came to the lock")


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_numbers_from_a_sequence_lose_the_late_event(database: Database) -> None:
    """The reason for the outbox's lock: without it, a reader that goes on from 2 never sees 1."""
    append = naive_append()
    with database.write() as connection:
        connection.execute(sa.insert(schema.stream).values(name="psi", last=0))
    with open_transaction(database) as late:
        append(late, "psi", [event("late")])
        with database.write() as quick:
            append(quick, "psi", [event("quick")])
        assert numbers(database) == [2]
        late.commit()
    assert numbers(database, start=2) == []


def write_and_watch(database: Database, append: Append) -> tuple[list[int], set[int]]:
    """Four slow writers, some of which roll back; returns the numbers that a polling reader saw, and those stored."""
    writers, events_per_writer = 4, 20
    together, over = threading.Barrier(writers + 1), threading.Event()

    def write(seed: int) -> None:
        rng = random.Random(seed)
        together.wait()
        for _ in range(events_per_writer):
            with open_transaction(database) as connection:
                append(connection, "psi", [event() for _ in range(rng.randint(1, 3))])
                time.sleep(rng.choice([0, 0, 0.002, 0.01]))
                if rng.random() < 0.75:
                    connection.commit()

    def watch() -> list[int]:
        numbers_read: list[int] = []
        together.wait()
        last_look = False
        while not last_look:
            last_look = over.is_set()
            numbers_read += numbers(database, start=numbers_read[-1] if numbers_read else 0)
        return numbers_read

    with ThreadPoolExecutor(writers + 1) as pool:
        watching = pool.submit(watch)
        try:
            for future in [pool.submit(write, seed) for seed in range(writers)]:
                future.result()
        finally:
            over.set()
        numbers_seen = watching.result()
    return numbers_seen, set(numbers(database))


def test_a_polling_reader_sees_every_event_once_and_in_order(database: Database) -> None:
    numbers_read, numbers_stored = write_and_watch(database, outbox.append)
    assert numbers_read == list(range(1, len(numbers_stored) + 1))
    assert len(numbers_stored) > 40
    with database.read() as connection:
        assert outbox.last(connection, "psi") == len(numbers_stored)


def test_the_same_reader_notices_numbers_from_a_sequence(
    database: Database, record_property: Callable[[str, object], None]
) -> None:
    """The test above can fail: without the lock it does."""
    with database.write() as connection:
        connection.execute(sa.insert(schema.stream).values(name="psi", last=0))
    numbers_read, numbers_stored = write_and_watch(database, naive_append())
    assert numbers_read != list(range(1, len(numbers_stored) + 1))
    assert numbers_stored - set(numbers_read), "events were committed that the reader never saw"
    record_property("mutations caught", 1)
