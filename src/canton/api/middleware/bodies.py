"""Bodies of requests: how much of one is taken, from which caller, and when.

Until the caller is known, the server holds at most ``FIRST`` bytes of a body and parses none of it. The rest is read
by ``Incoming.read`` for an authenticated caller, within the limit of the address and within a share of the room for
all bodies, and without a slot among the concurrent requests. The connection is closed behind an answer to a
request whose body was not read to its end.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canton.api.events.connection import ABORT
from canton.api.middleware.rate_limits import network
from canton.api.rendering import problems
from canton.domain.errors import CantonError, InvalidRequest, TimedOut, TooBusy, TooLarge

STATE = "body"
FIRST_PART = 64 * 1024
# A connection that is closed over unread bytes is reset, and its client does not see the answer.
LINGER_SECONDS = 1.0
# Bodies beyond their first part that are on their way; each holds a connection.
BODIES = 512
BODIES_EACH = 16


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """The largest body in bytes, and the seconds that a body may take to arrive.

    For a path outside of ``/v1/``, whose caller is never authenticated, only the first part is accepted.
    """

    default: int
    by_path: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 20.0
    first_parts: int = 2048
    """The most requests whose first part is held at a time: 128 MiB together."""
    first_parts_each: int = 128
    """The most requests of one address whose first part has not arrived yet."""

    def of(self, path: str) -> int:
        return self.by_path.get(path, self.default if path.startswith("/v1/") else FIRST_PART)

    @property
    def largest(self) -> int:
        return max([self.default, *self.by_path.values()])


@dataclass(frozen=True, slots=True)
class Sender:
    """The caller that a body counts for: a principal, or all service accounts of one tenant together."""

    name: str
    at_provider: bool = False


class BodyCapacity:
    """Limits the bodies beyond their first part: their number, and the bytes of those that have begun to arrive.

    A body reserves its whole size when its first bytes arrive, so that some of several are received completely. One
    sender can reserve twice the size of the largest body, all together eight times. A quarter is kept for senders with
    a role at the provider.
    """

    def __init__(self, largest: int) -> None:
        self.each = 2 * largest
        self.total = 8 * largest
        self.held: Counter[Sender] = Counter()
        self.on_their_way: Counter[Sender] = Counter()
        # Parsing holds the interpreter lock: more at a time would not be faster, and would need more memory.
        self.parsing = asyncio.Semaphore(2)

    def enter(self, sender: Sender) -> None:
        if self.on_their_way[sender] >= BODIES_EACH:
            raise TooBusy(
                f"{sender.name} sends {BODIES_EACH} large bodies at once, which is the limit; wait for some of them"
            )
        if self.on_their_way.total() >= _share(BODIES, sender):
            raise _too_much()
        self.on_their_way[sender] += 1

    def take(self, sender: Sender, size: int) -> None:
        if self.held[sender] + size > self.each:
            raise TooBusy(f"{sender.name} sends more than {self.each} bytes at once; send one request after the other")
        if self.held.total() + size > _share(self.total, sender):
            raise _too_much()
        self.held[sender] += size

    def leave(self, sender: Sender, size: int) -> None:
        """Release one body and the bytes that it reserved."""
        for counter, amount in ((self.on_their_way, 1), (self.held, size)):
            counter[sender] -= amount
            if not counter[sender]:
                del counter[sender]


def _share(total: int, sender: Sender) -> int:
    return total if sender.at_provider else total * 3 // 4


def _too_much() -> TooBusy:
    return TooBusy("this server receives too many large bodies at once; try again shortly")


class RequestBody:
    """The body of one request, as far as it has been read."""

    def __init__(self, receive: Receive, limit: int, stated: int, room: BodyCapacity, seconds: float) -> None:
        self.data = bytearray()
        self.complete = False
        self.gone = False
        self.room = room
        self.outside: Callable[[], AbstractContextManager[object]] = nullcontext
        """A context in which the request does not count against ``api.concurrency``."""
        self._receive = receive
        self._limit = limit
        self._size = stated or limit
        self._seconds = seconds
        self._replayed = False
        self._sender: Sender | None = None
        self._taken = 0

    async def begin(self) -> None:
        """Read the first part, or the whole body if it is not larger."""
        await self._read_until(FIRST_PART)

    async def read(self, sender: Sender) -> bytearray:
        """Read the whole body, counted for this sender."""
        if not self.complete:
            self.room.enter(sender)
            self._sender = sender
            with self.outside():
                await self._read_until(self._limit)
        if not self.complete:
            raise InvalidRequest("the connection was closed before the whole body had arrived; send the request again")
        return self.data

    async def replay(self) -> Message:
        """An ASGI ``receive`` that returns only the first part."""
        if not self._replayed:
            self._replayed = True
            return {"type": "http.request", "body": bytes(self.data), "more_body": not self.complete}
        if not self.complete:
            raise _too_large(FIRST_PART)
        return await self._receive()

    async def discard(self) -> None:
        """Read and drop data for at most ``LINGER_SECONDS``."""
        count = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while count < self._limit and not self.complete and not self.gone:
                    count += len(await self._part())

    def turn_to_parse(self) -> AbstractAsyncContextManager[object]:
        return self.room.parsing if len(self.data) > FIRST_PART else nullcontext()

    def release(self) -> None:
        if self._sender is not None:
            self.room.leave(self._sender, self._taken)

    async def _read_until(self, size: int) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                while not self.complete and not self.gone and len(self.data) <= size:
                    part = await self._part()
                    if len(self.data) + len(part) > self._limit:
                        raise _too_large(self._limit)
                    if self._sender is not None and part and not self._taken:
                        self.room.take(self._sender, self._size)
                        self._taken = self._size
                    self.data += part
        except TimeoutError as error:
            raise TimedOut("the body did not arrive in time; send it faster, or less of it") from error

    async def _part(self) -> bytes:
        message = await self._receive()
        self.gone = message["type"] != "http.request"
        self.complete = not self.gone and not message.get("more_body", False)
        return bytes(message.get("body", b""))


def request_body(request: Request) -> RequestBody:
    body: RequestBody = request.scope["state"][STATE]
    return body


class BodyLimit:
    """Reads the first part of a body before the request counts as concurrent, so that a slow sender blocks no other."""

    def __init__(self, app: ASGIApp, bounds: BodyLimits) -> None:
        self.app = app
        self.bounds = bounds
        self.room = BodyCapacity(bounds.largest)
        self.under_way = 0
        self.arriving: dict[RequestBody, tuple[str, Scope]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        body = RequestBody(receive, self.bounds.of(scope["path"]), _stated(scope), self.room, self.bounds.seconds)
        scope.setdefault("state", {})[STATE] = body
        answer = _Closing(send, body)
        self.under_way += 1
        try:
            refusal = await self._refusal(scope, body)
            if refusal is not None:
                await problems.respond(scope, receive, answer, refusal)
            elif not body.gone:
                await self.app(scope, body.replay, answer)
            await answer.end()
        finally:
            self.under_way -= 1
            body.release()
            # The server's objects of a request are a ring through this one, which would keep the bytes until a full
            # collection of garbage: hundreds of large bodies later.
            del scope["state"][STATE]

    async def _refusal(self, scope: Scope, body: RequestBody) -> CantonError | None:
        limit, stated = self.bounds.of(scope["path"]), _stated(scope)
        if stated > limit:
            return _too_large(limit)
        if not self._make_room(_address(scope)):
            return _too_much()
        try:
            # Of a body that states to be larger nothing is read, so that "Expect: 100-continue" waits for the token.
            if stated <= FIRST_PART:
                self.arriving[body] = (_address(scope), scope)
                await body.begin()
        except (TooLarge, TimedOut) as error:
            return error
        finally:
            self.arriving.pop(body, None)
        return None

    def _make_room(self, address: str) -> bool:
        """If the address or the server has too many bodies, drop the one with the fewest bytes, the oldest first."""
        of_address = [body for body, (sender, _) in self.arriving.items() if sender == address]
        full = self.under_way > self.bounds.first_parts
        if len(of_address) < self.bounds.first_parts_each and not full:
            return True
        candidates = list(self.arriving) if full else of_address
        if not candidates:
            return False
        _, scope = self.arriving.pop(min(candidates, key=lambda body: len(body.data)))
        scope["state"].get(ABORT, lambda: None)()
        return True


class _Closing:
    """A ``send`` that closes the connection if the request body was not read to its end."""

    def __init__(self, send: Send, body: RequestBody) -> None:
        self._send = send
        self._body = body
        self._closes = False
        self._ended = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._body.complete:
            self._closes = True
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        elif self._closes and not message.get("more_body", False):
            self._ended = True
            message = {**message, "more_body": True}
        await self._send(message)

    async def end(self) -> None:
        """End an answer that was kept open so that the client can read it while it still sends its body."""
        if self._ended:
            await self._body.discard()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})


def _has_body(scope: Scope) -> bool:
    announced = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
    return announced or scope["method"] not in ("GET", "HEAD")


def _address(scope: Scope) -> str:
    """The client's, which uvicorn takes from ``X-Forwarded-For`` behind one of ``api.proxies``."""
    client = scope.get("client")
    return network(client[0]) if client else ""


def _stated(scope: Scope) -> int:
    """The Content-Length; 0 without one."""
    text = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(text[:20]) if text.isdigit() else 0


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes, the most that this address takes; send less at a time")
