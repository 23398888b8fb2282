"""Limits concurrent lists, so that searches through long tables leave threads and connections to other requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from canton.domain.errors import TooBusy

# Of the 16 threads and database connections of a server; changes take 8 of them.
SLOTS = 6
SLOTS_PER_CALLER = 3
# Lists of one caller, including those that wait, since a waiting list counts as a request under way.
MAX_LISTS_PER_CALLER = 16


class ReadCapacity:
    """Of callers without a role at the provider, ``SLOTS`` lists run at a time, ``SLOTS_PER_CALLER`` of one caller.

    A filter without a match reads all records of a tenant, which takes seconds where there are millions. A
    request that waits here has no thread, and waits no longer than ``api.timeout``.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(SLOTS)
        self._slots_by_caller: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.under_way: Counter[str] = Counter()
        """Lists that are read or wait, by caller."""

    @asynccontextmanager
    async def slot(self, caller: str, *, at_provider: bool) -> AsyncIterator[None]:
        """Wait for a slot; raises ``TooBusy`` if the caller has too many waiting already."""
        if at_provider:
            yield
            return
        if self.under_way[caller] >= MAX_LISTS_PER_CALLER:
            raise TooBusy(
                f"{caller} reads {MAX_LISTS_PER_CALLER} lists at once, which is the limit; read one after the other"
            )
        caller_slots = self._slots_by_caller.setdefault(caller, asyncio.Semaphore(SLOTS_PER_CALLER))
        self.under_way[caller] += 1
        try:
            async with caller_slots, self._slots:
                yield
        finally:
            self.under_way[caller] -= 1
            if not self.under_way[caller]:
                del self.under_way[caller]
