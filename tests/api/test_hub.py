"""Followers of events: no event is lost, doubled or foreign, and a slow follower costs the server no memory."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event as listening

from asgi import Call, open_request
from canton.api.events import cursor as positions
from canton.api.events import hub as hub_module
from canton.api.events.connection import ABORT, EventStream
from canton.api.events.hub import Hub, HubSettings, ReaderLimits
from canton.api.events.reader import ReaderRights, StartPosition, Subscription, Visible, open_reader
from canton.domain.errors import CantonError, DatabaseUnavailable, Forbidden, InvalidCursor, TooBusy
from canton.store import outbox
from canton.store.database import Database
from canton.store.outbox import PROVIDER, Event

QUICK = HubSettings(poll=0.02, keep_alive=0.3, check=0.2, blocked=0.3, behind=50, tail=64, batch=10)
QUIET = HubSettings(poll=0.02)


@dataclass(frozen=True)
class ReceivedEvent:
    """An event as a client receives it."""

    id: str | None
    kind: str
    data: Any

    @property
    def n(self) -> tuple[str | None, int]:
        return self.data["tenant"], self.data["body"]["n"]


@dataclass
class Client:
    """One connection, with the event id that a browser would send to resume it."""

    call: Call
    comments: int = 0
    last_id: str | None = None
    events: list[ReceivedEvent] = field(default_factory=list)
    _read: int = 0

    def read(self) -> list[ReceivedEvent]:
        """Parse the messages since the last call, as the HTML standard says."""
        whole, _, _ = self.call.answer.body[self._read :].rpartition(b"\n\n")
        if whole:
            self._read += len(whole) + 2
            for block in whole.decode().split("\n\n"):
                self._take(block)
        return self.events

    def _take(self, block: str) -> None:
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        self.comments += block.startswith(":")
        self.last_id = fields.get("id", self.last_id)
        if "data" in fields:
            self.events.append(ReceivedEvent(fields.get("id"), fields["event"], json.loads(fields["data"])))

    def numbers(self) -> list[tuple[str | None, int]]:
        return [event.n for event in self.read() if event.kind == "test"]

    async def has(self, count: int, seconds: float = 30.0) -> list[tuple[str | None, int]]:
        await until(lambda: len(self.numbers()) >= count, seconds)
        return self.numbers()


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 (conditions of many kinds)
            await asyncio.sleep(0.005)


@dataclass
class Rights:
    """What a reader may see, and how it changes."""

    visible: Visible = None
    error: CantonError | None = None
    calls: int = 0

    async def __call__(self) -> ReaderRights:
        self.calls += 1
        if self.error is not None:
            raise self.error
        return ReaderRights(self.visible, None, None)


@asynccontextmanager
async def follow(
    hub: Hub, rights: Rights | None = None, cursor: str | None = None, **filters: Any
) -> AsyncIterator[Client]:
    reader = await open_reader(hub, Subscription(rights or Rights(), beginning=StartPosition(cursor), **filters))
    async with open_request(EventStream(hub, reader), "GET", "/v1/events") as call:
        await call.until(b"\n\n")
        yield Client(call)


@asynccontextmanager
async def hub_of(database: Database, settings: HubSettings = QUIET, total: int = 2000) -> AsyncIterator[Hub]:
    hub = Hub(database, ReaderLimits(total), settings)
    try:
        yield hub
    finally:
        hub.close()


def tell(database: Database, stream: str, *numbers: int, subject: str = "op_1", size: int = 0) -> None:
    with database.write() as connection:
        outbox.append(connection, stream, [Event("test", subject, {"n": n, "fill": "x" * size}) for n in numbers])


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await scenario

    asyncio.run(bounded())


def of(stream: str | None, *numbers: int) -> list[tuple[str | None, int]]:
    return [(stream, n) for n in numbers]


def test_a_follower_receives_new_events_in_order(database: Database) -> None:
    async def scenario() -> None:
        tell(database, "psi", 1, 2)
        async with hub_of(database) as hub, follow(hub) as client:
            tell(database, "psi", 3)
            await client.has(1)
            tell(database, PROVIDER, 1)
            tell(database, "psi", 4, 5)
            numbers = await client.has(4)
            assert [n for n in numbers if n[0] == "psi"] == of("psi", 3, 4, 5)
            assert [n for n in numbers if n[0] is None] == of(None, 1)
            data = client.events[0].data
            assert data.keys() == {"at", "kind", "subject", "tenant", "body"}
            assert data["at"].endswith("Z")

    run(scenario())


def test_start_is_the_beginning(database: Database) -> None:
    async def scenario() -> None:
        tell(database, "psi", *range(1, 26))
        tell(database, "cscs", *range(1, 26))
        async with hub_of(database, QUICK) as hub, follow(hub, cursor="start") as client:
            numbers = await client.has(50)
            assert sorted(numbers, key=str) == sorted(of("psi", *range(1, 26)) + of("cscs", *range(1, 26)), key=str)
            assert [n for n in numbers if n[0] == "psi"] == of("psi", *range(1, 26))

    run(scenario())


def test_every_event_is_a_place_to_resume_at_on_any_server(database: Database) -> None:
    async def scenario() -> None:
        tell(database, "psi", 1, 2, 3)
        tell(database, PROVIDER, 1, 2)
        async with hub_of(database) as hub, follow(hub, cursor="start") as client:
            await client.has(5)
            whole = client.events
        for heard_before, number in enumerate(whole, 1):
            async with hub_of(database) as another, follow(another, cursor=number.id) as client:
                later_numbers = await client.has(5 - heard_before)
                await asyncio.sleep(0.05)
                all_numbers = [it.n for it in whole[:heard_before]] + later_numbers
                assert Counter(client.numbers()) == Counter(later_numbers)
                assert Counter(all_numbers) == Counter(it.n for it in whole)

    run(scenario())


def test_a_client_without_events_resumes_where_it_connected(database: Database) -> None:
    async def scenario() -> None:
        tell(database, "psi", 1)
        async with hub_of(database) as hub:
            async with follow(hub) as client:
                client.read()
                assert client.last_id is not None
            tell(database, "psi", 2)
            tell(database, "new", 1)
            async with follow(hub, cursor=client.last_id) as resumed:
                assert sorted(await resumed.has(2), key=str) == [("new", 1), ("psi", 2)]

    run(scenario())


def test_nothing_is_lost_or_doubled_across_restarts_and_servers_while_others_write(database: Database) -> None:
    """Writers of three streams, a client that is cut off again and again and comes back to another server."""
    count = 120

    def write(stream: str) -> None:
        dice = random.Random(stream)
        for n in range(1, count + 1):
            tell(database, stream, n)
            time.sleep(dice.random() * 0.01)

    async def scenario() -> None:
        numbers: list[tuple[str | None, int]] = []
        cursor: str | None = "start"
        writers = [asyncio.create_task(asyncio.to_thread(write, name)) for name in ("psi", "cscs", PROVIDER)]
        dice = random.Random(7)
        async with asyncio.timeout(50):
            while len(numbers) < 3 * count:
                async with hub_of(database, QUICK) as one, hub_of(database, QUICK) as two:
                    for hub in (one, two, one):
                        async with follow(hub, cursor=cursor) as client:
                            await asyncio.sleep(dice.random() * 0.2)
                            numbers += client.numbers()
                            cursor = client.last_id
        await asyncio.gather(*writers)
        for name in ("psi", "cscs", None):
            assert [n for n in numbers if n[0] == name] == of(name, *range(1, count + 1))

    run(scenario())


def test_a_tenants_reader_hears_its_tenants_only(database: Database) -> None:
    async def scenario() -> None:
        async with hub_of(database) as hub, follow(hub, Rights(frozenset({"psi", "eth"}))) as client:
            tell(database, "cscs", 1)
            tell(database, PROVIDER, 1)
            tell(database, "psi", 1)
            tell(database, "eth", 1)
            assert await client.has(2) == [("psi", 1), ("eth", 1)]
            assert "cscs" not in client.call.answer.body.decode()

    run(scenario())


def test_no_tenants_is_nothing(database: Database) -> None:
    async def scenario() -> None:
        tell(database, "psi", 1)
        async with hub_of(database) as hub, follow(hub, Rights(frozenset()), cursor="start") as client:
            tell(database, PROVIDER, 1)
            await asyncio.sleep(0.1)
            assert client.read() == []
            page = await (
                await open_reader(hub, Subscription(Rights(frozenset()), beginning=StartPosition("start")))
            ).page(10)
            assert page.items == []

    run(scenario())


def test_filters_hide_and_the_cursor_moves_on_all_the_same(database: Database) -> None:
    async def scenario() -> None:
        only: dict[str, Any] = {"tenant": "psi", "subject": "op_2"}
        async with hub_of(database, QUICK) as hub:
            async with follow(hub, **only) as client:
                client.read()
                cursor_before = client.last_id
                tell(database, "psi", 1, 2, 3)
                tell(database, "cscs", 1, subject="op_2")
                await until(lambda: bool(client.read() or client.last_id != cursor_before))
                assert client.events == []
                moved = client.last_id
                assert moved is not None
                assert positions.parse(moved, positions.mark("psi", "op_2")).at("psi") == 3
                tell(database, "psi", 4, subject="op_2")
                assert await client.has(1) == [("psi", 4)]
            async with follow(hub, cursor=moved, **only) as resumed:
                assert await resumed.has(1) == [("psi", 4)]

    run(scenario())


def test_one_tenant_does_not_take_the_whole_capacity_and_the_provider_has_a_reserve(database: Database) -> None:
    async def scenario() -> None:
        hub = Hub(database, ReaderLimits(total=20, principal=100, tenant=8, reserve=6))
        with ExitStack() as stack:
            for n in range(8):
                stack.enter_context(hub.count_reader(f"service:psi/ci-{n}", frozenset({"psi"})))
            with pytest.raises(TooBusy, match="the tenant psi follows events 8 times"):
                stack.enter_context(hub.count_reader("cscs:alice", frozenset({"psi", "cscs"})))
            for n in range(6):
                stack.enter_context(hub.count_reader(f"service:cscs/ci-{n}", frozenset({"cscs"})))
            with pytest.raises(TooBusy, match="has 14 readers"):
                stack.enter_context(hub.count_reader("service:eth/ci", frozenset({"eth"})))
            for n in range(6):
                stack.enter_context(hub.count_reader(f"cscs:operator-{n}"))
            with pytest.raises(TooBusy, match="has 20 readers"):
                stack.enter_context(hub.count_reader("cscs:root"))
        with hub.count_reader("cscs:alice", frozenset({"psi"})):
            assert hub.readers == 1
        hub.close()

    asyncio.run(scenario())


def test_a_reserve_as_large_as_all_places_leaves_half_of_them_to_tenants(database: Database) -> None:
    async def scenario() -> None:
        hub = Hub(database, ReaderLimits(total=4, principal=100, tenant=100, reserve=200))
        with ExitStack() as stack:
            for n in range(2):
                stack.enter_context(hub.count_reader(f"service:psi/ci-{n}", frozenset({"psi"})))
            with pytest.raises(TooBusy, match="has 2 readers"):
                stack.enter_context(hub.count_reader("service:psi/ci", frozenset({"psi"})))
        hub.close()

    asyncio.run(scenario())


def test_one_principal_does_not_take_the_whole_capacity(database: Database) -> None:
    async def scenario() -> None:
        async with hub_of(database) as hub:
            with ExitStack() as stack:
                for _ in range(100):
                    stack.enter_context(hub.count_reader("cscs:greedy"))
                with pytest.raises(TooBusy, match="cscs:greedy follows events 100 times"):
                    stack.enter_context(hub.count_reader("cscs:greedy"))
                stack.enter_context(hub.count_reader("cscs:alice"))
            with hub.count_reader("cscs:greedy"):
                pass

    run(scenario())


def count_calls_under_way(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[int]:
    """How many calls of the function are under way whenever one begins; each takes a while."""
    called = getattr(module, name)
    under_way: list[str] = []
    at_each_start: list[int] = []

    def slow(*arguments: Any) -> Any:
        under_way.append("")
        at_each_start.append(len(under_way))
        time.sleep(0.2)
        under_way.pop()
        return called(*arguments)

    monkeypatch.setattr(module, name, slow)
    return at_each_start


@pytest.mark.parametrize(("names", "at_once"), [(["ann"] * 5, 1), (["ann", "bob", "cleo"], 3)])
def test_one_principal_reads_past_events_one_page_at_a_time(
    database: Database, monkeypatch: pytest.MonkeyPatch, names: list[str], at_once: int
) -> None:
    tell(database, "psi", *range(20))
    at_each_start = count_calls_under_way(monkeypatch, hub_module, "_read_next_events")

    async def scenario() -> None:
        async with hub_of(database) as hub:
            sought = [Subscription(Rights(), beginning=StartPosition("start"), who=name) for name in names]
            readers = [await open_reader(hub, pattern) for pattern in sought]
            pages = await asyncio.gather(*(reader.page(10) for reader in readers))
            assert [len(page.items) for page in pages] == [10] * len(names)

    run(scenario())
    assert max(at_each_start) == at_once


def test_one_principal_searches_for_one_start_at_a_time(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A subject that never comes is looked for in all events of a tenant, by one of the few threads for events."""
    tell(database, "psi", *range(20))
    at_each_start = count_calls_under_way(monkeypatch, outbox, "beginning")

    async def scenario() -> None:
        async with hub_of(database) as hub:
            newest = Subscription(Rights(), subject="op_0", beginning=StartPosition(newest=1), who="ann")
            await asyncio.gather(*(open_reader(hub, newest) for _ in range(4)))

    run(scenario())
    assert at_each_start == [1] * 4


