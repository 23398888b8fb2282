"""A thousand readers of events on one server: what they cost it, and whether each gets everything once, in order.

The readers live in this process and share the machine with the server, so latencies are those of a machine that is
busy with both. Then some readers that take nothing: what waits for them is bounded, they are cut off in the end, and
a reader that keeps up does not notice.
"""

from __future__ import annotations

import asyncio
import re
import resource
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bench.database_kinds import DatabaseKind
from bench.readers import BATCH, Reader, Readers, until
from bench.report import Row, median, number, quantile
from bench.serving import Installation, Line, new_installation
from canton.domain.json_types import JsonObject
from canton.store import outbox

READERS = 1_000
BATCHES = 50  # in each half
PAUSE = 0.3
# Ours, not the issue's: a connection, its tasks and its request; 2,000 readers, the default limit, then take 120 MB.
BUDGET_EACH = 60.0
# What may come between the halves is the tail of recent events, which is shared and ends at 4,096.
BUDGET_GROWTH = 4.0
STUCK = 50
MANY = 20_000
# A reader that is behind has at most 100 events and one full buffer in memory; and the tail, once, for all.
BUDGET_STUCK = 32.0
STREAM = "psi"


def run(kinds: Sequence[DatabaseKind]) -> Iterator[Row]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard == resource.RLIM_INFINITY else min(hard, 65_536), hard))
    for kind in kinds:
        with new_installation(kind) as installation:
            yield from asyncio.run(_many(kind.name, installation))
    with new_installation(kinds[0]) as installation:
        yield from asyncio.run(_stuck(kinds[0].name, installation))


async def _many(name: str, installation: Installation) -> list[Row]:
    readers = Readers(installation)
    await _settle(readers, 1)  # what the server does once is not the thousand's
    readers.leave()
    await asyncio.sleep(0.5)
    before_kb = installation.server.memory()
    joined = await readers.join(READERS)
    await asyncio.sleep(2.0)
    idle = installation.server.memory()
    sent_at: dict[int, float] = {}
    cpu = installation.server.cpu()
    await _publish(installation, sent_at, joined)
    half = installation.server.memory()
    await _publish(installation, sent_at, joined)
    end, cpu = installation.server.memory(), installation.server.cpu() - cpu
    readers.leave()
    late = [came - sent_at[n] for reader in joined for n, came in reader.came.items()]
    count = len(sent_at)
    wrong = sum(wrong_ones(reader.numbers, count) for reader in joined)
    per_reader, growth = (idle - before_kb) / READERS, (end - half) / 1024
    megabytes = (
        f"{number(before_kb / 1024)} MB alone, {number(idle / 1024)} idle, {number(half / 1024)}, {number(end / 1024)}"
    )
    cost = cpu * 1e6 / (READERS * count)
    return [
        Row(
            f"{name}: {READERS:,} idle readers, memory of each",
            per_reader,
            "kB",
            BUDGET_EACH,
            f"of the server: {megabytes}",
        ),
        Row(f"{name}: {count:,} events to each, growth in the second half", growth, "MB", BUDGET_GROWTH),
        Row(f"{name}: events lost, doubled or out of order", wrong, "", 0, f"of {READERS * count:,}"),
        Row(f"{name}: from commit to a reader, median", median(late) * 1000, "ms", note=f"{BATCH} each {PAUSE:g} s"),
        Row(f"{name}: from commit to a reader, 99 % within", quantile(late, 0.99) * 1000, "ms"),
        Row(f"{name}: an event to a reader, CPU of the server", cost, "us"),
    ]


async def _settle(readers: Readers, count: int) -> None:
    joined = await readers.join(count)
    await asyncio.to_thread(_append, readers.installation, range(1))
    await until(lambda: all(reader.numbers for reader in joined), 10)


async def _publish(installation: Installation, sent_at: dict[int, float], joined: Sequence[Reader]) -> None:
    for _ in range(BATCHES):
        numbers = range(len(sent_at), len(sent_at) + BATCH)
        sent_at.update(dict.fromkeys(numbers, time.monotonic()))
        await asyncio.to_thread(_append, installation, numbers)
        await asyncio.sleep(PAUSE)
    await until(lambda: all(reader.numbers[-1:] == [len(sent_at) - 1] for reader in joined), 60)


def _append(installation: Installation, numbers: Sequence[int]) -> None:
    bodies: list[JsonObject] = [{"state": "running", "worker": "host-1:4711", "n": n} for n in numbers]
    with installation.database.write() as connection:
        outbox.append(
            connection, STREAM, [outbox.Event("operation.moved", f"op_{n:028x}", body) for n, body in enumerate(bodies)]
        )


def wrong_ones(numbers: Sequence[int], count: int) -> int:
    """Events that are missing or there twice; and any that came before one it follows."""
    twice = len(numbers) - len(set(numbers))
    swapped = sum(later < earlier for earlier, later in pairwise(numbers))
    return twice + swapped + len(set(range(count)) - set(numbers))


async def _stuck(name: str, installation: Installation) -> list[Row]:
    readers = Readers(installation)
    [brisk] = await readers.join(1)
    await readers.join(STUCK, reads=False)
    await asyncio.sleep(1.0)
    before_kb, most = installation.server.memory(), 0.0
    began = time.monotonic()
    for start in range(0, MANY, 500):
        await asyncio.to_thread(_append, installation, range(start, start + 500))
        most = max(most, installation.server.memory())
        await asyncio.sleep(0.05)
    await until(lambda: brisk.numbers[-1:] == [MANY - 1], 60)
    most = max(most, installation.server.memory())
    wrong = wrong_ones(brisk.numbers, MANY)
    with installation.line() as line:
        await until(lambda: _followers(line) == 1, 90)
    seconds_to_cut = time.monotonic() - began
    after_kb = installation.server.memory()
    readers.leave()
    note = f"{number(before_kb / 1024)} MB before, {number(after_kb / 1024)} after they were cut off; {MANY:,} events"
    what = f"{name}: {STUCK} readers that take nothing"
    return [
        Row(f"{what}, growth of the server", (most - before_kb) / 1024, "MB", BUDGET_STUCK, note),
        Row(f"{what}, all cut off after", seconds_to_cut, "s", note="of the first event; 30 s without taking anything"),
        Row(f"{name}: a brisk reader beside them, events lost or doubled", wrong, "", 0, f"of {MANY:,}"),
    ]


def _followers(line: Line) -> float:
    match = re.search(rb"^canton_event_readers (\S+)$", line.get("/metrics"), re.MULTILINE)
    return float(match[1]) if match else -1.0
