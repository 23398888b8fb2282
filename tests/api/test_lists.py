"""Places for lists: a caller who searches long tables leaves threads to others."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from api.conftest import Api
from canton.api.middleware.read_capacity import MAX_LISTS_PER_CALLER, SLOTS, SLOTS_PER_CALLER, ReadCapacity
from canton.domain.errors import TooBusy
from canton.store import audit


def test_searches_of_one_caller_leave_threads_for_others(admin: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that nothing fits goes through all records of a tenant."""
    admin.post("/v1/tenants", {"name": "psi"})
    under_way: list[str] = []
    most: list[int] = []
    all_under_way, over = threading.Event(), threading.Event()
    page = audit.page

    def slow(*arguments: Any) -> Any:
        under_way.append("")
        most.append(len(under_way))
        if len(under_way) == SLOTS_PER_CALLER:
            all_under_way.set()
        over.wait(60)
        under_way.pop()
        return page(*arguments)

    monkeypatch.setattr(audit, "page", slow)
    ann = admin.as_("ann", "canton-tenant-admin:psi")
    with ThreadPoolExecutor(MAX_LISTS_PER_CALLER) as pool:
        searches = [pool.submit(ann.get, "/v1/audit?actor=unknown") for _ in range(MAX_LISTS_PER_CALLER)]
        assert all_under_way.wait(60)
        # The other searches are with the server by now, or come meanwhile: either way they take no thread.
        answers = [admin.as_("bob", "canton-tenant-admin:psi").get("/v1/tenants").status for _ in range(8)]
        over.set()
        statuses = [search.result().status for search in searches]
    assert answers == [200] * 8
    assert statuses == [200] * MAX_LISTS_PER_CALLER
    assert max(most) == SLOTS_PER_CALLER


def test_tenants_leave_threads_to_the_provider() -> None:
    async def scenario() -> None:
        lists, over = ReadCapacity(), asyncio.Event()
        reading: list[str] = []

        async def read(caller: str, *, at_provider: bool = False) -> None:
            async with lists.slot(caller, at_provider=at_provider):
                reading.append(caller)
                await over.wait()

        tasks = [asyncio.create_task(read(f"test:{n}")) for n in range(SLOTS + 1)]
        tasks += [asyncio.create_task(read("test:root", at_provider=True)) for _ in range(SLOTS + 1)]
        await asyncio.sleep(0)
        assert len(reading) == 2 * SLOTS + 1
        assert reading.count("test:root") == SLOTS + 1
        over.set()
        async with asyncio.timeout(10):
            await asyncio.gather(*tasks)
        assert not lists.under_way

    asyncio.run(scenario())


def test_lists_of_one_caller_that_wait_are_bounded() -> None:
    async def scenario() -> None:
        lists, over = ReadCapacity(), asyncio.Event()

        async def read(caller: str) -> None:
            async with lists.slot(caller, at_provider=False):
                await over.wait()

        tasks = [asyncio.create_task(read("test:eve")) for _ in range(MAX_LISTS_PER_CALLER)]
        await asyncio.sleep(0)
        with pytest.raises(TooBusy, match="test:eve reads 16 lists at once"):
            await read("test:eve")
        over.set()
        async with asyncio.timeout(10):
            await asyncio.gather(read("test:ann"), *tasks)

    asyncio.run(scenario())