def test_silence_is_broken_by_a_comment(database: Database) -> None:
    async def scenario() -> None:
        async with hub_of(database, QUICK) as hub, follow(hub) as client:
            await until(lambda: bool(client.read()) or client.comments >= 2)
            assert client.events == []

    run(scenario())


def test_a_slow_reader_is_told_loses_nothing_and_costs_no_memory(database: Database) -> None:
    async def scenario() -> None:
        async with hub_of(database, HubSettings(poll=0.02, blocked=30, behind=50, tail=64, batch=10)) as hub:
            reader = await open_reader(hub, Subscription(Rights()))
            chunks = reader.chunks()
            with hub.count_reader():
                await anext(chunks)
                await until(lambda: hub.published is not None)
                for n in range(20):
                    tell(database, "psi", *range(n * 20 + 1, n * 20 + 21))
                await until(lambda: (hub.published or {}).get("psi") == 400)
                assert len(hub._tail) <= 64
                bodies: list[bytes] = []
                while len(bodies) < 400 + 1:
                    chunk = await anext(chunks)
                    assert chunk.count(b"data: ") <= 11
                    bodies += [block for block in chunk.split(b"\n\n") if b"data: " in block]
        assert bodies[0] == b'event: canton.behind\ndata: {"behind":400}'
        assert b"id: " not in bodies[0]
        numbers = [json.loads(block.partition(b"data: ")[2])["body"]["n"] for block in bodies[1:]]
        assert numbers == list(range(1, 401))

    run(scenario())


