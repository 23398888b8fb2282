"""The power of a site's nodes is read at an interval, by one worker, and ages when it cannot be read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any

import pytest
import sqlalchemy as sa

from canton.contracts.power import PowerState
from canton.domain.errors import PermanentFailure, StepFailure, TemporaryFailure
from canton.domain.lifecycle import NodeState
from canton.domain.node import Node
from canton.operations.power.readings import PowerReading
from canton.store import schema
from canton.store.database import SECOND, Database
from canton.store.inventory import nodes, sites
from devices import until, xname


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run the test on an event loop of its own."""

    @wraps(test)
    def run(*arguments: Any, **fixtures: Any) -> None:
        asyncio.run(test(*arguments, **fixtures))

    return run


ON, OFF = PowerState.ON, PowerState.OFF


class Service:
    """A power service in memory, which counts its calls."""

    def __init__(self, states: Mapping[str, PowerState | StepFailure]) -> None:
        self.power = dict(states)
        self.calls: list[int] = []
        self.outage: StepFailure | None = None

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        self.calls.append(len(nodes))
        await asyncio.sleep(0)
        if self.outage is not None:
            raise self.outage
        return {name: self.power[name] for name in nodes}

    async def switch(self, *_: object) -> Mapping[str, StepFailure]:
        raise AssertionError("a reading switches nothing")


def fill(database: Database, count: int) -> list[str]:
    names = [xname(n) for n in range(count)]
    with database.write() as connection:
        sites.create(connection, "alps", "")
        nodes.add(connection, [Node(name, n, NodeState.FREE, None, 1) for n, name in enumerate(names)], "alps")
    return names


def observed(database: Database) -> dict[str, tuple[str, int]]:
    with database.read() as connection:
        rows = connection.execute(sa.select(schema.node_observation))
        return {row.xname: (row.power, row.seen_at) for row in rows}


def powers(database: Database) -> dict[str, str]:
    return {name: power for name, (power, _) in observed(database).items()}


def reading(database: Database, service: Service, interval: float = 60.0) -> PowerReading:
    return PowerReading(database, {"alps": service}, interval)


@pytest.mark.parametrize("count", [3, 2500])
@on_a_loop
async def test_a_reading_is_one_call_however_many_nodes_there_are(database: Database, count: int) -> None:
    names = fill(database, count)
    service = Service({name: ON if n % 2 else OFF for n, name in enumerate(names)})
    await reading(database, service).read("alps")
    assert service.calls == [count]
    assert powers(database) == service.power
    assert len({seen_at for _, seen_at in observed(database).values()}) == 1


@on_a_loop
async def test_of_two_workers_one_reads(database: Database) -> None:
    service = Service(dict.fromkeys(fill(database, 2), ON))
    await asyncio.gather(*(reading(database, service).read("alps") for _ in range(4)))
    assert service.calls == [2]


@on_a_loop
async def test_it_is_read_again_after_the_interval_and_after_an_outage(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    [name] = fill(database, 1)
    service = Service({name: OFF})
    stop = asyncio.Event()
    running = asyncio.create_task(reading(database, service, interval=0.05).run(stop))
    try:
        await until(lambda: powers(database) == {name: "off"})
        service.outage = TemporaryFailure("the site does not answer")
        with caplog.at_level(logging.WARNING):
            await until(lambda: "the power of site alps was not read" in caplog.text)
        last = observed(database)[name]
        attempts = len(service.calls)
        await until(lambda: len(service.calls) >= attempts + 2)
        assert observed(database)[name] == last
        service.outage, service.power = None, {name: ON}
        await until(lambda: powers(database) == {name: "on"})
        assert observed(database)[name][1] > last[1]
    finally:
        stop.set()
        async with asyncio.timeout(10):
            await running


@on_a_loop
async def test_later_observations_and_those_without_an_answer_stay(database: Database) -> None:
    newer, unseen, retired = fill(database, 3)
    service = Service({newer: ON, unseen: PermanentFailure("no such node"), retired: ON})
    with database.write() as connection:
        nodes.observe(connection, {newer: "off", unseen: "off"})
        connection.execute(
            sa.update(schema.node_observation)
            .where(schema.node_observation.c.xname == newer)
            .values(seen_at=schema.node_observation.c.seen_at + 60 * SECOND)
        )
        nodes.put(connection, retired, NodeState.RETIRED, None)
    observed_before = observed(database)
    await reading(database, service).read("alps")
    assert service.calls == [2]
    assert observed(database) == observed_before


@on_a_loop
async def test_a_service_that_does_not_answer_is_not_waited_for_without_end(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(database, 1)

    class UnansweringService(Service):
        async def states(self, _nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
            await asyncio.sleep(60)
            return {}

    monkeypatch.setattr("canton.operations.power.readings.TIMEOUT", 0.05)
    with pytest.raises(TemporaryFailure, match="no answer for 1 nodes within"):
        await reading(database, UnansweringService({})).read("alps")


@on_a_loop
async def test_a_clock_that_was_set_back_does_not_stop_the_readings(database: Database) -> None:
    [name] = fill(database, 1)
    service = Service({name: ON})
    await reading(database, service).read("alps")
    with database.write() as connection:
        connection.execute(sa.update(schema.site_reading).values(due_at=schema.site_reading.c.due_at + 3600 * SECOND))
    await reading(database, service).read("alps")
    assert len(service.calls) == 2
