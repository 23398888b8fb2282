"""Slots for changes: a client that does not read its answer, or one that sends many, leaves slots to others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import AsyncExitStack

import pytest
import sqlalchemy as sa
from starlette.requests import Request

from api.conftest import Api
from asgi import open_request, request, scope_of
from canton.api.app import create_app
from canton.api.auth.caller import authenticate
from canton.api.middleware import limits
from canton.api.middleware.write_capacity import QUEUE, SLOTS, SLOTS_PER_CALLER, WriteCapacity
from canton.api.services import Services
from canton.domain.errors import TooBusy
from canton.store.schema import site
from tokens import Mint


def test_an_answer_that_is_not_read_holds_no_slot(services: Services, tokens: Mint) -> None:
    app = limits.guard(create_app(services), services.settings.api, lambda *_: None)
    token = tokens.token("root", ["canton-provider-admin"])
    headers = [("Authorization", f"Bearer {token}"), ("Content-Type", "application/json")]

    def body(name: str) -> list[bytes]:
        return [f'{{"name":"{name}"}}'.encode()]

    async def scenario() -> int:
        # The first request has the server read the issuer's keys.
        await request(app, "GET", "/v1/whoami", headers)
        async with AsyncExitStack() as stack:
            for n in range(SLOTS):
                unread = open_request(app, "POST", "/v1/sites", headers, body(f"unread{n}"))
                call = await stack.enter_async_context(unread)
                call.stuck.set()
                stack.callback(call.task.cancel)
            async with asyncio.timeout(60):
                while _stored(services) < SLOTS:  # noqa: ASYNC110 (a row is stored without a sign)
                    await asyncio.sleep(0.05)
            return (await request(app, "POST", "/v1/sites", headers, body("read"))).status

    assert asyncio.run(scenario()) == 201


def _stored(services: Services) -> int:
    with services.database.read() as connection:
        return int(connection.execute(sa.select(sa.func.count()).select_from(site)).scalar_one())


def test_one_principal_leaves_places_in_the_queue_to_others() -> None:
    async def scenario() -> None:
        writers, over = WriteCapacity(), asyncio.Event()

        async def change(principal: str) -> None:
            async with writers.slot(principal):
                await over.wait()

        tasks = [asyncio.create_task(change("test:eve")) for _ in range(SLOTS_PER_CALLER)]
        await asyncio.sleep(0)
        with pytest.raises(TooBusy, match="test:eve"):
            await _bounded(change("test:eve"))
        assert SLOTS_PER_CALLER < SLOTS + QUEUE
        tasks.append(asyncio.create_task(change("test:ann")))
        await asyncio.sleep(0)
        over.set()
        await _bounded(asyncio.gather(*tasks))
        assert not writers.under_way

    asyncio.run(scenario())


def test_tenants_leave_places_in_the_queue_to_the_provider() -> None:
    async def scenario() -> None:
        writers, over = WriteCapacity(), asyncio.Event()

        async def change(principal: str, *, at_provider: bool = False) -> None:
            async with writers.slot(principal, at_provider=at_provider):
                await over.wait()

        tasks = [asyncio.create_task(change(f"test:{n}")) for n in range(SLOTS + QUEUE * 3 // 4)]
        await asyncio.sleep(0)
        with pytest.raises(TooBusy, match="24 changes wait already"):
            await _bounded(change("test:eve"))
        tasks.append(asyncio.create_task(change("test:root", at_provider=True)))
        await asyncio.sleep(0)
        over.set()
        await _bounded(asyncio.gather(*tasks))

    asyncio.run(scenario())


async def _bounded(work: Awaitable[object]) -> None:
    async with asyncio.timeout(10):
        await work


def test_the_service_accounts_of_a_tenant_are_counted_together(admin: Api) -> None:
    admin.post("/v1/tenants", {"name": "psi"})
    shares = {_share(admin, name) for name in ("ci", "cd")}
    assert shares == {"service:psi/*"}


def _share(admin: Api, name: str) -> str:
    account = admin.post("/v1/service-accounts", {"name": name, "tenant": "psi", "permissions": ["node.read"]}).json
    token = admin.post(f"/v1/service-accounts/{account['id']}/tokens", {}).json["token"]
    scope = scope_of("GET", "/v1/whoami", [("Authorization", f"Bearer {token}")])
    app = create_app(admin.services)
    return authenticate(Request({**scope, "app": app})).accounting_key