def test_a_reader_that_takes_nothing_is_cut_off(database: Database) -> None:
    async def scenario() -> None:
        aborted = asyncio.Event()
        async with hub_of(database, QUICK) as hub:
            reader = await open_reader(hub, Subscription(Rights()))
            stream = EventStream(hub, reader)
            async with open_request(stream, "GET", "/v1/events", state={ABORT: aborted.set}) as call:
                await call.until(b"\n\n")
                call.stuck.set()
                tell(database, "psi", 1)
                await call.task
            assert aborted.is_set()
            assert hub.readers == 0

    run(scenario())


@pytest.mark.parametrize("error", [Forbidden("revoked"), DatabaseUnavailable("away")], ids=["revoked", "unsure"])
def test_a_reader_that_may_not_read_any_more_is_cut_off(database: Database, error: CantonError) -> None:
    async def scenario() -> None:
        rights = Rights()
        async with hub_of(database, QUICK) as hub, follow(hub, rights) as client:
            tell(database, "psi", 1)
            await client.has(1)
            rights.error = error
            await client.call.task
            assert client.call.answer.ended
            calls_before = rights.calls
            tell(database, "psi", 2)
            await asyncio.sleep(0.1)
            assert client.numbers() == [("psi", 1)]
            assert rights.calls == calls_before

    run(scenario())


