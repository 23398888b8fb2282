"""Requests that are answered after their head, and the fate of their bodies."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import asynccontextmanager

import pytest

from csm_emulator.transport import asgi
from csm_emulator.transport.admission import Admit, AdmittedRequest, admit_all
from csm_emulator.transport.asgi import App
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.listeners import Listener, Servers, bind

PATIENCE = 30.0
BODY_LIMIT = 1000
REFUSED = Reply(403, b"<no>")
PLAIN = "GET /open HTTP/1.1\r\nhost: here\r\n\r\n"


async def _told(call: Call) -> Reply:
    return Reply(200, f"<{len(call.body)} {call.headers.get('a', '')}>".encode())


def _admit(call: Call) -> AdmittedRequest | Reply:
    return AdmittedRequest(_told, BODY_LIMIT) if call.path == "/open" else REFUSED


@asynccontextmanager
async def serving(admit: Admit = _admit) -> AsyncIterator[int]:
    listener = Listener(bind("127.0.0.1", 0), App(admit))
    servers = Servers([listener])
    await servers.start()
    try:
        async with asyncio.timeout(PATIENCE):
            yield listener.bound.getsockname()[1]
    finally:
        await servers.stop()
        listener.bound.close()


def post(path: str, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: here", *more, "", ""]
    return "\r\n".join(lines).encode()


def run(story: Awaitable[None]) -> None:
    async def whole() -> None:
        await story

    asyncio.run(whole())


async def _answer(reader: asyncio.StreamReader) -> bytes:
    return await reader.readuntil(b">")


@pytest.mark.parametrize(("path", "status"), [("/closed", b"403"), ("/open", b"413")])
def test_a_refusal_comes_before_the_body_and_the_connection_stays(path: str, status: bytes) -> None:
    body = bytes(3 << 20)

    async def story() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post(path, f"content-length: {len(body)}"))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 %s " % status)
            writer.write(body + PLAIN.encode())
            assert b"HTTP/1.1 200 " in await reader.readuntil(b"<0 >")
            writer.close()

    run(story())


def test_a_refusal_comes_before_the_connection_is_closed() -> None:
    async def story() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post("/closed", "connection: close", "content-length: 6"))
            assert (await _answer(reader)).endswith(b"<no>")
            writer.write(b"abc")
            await writer.drain()
            writer.write(b"def")
            assert await reader.read() == b"", "an end, and no reset"
            writer.close()

    run(story())


@pytest.mark.parametrize(("path", "status"), [("/closed", b"403"), ("/open", b"413")])
def test_expect_continue_is_answered_with_the_refusal(path: str, status: bytes) -> None:
    async def story() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post(path, "expect: 100-continue", "content-length: 2000"))
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 %s " % status)
            assert b"\r\nconnection: close\r\n" in answer
            writer.close()

    run(story())


@pytest.mark.parametrize("size", [BODY_LIMIT, BODY_LIMIT + 1])
def test_a_body_of_unsaid_length_is_counted(size: int) -> None:
    async def story() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (size, bytes(size))
            writer.write(post("/open", "transfer-encoding: chunked") + chunk + PLAIN.encode())
            first = await _answer(reader)
            assert (b" 413 " in first) == (size > BODY_LIMIT)
            assert first.endswith(b"<0 >" if size > BODY_LIMIT else b"<1000 >")
            writer.close()

    run(story())


def test_who_sends_on_for_too_long_is_cut(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(asgi, "_DRAIN_SECONDS", 0.05)

    async def story() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post("/closed", "content-length: 1000000") + b"half")
            assert (await _answer(reader)).endswith(b"<no>")
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()

    run(story())
    assert not caplog.records


HEADS = {
    "a hundred lines": (["a: b"] * 98, 200),
    "one more": (["a: b"] * 99, 431),
    "very many": (["a: b"] * 100_000, 431),
    "60 KiB": (["a: " + "b" * 61_000], 200),
    "a bit more": (["a: " + "b" * 61_500], 431),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_bounded_as_envoy_bounds_it(name: str) -> None:
    """The headers besides host and connection."""
    lines, status = HEADS[name]

    async def story() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post("/open", "connection: close", *lines).replace(b"POST", b"GET"))
            with contextlib.suppress(ConnectionResetError):
                # A reset of the connection may discard the reply.
                assert (await reader.read()).startswith(b"HTTP/1.1 %d " % status)
            writer.close()

    run(story())


def test_lines_of_one_name_are_a_list() -> None:
    async def story() -> None:
        async with serving() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(post("/open", "a: 1", "b: 2", "A: 3", "content-length: 0"))
            assert (await _answer(reader)).endswith(b"<0 1, 3>")
            writer.close()

    run(story())


def test_pipelined_requests_without_a_reader_leave_no_task(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def without_end() -> AsyncGenerator[bytes, None]:
        while True:
            yield bytes(1 << 20)

    async def answer(_: Call) -> Reply:
        return Reply(stream=without_end)

    async def story() -> None:
        listener = Listener(bind("127.0.0.1", 0), App(admit_all(0, answer)))
        servers = Servers([listener])
        await servers.start()
        _, writer = await asyncio.open_connection("127.0.0.1", listener.bound.getsockname()[1])
        writer.write(PLAIN.encode() * 3)
        await asyncio.sleep(0.3)
        async with asyncio.timeout(PATIENCE):
            await servers.stop()
        await asyncio.sleep(0.1)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert not tasks, "no task waits for the rest of the body"
        writer.close()
        listener.bound.close()

    run(story())
    gc.collect()
    assert "Traceback" not in caplog.text
