"""The limits of a request, and the refusal of a request beyond them."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import structlog
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import StreamingResponse
from starlette.types import ASGIApp, Message, Scope

from asgi import Answer, open_request, request, scope_of
from canton import telemetry
from canton.api.middleware import limits
from canton.api.middleware.bodies import BodyLimit, BodyLimits
from canton.api.middleware.limits import Concurrency, ConcurrencySlot
from canton.api.rendering import problems
from canton.domain.errors import TooBusy, TooLarge
from canton.settings import loading
from canton.settings.model import Api

T = TypeVar("T")
API = replace(loading.load({}).api, body_limit=1000, import_limit=5000, header_limit=8, concurrency=2)


@pytest.fixture
def observed() -> list[tuple[str, int]]:
    """The path and status of every request that the observer was called for."""
    return []


routes = APIRouter()
released = threading.Event()


@routes.post("/v1/echo")
@routes.post("/v1/nodes/import")
async def echo(incoming: Request) -> dict[str, int]:
    incoming.state.principal = "cscs:alice"
    return {"bytes": len(await incoming.body())}


@routes.post("/v1/json")
async def parse(document: dict[str, str]) -> dict[str, int]:
    return {"fields": len(document)}


@routes.get("/v1/slow")
async def slow() -> None:
    await asyncio.sleep(30)


@routes.get("/v1/blocking")
def blocking() -> None:
    released.wait(30)


@routes.get("/v1/events")
async def events() -> StreamingResponse:
    async def ticks() -> AsyncIterator[bytes]:
        for _ in range(8):
            yield b": tick\n\n"
            await asyncio.sleep(0.1)

    return StreamingResponse(ticks(), media_type="text/event-stream")


@routes.get("/v1/half")
async def half() -> StreamingResponse:
    async def parts() -> AsyncIterator[bytes]:
        yield b"half"
        await asyncio.sleep(30)

    return StreamingResponse(parts(), media_type="text/plain")


@routes.get("/v1/defect")
async def defect() -> None:
    raise RuntimeError("password=hunter2")


@routes.get("/v1/cookies")
async def cookies(incoming: Request) -> dict[str, str]:
    return incoming.cookies


@routes.get("/healthz")
async def alive() -> None:
    await asyncio.sleep(0)


@pytest.fixture
def app(observed: list[tuple[str, int]]) -> ASGIApp:
    return guarded(API, observed)


@pytest.fixture
def hasty(observed: list[tuple[str, int]]) -> ASGIApp:
    """An app with a short timeout."""
    return guarded(replace(API, timeout=0.3), observed)


def guarded(configuration: Api, observed: list[tuple[str, int]]) -> ASGIApp:
    api = FastAPI()
    problems.install(api)
    api.include_router(routes)

    def observe(scope: Scope, status: int, seconds: float) -> None:
        assert seconds >= 0
        observed.append((scope["path"], status))

    return limits.guard(api, configuration, observe)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    telemetry.set_up("json", "info", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def run(scenario: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(scenario)


@pytest.mark.parametrize(
    ("request_id", "accepted"),
    [
        ("abc-1.2_X", True),
        ("a" * 64, True),
        ("a" * 65, False),
        ("a b", False),
        ("", False),
        ("ä", False),
        ("a\n", False),
    ],
)
def test_a_request_keeps_the_callers_id_if_it_is_valid(app: ASGIApp, request_id: str, accepted: bool) -> None:
    answer = run(request(app, "POST", "/v1/echo", [("X-Request-Id", request_id)]))
    assert (answer.headers["canton-request"] == request_id) is accepted
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", answer.headers["canton-request"])


def test_requests_without_an_id_get_one_each(app: ASGIApp) -> None:
    ids = {run(request(app, "POST", "/v1/echo")).headers["canton-request"] for _ in range(3)}
    assert len(ids) == 3


def test_every_request_is_logged_once_with_who_and_without_the_query(app: ASGIApp, log: io.StringIO) -> None:
    run(request(app, "POST", "/v1/echo?access_token=hunter2", [("X-Request-Id", "r1")], [b"abc"]))
    [line] = [json.loads(text) for text in log.getvalue().splitlines()]
    facts = ("event", "request", "method", "path", "status", "principal", "client")
    assert tuple(line[fact] for fact in facts) == (
        "request",
        "r1",
        "POST",
        "/v1/echo",
        200,
        "cscs:alice",
        "192.0.2.7",
    )
    assert line["ms"] >= 0
    assert "hunter2" not in log.getvalue()


def test_a_defect_is_a_problem_and_its_trace_is_logged_under_the_id(app: ASGIApp, log: io.StringIO) -> None:
    answer = run(request(app, "GET", "/v1/defect", [("X-Request-Id", "r1")]))
    assert (answer.status, answer.headers["canton-request"]) == (500, "r1")
    assert "hunter2" not in answer.body.decode() + log.getvalue()
    traced = [
        line for line in map(json.loads, log.getvalue().splitlines()) if "RuntimeError" in line.get("exception", "")
    ]
    assert [line["request"] for line in traced] == ["r1"]


def test_a_defect_around_the_app_is_a_problem_too() -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError

    answer = run(request(limits.guard(broken, API, lambda *_: None), "GET", "/v1/x"))
    assert (answer.status, answer.headers["content-type"]) == (500, "application/problem+json")


@pytest.mark.parametrize("path", ["/v1/echo", "/v1/json"])
@pytest.mark.parametrize(
    ("headers", "chunks"),
    [
        ([("Content-Length", "1001")], [b"{" + b" " * 1000]),
        ([("Content-Length", "99999999999999999999999999")], [b""]),
        ([("Transfer-Encoding", "chunked")], [b" " * 400] * 4),
        ([("Content-Length", "10")], [b" " * 1001]),
    ],
    ids=["stated", "absurd", "chunked", "lying"],
)
def test_a_body_that_is_too_large_is_refused(
    app: ASGIApp, observed: list[tuple[str, int]], path: str, headers: list[tuple[str, str]], chunks: list[bytes]
) -> None:
    answer = run(request(app, "POST", path, [*headers, ("Content-Type", "application/json")], chunks))
    assert (answer.status, answer.json["code"]) == (413, "too-large")
    assert answer.json["request"] == answer.headers["canton-request"]
    # What was read to its end leaves the connection to the next request.
    lying = headers == [("Content-Length", "10")]
    assert answer.headers.get("connection") == (None if lying else "close")
    assert "1000 bytes" in answer.json["detail"]
    assert observed == [(path, 413)]


def test_a_body_up_to_the_limit_is_taken_and_an_import_may_be_larger(app: ASGIApp) -> None:
    assert run(request(app, "POST", "/v1/echo", chunks=[b" " * 500] * 2)).json == {"bytes": 1000}
    assert run(request(app, "POST", "/v1/nodes/import", chunks=[b" " * 2500] * 2)).json == {"bytes": 5000}
    assert run(request(app, "POST", "/v1/nodes/import", chunks=[b" " * 2501] * 2)).status == 413


def test_a_too_large_of_the_apps_own_is_the_apps_answer() -> None:
    async def raising(*_: object) -> None:
        raise TooLarge("for another reason")

    with pytest.raises(TooLarge, match="for another reason"):
        run(request(BodyLimit(raising, BodyLimits(10)), "POST", "/"))


async def _stalled(app: ASGIApp, count: int) -> list[asyncio.Task[None]]:
    """``count`` requests whose body began and does not go on."""

    async def one() -> None:
        pieces = [{"type": "http.request", "body": b"{", "more_body": True}]

        async def receive() -> Message:
            if pieces:
                return pieces.pop()
            await asyncio.sleep(30)
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            answers.append(message)

        answers: list[Message] = []
        await app(scope_of("POST", "/v1/echo", ()), receive, send)

    tasks = [asyncio.create_task(one()) for _ in range(count)]
    await asyncio.sleep(0.05)
    return tasks


def test_senders_that_stall_take_no_slot(app: ASGIApp) -> None:
    async def scenario() -> int:
        stalled = await _stalled(app, 2 * API.concurrency)
        answer = await request(app, "POST", "/v1/echo", chunks=[b"{}"])
        for task in stalled:
            task.cancel()
        await asyncio.gather(*stalled, return_exceptions=True)
        return answer.status

    assert run(scenario()) == 200


def test_a_body_that_does_not_come_is_given_up() -> None:
    limit = BodyLimit(FastAPI(), BodyLimits(1000, seconds=0.1))

    async def scenario() -> None:
        (task,) = await _stalled(limit, 1)
        await asyncio.wait_for(task, 5)

    run(scenario())
    assert limit.under_way == 0


def test_all_bodies_together_have_a_limit() -> None:
    limit = BodyLimit(FastAPI(), BodyLimits(1000, first_parts=0))
    answer = run(request(limit, "POST", "/v1/echo", chunks=[b" " * 6, b" " * 6]))
    assert (answer.status, answer.json["code"]) == (503, "too-busy")
    assert limit.under_way == 0


def test_too_many_headers_are_refused(app: ASGIApp) -> None:
    assert run(request(app, "POST", "/v1/echo", [(f"x-{n}", "1") for n in range(8)])).status == 200
    answer = run(request(app, "POST", "/v1/echo", [(f"x-{n}", "1") for n in range(9)]))
    assert (answer.status, answer.json["code"]) == (431, "headers-too-large")


def test_a_cookie_with_a_backslash_is_not_read(app: ASGIApp) -> None:
    """Python before 3.11.10 and 3.12.6 needs time that grows with the square of its length."""
    headers = [("Cookie", r'a=1; quoted="\a\a\a\101"; b=2'), ("Cookie", "c=\\")]
    answer = run(request(app, "GET", "/v1/cookies", headers))
    assert (answer.status, answer.json) == (200, {"a": "1", "b": "2"})


@pytest.mark.parametrize("path", ["/v1/slow", "/healthz"])
def test_too_many_parameters_are_refused_unread(app: ASGIApp, path: str) -> None:
    answer = run(request(app, "GET", f"{path}?{'a&' * limits.MOST_PARAMETERS}"))
    assert (answer.status, answer.json["code"]) == (400, "invalid-request")
    assert answer.headers["canton-request"]


def test_as_many_parameters_as_may_be_are_taken(app: ASGIApp) -> None:
    assert run(request(app, "GET", f"/healthz?{'a&' * (limits.MOST_PARAMETERS - 1)}")).status == 200


@pytest.mark.parametrize("path", ["/v1/slow", "/v1/blocking"])
def test_a_request_that_takes_too_long_is_given_up(hasty: ASGIApp, path: str) -> None:
    async def timed() -> float:
        began = time.monotonic()
        try:
            answer = await request(hasty, "GET", path)
        finally:
            released.set()
        assert (answer.status, answer.json["code"]) == (503, "timed-out")
        assert answer.headers["retry-after"] == "1"
        return time.monotonic() - began

    released.clear()
    assert run(timed()) < 20


def test_a_slow_upload_is_given_up_too(hasty: ASGIApp) -> None:
    async def scenario() -> None:
        never = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await never.wait()
            raise AssertionError

        messages: list[Any] = []

        async def send(message: Any) -> None:
            messages.append(message)

        async with open_request(hasty, "GET", "/healthz") as call:
            scope = {**call.scope, "method": "POST", "path": "/v1/echo", "state": {}}
        await hasty(scope, receive, send)
        assert messages[0]["status"] == 503

    run(scenario())


def test_half_an_answer_is_not_made_to_look_whole(hasty: ASGIApp) -> None:
    async def scenario() -> None:
        async with open_request(hasty, "GET", "/v1/half") as call:
            with pytest.raises(TimeoutError):
                await call.task
        assert call.answer.body == b"half"
        assert not call.answer.ended

    run(scenario())


def test_a_stream_of_events_has_no_time_limit(hasty: ASGIApp) -> None:
    answer = run(request(hasty, "GET", "/v1/events"))
    assert answer.body == b": tick\n\n" * 8
    assert answer.ended


def test_requests_beyond_the_places_get_retry_after(app: ASGIApp) -> None:
    async def scenario() -> None:
        async with open_request(app, "GET", "/v1/slow"), open_request(app, "GET", "/v1/slow"):
            await asyncio.sleep(0.05)
            refusal = await request(app, "POST", "/v1/echo")
            assert (refusal.status, refusal.json["code"]) == (503, "too-busy")
            assert refusal.headers["retry-after"] == "1"
            assert (await request(app, "GET", "/healthz")).status == 200

    run(scenario())


def test_one_address_has_half_of_the_places_while_its_callers_are_not_known(app: ASGIApp) -> None:
    async def scenario() -> list[int]:
        async with open_request(app, "GET", "/v1/slow"):
            await asyncio.sleep(0.05)
            other_scope = {**scope_of("POST", "/v1/echo"), "client": ("192.0.2.8", 1)}
            return [(await _answer(app, scope)).status for scope in (scope_of("POST", "/v1/echo"), other_scope)]

    assert run(scenario()) == [503, 200]


async def _answer(app: ASGIApp, scope: Scope) -> Answer:
    answer = Answer()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"{}"}

    async def send(message: Message) -> None:
        answer.take(message)

    await app(scope, receive, send)
    return answer


def test_one_caller_has_a_quarter_of_the_slots_and_the_provider_has_no_share() -> None:
    concurrency = Concurrency(FastAPI(), 8)
    slots = [ConcurrencySlot(concurrency, f"address {n}") for n in range(6)]
    for slot in slots[:2]:
        slot.assign_to_caller("psi/*", at_provider=False)
    with pytest.raises(TooBusy, match="2 requests of psi"):
        slots[2].assign_to_caller("psi/*", at_provider=False)
    slots[2].assign_to_caller("cscs/*", at_provider=False)
    with pytest.raises(TooBusy, match="3 requests of callers without a role at the provider"):
        slots[3].assign_to_caller("eth/*", at_provider=False)
    for slot in slots[3:]:
        slot.assign_to_caller("test:root", at_provider=True)
    assert (concurrency.under_way, concurrency.shares) == (
        6,
        {"psi/*": 2, "cscs/*": 1, limits.TENANTS: 3, "test:root": 3},
    )
    with slots[0].released():
        assert (concurrency.under_way, concurrency.shares["psi/*"]) == (5, 1)
    for slot in slots:
        slot.release()
        slot.release()
    assert (concurrency.under_way, concurrency.shares) == (0, {})


def test_a_request_that_was_given_up_gives_its_place_back(hasty: ASGIApp) -> None:
    async def scenario() -> None:
        async with open_request(hasty, "GET", "/v1/slow") as one, open_request(hasty, "GET", "/v1/slow") as second:
            await asyncio.gather(one.task, second.task)
            assert (one.answer.status, second.answer.status) == (503, 503)
            assert (await request(hasty, "POST", "/v1/echo")).status == 200

    run(scenario())


def test_readers_of_events_take_no_slot(app: ASGIApp) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            for _ in range(3):
                call = await stack.enter_async_context(open_request(app, "GET", "/v1/events"))
                await call.until(b"tick")
            assert (await request(app, "POST", "/v1/echo")).status == 200

    run(scenario())


def test_answers_that_are_not_read_take_no_slot(app: ASGIApp) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            for _ in range(3):
                call = await stack.enter_async_context(open_request(app, "GET", "/v1/half"))
                await call.until(b"half")
            assert (await request(app, "POST", "/v1/echo")).status == 200

    run(scenario())


def test_a_client_that_leaves_gives_its_place_back(app: ASGIApp) -> None:
    async def scenario() -> None:
        for _ in range(5):
            async with open_request(app, "GET", "/v1/slow") as call:
                await asyncio.sleep(0.01)
                call.task.cancel()
        assert (await request(app, "POST", "/v1/echo")).status == 200

    run(scenario())


def test_a_path_is_logged_so_that_a_terminal_does_not_act_on_it(app: ASGIApp, log: io.StringIO) -> None:
    run(request(app, "GET", "/v1/\x1b[2J\u009b31m"))
    [line] = [json.loads(line) for line in log.getvalue().splitlines()]
    assert line["path"] == "/v1/%1B%5B2J%C2%9B31m"


def test_a_path_is_logged_no_longer_than_it_may_be(app: ASGIApp, log: io.StringIO) -> None:
    """A character may be four bytes, and each of them is written with three characters."""
    run(request(app, "GET", "/v1/" + "\U0001f600" * 1000))
    [line] = [json.loads(line) for line in log.getvalue().splitlines()]
    assert line["path"].startswith("/v1/%F0%9F%98%80")
    assert len(line["path"]) == limits.LONGEST_PATH