def test_a_reader_that_has_lost_its_last_tenant_is_cut_off(database: Database) -> None:
    async def scenario() -> None:
        rights = Rights(frozenset({"psi"}))
        async with hub_of(database, QUICK) as hub, follow(hub, rights) as client:
            rights.visible = frozenset()
            await client.call.task

    run(scenario())


def test_a_stream_follows_changes_of_the_readers_rights(
    database: Database,
) -> None:
    async def scenario() -> None:
        rights = Rights(frozenset({"psi"}))
        tell(database, "cscs", 1, 2)
        async with hub_of(database, QUICK) as hub, follow(hub, rights) as client:
            tell(database, "psi", 1)
            await client.has(1)
            rights.visible = frozenset({"cscs"})
            assert await client.has(3) == [("psi", 1), ("cscs", 1), ("cscs", 2)]
            tell(database, "psi", 2)
            tell(database, "cscs", 3)
            assert (await client.has(4))[3:] == [("cscs", 3)]

    run(scenario())


def test_a_drain_ends_every_reader_cleanly_and_takes_no_more(database: Database) -> None:
    async def scenario() -> None:
        async with hub_of(database) as hub, follow(hub) as one, follow(hub, cursor="start") as two:
            reader = await open_reader(hub, Subscription(Rights()))
            hub.drain()
            await asyncio.gather(one.call.task, two.call.task)
            assert one.call.answer.ended
            assert two.call.answer.ended
            async with open_request(EventStream(hub, reader), "GET", "/v1/events") as late:
                await late.task
            assert (late.answer.status, late.answer.json["code"]) == (503, "too-busy")

    run(scenario())


