"""Bodies that come piece by piece, and connections that are upgraded."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedOK, InvalidStatus

from csm_emulator.transport.admission import admit_all
from csm_emulator.transport.asgi import App
from csm_emulator.transport.call import Call, ConnectionAborted, Reply
from csm_emulator.transport.change_signal import ChangeSignal
from csm_emulator.transport.listeners import Listener, Servers, bind
from csm_emulator.transport.tunnel import Tunnel
from csm_emulator.transport.websocket import WebSocket, accept

Answer = Callable[[Call], Awaitable[Reply]]
LIMIT = 30.0


@asynccontextmanager
async def serving(answer: Callable[[Call], Reply]) -> AsyncIterator[int]:
    """The port of a listener with this answer."""

    async def answered(call: Call) -> Reply:
        return answer(call)

    listener = Listener(bind("127.0.0.1", 0), App(admit_all(1 << 20, answered)))
    servers = Servers([listener])
    await servers.start()
    try:
        async with asyncio.timeout(LIMIT):
            yield listener.bound.getsockname()[1]
    finally:
        await servers.stop()
        listener.bound.close()


async def _ask(port: int, head: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode())
    return reader, writer


def run(story: Awaitable[None]) -> None:
    async def whole() -> None:
        await story

    asyncio.run(whole())


def test_a_stream_goes_out_as_it_comes_and_ends() -> None:
    more = asyncio.Event()

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"one\n"
        await more.wait()
        yield b"two\n"

    async def story() -> None:
        async with serving(lambda _: Reply(media="text/plain", stream=pieces)) as port:
            reader, writer = await _ask(port, "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"transfer-encoding: chunked" in head
            assert await reader.readexactly(9) == b"4\r\none\n\r\n"
            more.set()
            assert await reader.readexactly(9 + 5) == b"4\r\ntwo\n\r\n0\r\n\r\n"
            writer.close()

    run(story())


def test_the_head_of_a_silent_stream_goes_out_at_once() -> None:
    async def silence() -> AsyncGenerator[bytes, None]:
        await asyncio.Event().wait()
        yield b""

    async def story() -> None:
        async with serving(lambda _: Reply(stream=silence)) as port:
            reader, writer = await _ask(port, "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            writer.close()

    run(story())


def test_a_stream_is_closed_when_its_reader_goes() -> None:
    closed = asyncio.Event()

    async def forever() -> AsyncGenerator[bytes, None]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            closed.set()

    async def story() -> None:
        async with serving(lambda _: Reply(stream=forever)) as port:
            reader, writer = await _ask(port, "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
            await reader.readuntil(b"first")
            writer.close()
            await closed.wait()

    run(story())


def test_nothing_is_piled_up_for_a_slow_reader() -> None:
    pieces = 0

    async def plenty() -> AsyncGenerator[bytes, None]:
        nonlocal pieces
        while True:
            pieces += 1
            yield bytes(1 << 16)
            await asyncio.sleep(0)

    async def story() -> None:
        async with serving(lambda _: Reply(stream=plenty)) as port:
            _, writer = await _ask(port, "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            pieces_before = -1
            while pieces_before != pieces:
                pieces_before = pieces
                await asyncio.sleep(0.3)
            assert pieces < 400, "more than 25 MB wait for a client that does not read"
            writer.transport.abort()

    run(story())


def test_a_head_request_gets_no_stream() -> None:
    async def never() -> AsyncGenerator[bytes, None]:
        yield b"after the end"

    async def story() -> None:
        async with serving(lambda _: Reply(stream=never)) as port:
            reader, writer = await _ask(port, "HEAD / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n")
            assert (await reader.read()).endswith(b"\r\n\r\n")
            writer.close()

    run(story())


def test_a_handler_can_cut_the_connection() -> None:
    async def cut(_: Call) -> Reply:
        raise ConnectionAborted

    async def story() -> None:
        listener = Listener(bind("127.0.0.1", 0), App(admit_all(1 << 20, cut)))
        servers = Servers([listener])
        await servers.start()
        reader, writer = await _ask(listener.bound.getsockname()[1], "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.close()
        await servers.stop()
        listener.bound.close()

    run(story())


def test_a_tunnel_carries_bytes_both_ways_and_sees_the_end() -> None:
    chunks = []

    async def echo(tunnel: Tunnel) -> None:
        while data := await tunnel.read():
            chunks.append(data)
            await tunnel.write(data.upper())

    reply = Reply(101, headers=(("Connection", "Upgrade"), ("Upgrade", "SPDY/3.1")), talk=echo)

    async def story() -> None:
        async with serving(lambda _: reply) as port:
            upgrade = "connection: Upgrade\r\nupgrade: SPDY/3.1\r\ncontent-length: 0\r\n\r\n"
            reader, writer = await _ask(port, f"POST /exec HTTP/1.1\r\nhost: here\r\n{upgrade}")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101 ")
            writer.write(b"hello")
            assert await reader.readexactly(5) == b"HELLO"
            writer.write_eof()
            assert await reader.read() == b""
            writer.close()
        assert b"".join(chunks) == b"hello"

    run(story())


async def _shout(socket: WebSocket) -> None:
    while (message := await socket.receive()) is not None:
        await socket.send(message.upper())


def test_a_websocket_carries_text_and_bytes() -> None:
    async def story() -> None:
        async with (
            serving(lambda call: accept(call, _shout, ("b", "a"))) as port,
            connect(f"ws://127.0.0.1:{port}/", subprotocols=["a", "b"], compression=None) as client,  # type: ignore[list-item]
        ):
            assert client.subprotocol == "b", "the service's own order counts"
            await client.send("text")
            assert await client.recv() == "TEXT"
            await client.send([b"by", b"tes"])
            assert await client.recv() == b"BYTES"
            await client.ping()

    run(story())


def test_a_service_that_ends_closes_the_websocket() -> None:
    async def once(socket: WebSocket) -> None:
        await socket.send("that is all")

    async def story() -> None:
        async with serving(lambda call: accept(call, once)) as port, connect(f"ws://127.0.0.1:{port}/") as client:
            assert await client.recv() == "that is all"
            with pytest.raises(ConnectionClosedOK):
                await client.recv()

    run(story())


@pytest.mark.parametrize("headers", [{"Sec-WebSocket-Version": "12"}, {"Sec-WebSocket-Key": "short"}])
def test_what_is_no_handshake_is_refused(headers: dict[str, str]) -> None:
    usual = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    usual |= {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="} | {
        name.lower(): value for name, value in headers.items()
    }
    reply = accept(Call("GET", "/", headers=usual), _shout)
    assert reply.status in (400, 426)
    assert reply.talk is None


def test_a_message_that_is_too_long_ends_the_websocket() -> None:
    async def story() -> None:
        async with (
            serving(lambda call: accept(call, _shout)) as port,
            connect(f"ws://127.0.0.1:{port}/", compression=None) as client,
        ):
            await client.send("x" * (2 << 20))
            await client.wait_closed()
            assert client.close_code == 1009

    run(story())


def test_plain_requests_to_a_refused_websocket_are_answered() -> None:
    async def story() -> None:
        async with serving(lambda call: accept(call, _shout)) as port:
            with pytest.raises(InvalidStatus):
                await connect(f"ws://127.0.0.1:{port}/", additional_headers={"Sec-WebSocket-Version": "99"})

    run(story())


HANDSHAKE = (
    "GET / HTTP/1.1\r\nhost: here\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
    "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def test_bytes_right_behind_a_handshake_are_read() -> None:
    async def story() -> None:
        async with serving(lambda call: accept(call, _shout)) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HANDSHAKE.encode() + b"\x81\x82\0\0\0\0hi")
            assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(4) == b"\x81\x02HI"
            writer.close()

    run(story())


JAVA = "connection: upgrade\r\nupgrade: h2c\r\n"


def test_a_request_that_asks_for_an_upgrade_keeps_its_body_and_its_successor() -> None:
    """In one piece, and byte by byte."""
    expected = (
        f"POST /a HTTP/1.1\r\nhost: here\r\n{JAVA}content-length: 3\r\n\r\nabcGET /b HTTP/1.1\r\nhost: here\r\n\r\n"
    )

    def answer(call: Call) -> Reply:
        return Reply(200, f"<{call.path}{call.body.decode()}>".encode())

    async def story(size: int) -> None:
        async with serving(answer) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for start in range(0, len(expected), size):
                writer.write(expected[start : start + size].encode())
                await writer.drain()
                await asyncio.sleep(0.001)
            assert (await reader.readuntil(b">")).endswith(b"</aabc>")
            assert (await reader.readuntil(b">")).endswith(b"</b>")
            writer.close()

    for size in (1000, 1):
        run(story(size))


def test_a_stream_that_never_waits_ends_with_its_reader() -> None:
    chunks: list[int] = []

    async def pieces() -> AsyncGenerator[bytes, None]:
        for number in range(20_000):
            chunks.append(number)
            yield b"x" * 1000

    async def story() -> None:
        async with serving(lambda _: Reply(stream=pieces)) as port:
            reader, writer = await _ask(port, "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
            await reader.readexactly(1000)
            writer.transport.abort()
            for _ in range(200):
                await asyncio.sleep(0.01)
        assert len(chunks) < 20_000, "the client did not read the rest"

    run(story())


def test_a_stream_can_cut_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"half"
        raise ConnectionAborted

    async def story() -> None:
        async with serving(lambda _: Reply(stream=pieces)) as port:
            reader, writer = await _ask(port, "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                assert not (await reader.read()).endswith(b"0\r\n\r\n"), "it is not taken for whole"
            writer.close()

    run(story())
    assert not caplog.records


def test_a_header_does_not_change_the_caller() -> None:
    async def story() -> None:
        async with serving(lambda call: Reply(200, f"<{call.peer} {call.base}>".encode())) as port:
            claims = "x-forwarded-for: 10.1.0.1\r\nx-forwarded-proto: https\r\n"
            reader, writer = await _ask(port, f"GET / HTTP/1.1\r\nhost: here\r\n{claims}\r\n")
            assert (await reader.readuntil(b">")).endswith(b"<127.0.0.1 http://here>")
            writer.close()

    run(story())


def test_listeners_stop_while_a_client_follows() -> None:
    """With a follower on the connection the servers end as soon as the change signal does."""
    change_signal = ChangeSignal()

    async def follow() -> AsyncGenerator[bytes, None]:
        while await change_signal.wait():
            yield b"."

    async def story() -> None:
        listener = Listener(bind("127.0.0.1", 0), App(admit_all(1 << 20, _always(Reply(stream=follow)))))
        servers = Servers([listener])
        await servers.start()
        reader, writer = await _ask(listener.bound.getsockname()[1], "GET / HTTP/1.1\r\nhost: here\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        change_signal.notify()
        await reader.readuntil(b".")
        change_signal.close()
        async with asyncio.timeout(2.0):
            await servers.stop()
        writer.close()
        listener.bound.close()

    run(story())
    gc.collect()


@pytest.mark.parametrize(
    "request_text", ["POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"]
)
def test_half_requests_and_slow_readers_do_not_delay_the_end(
    request_text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def without_end() -> AsyncGenerator[bytes, None]:
        while True:
            yield bytes(1 << 20)

    async def story() -> None:
        listener = Listener(bind("127.0.0.1", 0), App(admit_all(1 << 20, _always(Reply(stream=without_end)))))
        servers = Servers([listener])
        await servers.start()
        _, writer = await _ask(listener.bound.getsockname()[1], request_text)
        await asyncio.sleep(0.3)
        async with asyncio.timeout(2.8):
            await servers.stop()
        writer.close()
        listener.bound.close()

    run(story())
    gc.collect()
    assert "Traceback" not in caplog.text


def test_the_headers_of_others_are_no_business_of_a_handshake() -> None:
    headers = dict(line.split(": ") for line in HANDSHAKE.lower().split("\r\n")[1:-2])
    headers["sec-websocket-key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    assert accept(Call("GET", "/", headers={**headers, "cray-tenant-name": "\u2603 \n"}), _shout).status == 101


def _always(reply: Reply) -> Answer:
    async def answer(_: Call) -> Reply:
        return reply

    return answer


def test_a_pulse_bundles_beats_and_ends() -> None:
    async def story() -> None:
        change_signal = ChangeSignal()
        change_signal.notify()
        waiting = [asyncio.create_task(change_signal.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        for _ in range(1000):
            change_signal.notify()
        assert await asyncio.gather(*waiting) == [True, True, True]
        assert await change_signal.wait(0.01) is True
        last = asyncio.create_task(change_signal.wait())
        await asyncio.sleep(0)
        change_signal.close()
        assert await last is False
        assert await change_signal.wait(5) is False

    run(story())


def test_vault_s_own_method_comes_through() -> None:
    async def story() -> None:
        async with serving(lambda call: Reply(body=call.method.encode())) as port:
            for _ in range(2):
                reader, writer = await _ask(port, "LIST /v1 HTTP/1.1\r\nhost: here\r\n\r\n")
                assert (await reader.readuntil(b"LIST")).startswith(b"HTTP/1.1 200")
                writer.write(b"LIST /v1 HTTP/1.1\r\nhost: here\r\n\r\n")
                assert (await reader.readuntil(b"LIST")).startswith(b"HTTP/1.1 200")
                writer.close()

    run(story())
