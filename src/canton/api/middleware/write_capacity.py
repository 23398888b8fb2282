"""Limits concurrent changes, so that changes that wait for the database leave threads and connections to reads."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from canton.domain.errors import TooBusy

# Half of the threads and of the database connections of a server.
SLOTS = 8
# Well below api.concurrency: a change that waits here counts there.
QUEUE = 32
# Of slots and queue together: half is left to other callers.
SLOTS_PER_CALLER = 20
QUEUE_TIMEOUT = 3.0


class WriteCapacity:
    """At most ``SLOTS`` changes use a thread at a time; ``QUEUE`` more wait for ``QUEUE_TIMEOUT`` seconds without one.

    One principal, and all service accounts of one tenant together, have at most ``SLOTS_PER_CALLER`` under way or
    waiting. A quarter of the queue is kept for those with a role at the provider.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(SLOTS)
        self._waiting = 0
        self.under_way: Counter[str] = Counter()
        """Changes that are executed or wait, by caller."""

    @asynccontextmanager
    async def slot(self, principal: str, *, at_provider: bool = False) -> AsyncIterator[None]:
        """Wait for a slot; raises ``TooBusy`` if none becomes free in time."""
        if self.under_way[principal] >= SLOTS_PER_CALLER:
            raise TooBusy(
                f"{principal} makes {SLOTS_PER_CALLER} changes at once, which is the limit; wait for some of them"
            )
        self.under_way[principal] += 1
        try:
            await self._acquire(QUEUE if at_provider else QUEUE * 3 // 4)
            try:
                yield
            finally:
                self._slots.release()
        finally:
            self.under_way[principal] -= 1
            if not self.under_way[principal]:
                del self.under_way[principal]

    async def _acquire(self, queue: int) -> None:
        if self._waiting >= queue:
            raise TooBusy(f"{self._waiting} changes wait already, which is this server's limit; try again shortly")
        self._waiting += 1
        try:
            async with asyncio.timeout(QUEUE_TIMEOUT):
                await self._slots.acquire()
        except TimeoutError:
            raise TooBusy(f"the changes under way did not end within {QUEUE_TIMEOUT:g} s; try again shortly") from None
        finally:
            self._waiting -= 1