def test_places_are_limited_and_freed_when_a_reader_leaves(database: Database) -> None:
    async def scenario() -> None:
        async with hub_of(database, total=2) as hub:
            async with follow(hub), follow(hub):
                reader = await open_reader(hub, Subscription(Rights()))
                async with open_request(EventStream(hub, reader), "GET", "/v1/events") as third:
                    await third.task
                assert (third.answer.status, third.answer.headers["retry-after"]) == (503, "1")
            assert hub.readers == 0
            async with follow(hub):
                assert hub.readers == 1

    run(scenario())


def test_without_followers_the_database_is_not_read(database: Database) -> None:
    async def scenario() -> None:
        statements = Counter[str]()

        def count(*arguments: Any) -> None:
            statements["all"] += 1

        async with hub_of(database) as hub:
            async with follow(hub):
                await asyncio.sleep(0.1)
            await asyncio.sleep(0.1)
            listening.listen(database.engine, "before_cursor_execute", count)
            await asyncio.sleep(0.2)
            listening.remove(database.engine, "before_cursor_execute", count)
            assert statements["all"] == 0
            tell(database, "psi", 1)
            async with follow(hub, cursor="start") as client:
                assert await client.has(1) == [("psi", 1)]
                # Only this reader reads the events of the meantime, however many there are.
                assert hub._tail == []

    run(scenario())


def test_many_readers_cost_one_look(database: Database) -> None:
    async def scenario() -> None:
        async with hub_of(database, HubSettings(poll=0.02, batch=100)) as hub, AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(follow(hub)) for _ in range(40)]
            reads = Counter[str]()

            def count(_connection: Any, _cursor: Any, statement: str, *_arguments: Any) -> None:
                reads["events"] += "FROM event" in statement

            listening.listen(database.engine, "before_cursor_execute", count)
            tell(database, "psi", *range(1, 31))
            await asyncio.gather(*(client.has(30) for client in clients))
            listening.remove(database.engine, "before_cursor_execute", count)
            assert reads["events"] == 1
            assert all(client.numbers() == of("psi", *range(1, 31)) for client in clients)
            # One wake-up wrote them all: as many sends as batches, not as events.
            assert max(client.call.answer.messages for client in clients) <= 4

    run(scenario())


