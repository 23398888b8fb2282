"""Limits concurrent lists, so that searches through long tables leave threads and connections to other requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from canton.domain.errors import TooBusy

# Of the 16 threads and database connections of a server; changes take 8 of them.
PLACES = 6
EACH = 3
# The most of one caller, including those that wait: a waiting list counts as a request under way.
MOST = 16


class ReadCapacity:
    """At most ``PLACES`` lists are read at a time for callers without a role at the provider, ``EACH`` for one of them.

    A filter that nothing fits goes through all records of a tenant, which takes seconds where there are millions. A
    request that waits here has no thread, and waits no longer than ``api.timeout``.
    """

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PLACES)
        self._of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.under_way: Counter[str] = Counter()
        """Lists that are read or wait, by the caller that they count for."""

    @asynccontextmanager
    async def place(self, caller: str, *, at_provider: bool) -> AsyncIterator[None]:
        """Wait for a place; raises ``TooBusy`` if the caller has too many waiting already."""
        if at_provider:
            yield
            return
        if self.under_way[caller] >= MOST:
            raise TooBusy(f"{caller} reads {MOST} lists at once, which is the limit; read one after the other")
        own = self._of.setdefault(caller, asyncio.Semaphore(EACH))
        self.under_way[caller] += 1
        try:
            async with own, self._places:
                yield
        finally:
            self.under_way[caller] -= 1
            if not self.under_way[caller]:
                del self.under_way[caller]