def test_a_database_that_is_away_for_a_while_is_waited_for(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with hub_of(database) as hub, follow(hub) as client:
            tell(database, "psi", 1)
            await client.has(1)
            real, failures = hub._database.read, iter(range(2))

            def failing() -> Any:
                if next(failures, None) is not None:
                    raise DatabaseUnavailable("away")
                return real()

            hub._database = _Replaced(hub._database, failing)
            tell(database, "psi", 2)
            assert await client.has(2) == of("psi", 1, 2)

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert "cannot read new events" in caplog.text


class _Replaced(Database):
    def __init__(self, database: Database, read: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        super().__init__(database.engine)
        self.read = read  # type: ignore[method-assign,assignment]


def test_events_in_pages(database: Database) -> None:
    async def scenario() -> None:
        tell(database, "psi", *range(1, 8))
        tell(database, "cscs", *range(1, 4))
        async with hub_of(database) as hub:
            received: list[Any] = []
            cursor, more, pages = "start", True, 0
            while more:
                page = await (await open_reader(hub, Subscription(Rights(), beginning=StartPosition(cursor)))).page(4)
                assert len(page.items) <= 4
                items: list[Any] = list(page.items)
                received += [(item["tenant"], item["body"]["n"]) for item in items]
                cursor, more, pages = page.cursor, page.more, pages + 1
            assert pages <= 4
            assert sorted(received) == of("cscs", 1, 2, 3) + of("psi", *range(1, 8))
            assert [n for n in received if n[0] == "psi"] == of("psi", *range(1, 8))
            async with follow(hub, cursor=cursor) as client:
                tell(database, "psi", 8)
                assert await client.has(1) == [("psi", 8)]

    run(scenario())


FILTER = positions.mark(None, None)


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "START",
        "e1",
        f"e1~{FILTER}~",
        f"e1~{FILTER}~psi",
        f"e1~{FILTER}~psi.0",
        f"e1~{FILTER}~psi.01",
        f"e1~{FILTER}~psi.-1",
        f"e1~{FILTER}~psi.1~psi.1",
        f"e1~{FILTER}~psi.99999999999999999999",
        f"e1~{FILTER}~PSI.1",
        f"e1~{FILTER}~psi.1\n",
        f"e1~{FILTER}~psi.\u0661",
        f"e1~{FILTER}~psi.1'--",
        f"e2~{FILTER}~psi.1",
        f"e1~{positions.mark('psi', None)}~psi.1",
        f"e1~{FILTER}~psi.4",
        f"e1~{FILTER}~nosuch.1",
        f"e1~{FILTER}" + "~psi.1" * 9000,
    ],
)
def test_a_forged_cursor_is_refused(database: Database, forged: str) -> None:
    async def scenario() -> None:
        tell(database, "psi", 1, 2, 3)
        async with hub_of(database) as hub:
            with pytest.raises(InvalidCursor):
                await open_reader(hub, Subscription(Rights(), beginning=StartPosition(forged)))

    run(scenario())


def test_unknown_streams_are_removed_from_the_cursor(database: Database) -> None:
    """A cursor with unknown streams is cleaned: otherwise the cursor of each event would repeat them."""

    async def scenario() -> None:
        tell(database, "psi", 1, 2, 3)
        made_up = "".join(f"~t{n}.1" for n in range(50))
        subscription = Subscription(Rights(frozenset({"psi"})), beginning=StartPosition(f"e1~{FILTER}~psi.1{made_up}"))
        async with hub_of(database) as hub:
            page = await (await open_reader(hub, subscription)).page(10)
        assert (len(page.items), page.cursor) == (2, f"e1~{FILTER}~psi.3")

    run(scenario())


@pytest.mark.parametrize("stream", ["cscs", "nosuch"])
@pytest.mark.parametrize("number", [1, 3, 4, 999])
def test_a_forged_cursor_shows_no_hidden_events(database: Database, stream: str, number: int) -> None:
    async def scenario() -> None:
        tell(database, "cscs", 1, 2, 3)
        forged = f"e1~{FILTER}~{stream}.{number}"
        async with hub_of(database) as hub, follow(hub, Rights(frozenset({"psi"})), cursor=forged) as client:
            tell(database, "psi", 1)
            assert await client.has(1) == [("psi", 1)]

    run(scenario())


streams = st.from_regex(r"[a-z][a-z0-9-]{0,30}", fullmatch=True) | st.just(PROVIDER)


@given(st.dictionaries(streams, st.integers(1, 10**17), max_size=20), st.text(max_size=9), st.text(max_size=9))
def test_a_cursor_reads_back_and_is_safe_in_an_address(at: Mapping[str, int], tenant: str, subject: str) -> None:
    mark = positions.mark(tenant, subject)
    cursor = positions.Positions(mark, at).cursor()
    assert positions.parse(cursor, mark).items() == at
    assert set(cursor) <= set("abcdefghijklmnopqrstuvwxyz0123456789-._~")
