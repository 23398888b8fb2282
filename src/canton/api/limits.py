"""What a request may cost, and the id it goes by: pure ASGI, around everything else.

Each answers with a problem before, or instead of, the app. A stream of events is told by the type of its answer: it
has no time limit and leaves its place to the next request, since readers have places of their own.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canton import telemetry
from canton.api import problems, sse
from canton.api.compatibility import Compatibility
from canton.domain.errors import CantonError, Defect, HeadersTooLarge, TimedOut, TooBusy, TooLarge
from canton.settings import Api

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# Whoever watches the server must reach it when it is busiest.
WATCHED = frozenset({"/healthz", "/readyz", "/metrics"})
IMPORT = "/v1/nodes/import"
log = logging.getLogger("canton.access")

Observe = Callable[[Scope, int, float], None]
"""Told of every request when it has ended: its scope, its status (0: no answer) and its seconds."""


def guard(app: ASGIApp, api: Api, observe: Observe) -> ASGIApp:
    """All of them, in the one right order: the id first, so that every refusal carries it."""
    app = TimeLimit(app, api.timeout)
    app = Concurrency(app, api.concurrency)
    app = BodyLimit(app, api.body_limit, {IMPORT: api.import_limit})
    app = HeaderLimit(app, api.header_limit)
    app = Compatibility(app)
    return RequestId(app, observe)


class RequestId:
    """Gives every request an id, says it in the answer and in every log line, and logs how the request ended."""

    def __init__(self, app: ASGIApp, observe: Observe) -> None:
        self.app = app
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = _header(scope, b"x-request-id") or b""
        identity = given.decode() if REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = identity
        answer = _Answer(send, [(b"canton-request", identity.encode())])
        began = time.monotonic()
        with telemetry.carrying(request=identity):
            try:
                await self._run(scope, receive, answer)
            finally:
                self._ended(scope, answer.status, time.monotonic() - began)

    async def _run(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        try:
            await self.app(scope, receive, answer)
        except Exception:
            # The app answers and logs its own defects before they come here; this is for what stands around it.
            if answer.complete:
                return
            if answer.status:
                raise
            log.exception("a request failed by a defect")
            told = Defect("Canton failed on this request by a defect of its own; report it with the request id")
            await problems.respond(scope, receive, answer, told)

    def _ended(self, scope: Scope, status: int, seconds: float) -> None:
        self.observe(scope, status, seconds)
        level = logging.DEBUG if scope["path"] in WATCHED else logging.INFO
        client = scope.get("client")
        facts = {
            "method": scope["method"],
            # As it came, percent-encoded: a terminal would act on what it may hold.
            "path": quote(scope["path"], safe="/:@!$&'()*+,;="),
            "status": status,
            "ms": round(seconds * 1000, 1),
            "principal": scope["state"].get("principal"),
            "client": client[0] if client else None,
        }
        log.log(level, "request", extra=facts)


class Concurrency:
    """So many requests at a time; more are told to come back."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit
        self.under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in WATCHED:
            await self.app(scope, receive, send)
            return
        if self.under_way >= self.limit:
            busy = TooBusy(f"{self.limit} requests are under way, as many as this server takes; try again shortly")
            await problems.respond(scope, receive, send, busy)
            return
        place = _Place(self)
        try:
            await self.app(scope, receive, _Answer(send, on_stream=place.leave))
        finally:
            place.leave()


class _Place:
    def __init__(self, among: Concurrency) -> None:
        self.among: Concurrency | None = among
        among.under_way += 1

    def leave(self) -> None:
        if self.among is not None:
            self.among.under_way -= 1
            self.among = None


class HeaderLimit:
    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        count = len(scope.get("headers", ()))
        if scope["type"] == "http" and count > self.limit:
            error = HeadersTooLarge(f"the request has {count} headers, at most {self.limit} are taken; send fewer")
            await problems.respond(scope, receive, send, error)
            return
        await self.app(scope, receive, send)


class TimeLimit:
    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app = app
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = asyncio.timeout(self.seconds)
        answer = _Answer(send, on_stream=lambda: limit.reschedule(None))
        try:
            async with limit:
                await self.app(scope, receive, answer)
        except TimeoutError:
            # Half an answer cannot be taken back: the connection ends, and the client sees that it is not whole.
            if not limit.expired() or answer.status:
                raise
            error = TimedOut(
                f"the request took longer than {self.seconds:g} s and was given up; whether it was carried out is not "
                "known: look, or repeat it with the same idempotency key"
            )
            await problems.respond(scope, receive, send, error)


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long a body may take, and how many bytes may be on their way, for all requests together."""

    seconds: float = 10.0
    room: int = 256 * 2**20


class BodyLimit:
    """Has the body here, whole and not too large, before the request takes a place: a slow sender waits outside.

    By what the request says of itself, and by what really comes. What waits is bounded too: each body in time, and
    all of them together in bytes.
    """

    def __init__(self, app: ASGIApp, limit: int, others: Mapping[str, int], waiting: Waiting | None = None) -> None:
        self.app = app
        self.limit = limit
        self.others = others
        self.waiting = waiting or Waiting()
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        limit = self.others.get(scope["path"], self.limit)
        stated = _header(scope, b"content-length") or b"0"
        body = bytearray()
        try:
            if stated.isdigit() and int(stated[:20]) > limit:
                raise _too_large(limit)
            async with asyncio.timeout(self.waiting.seconds * max(1, limit // self.limit)):
                whole = await self._collect(receive, body, limit)
        except TimeoutError:
            await _refuse(
                scope, receive, send, TimedOut("the body did not arrive in time; send it faster, or less of it")
            )
            return
        except (TooLarge, TooBusy) as error:
            await _refuse(scope, receive, send, error)
            return
        finally:
            self.held -= len(body)
        if whole:
            await self.app(scope, _replaying(bytes(body), receive), send)

    async def _collect(self, receive: Receive, body: bytearray, limit: int) -> bool:
        """False when the client has left in between."""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return False
            part = message.get("body", b"")
            body += part
            self.held += len(part)
            if len(body) > limit:
                raise _too_large(limit)
            if self.held > self.waiting.room:
                raise TooBusy("too much is being sent to this server at once; try again shortly")
            if not message.get("more_body", False):
                return True


def _has_body(scope: Scope) -> bool:
    announced = any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])
    return announced or scope["method"] not in ("GET", "HEAD")


def _replaying(body: bytes, receive: Receive) -> Receive:
    """The body at once, and then whatever else the connection says."""
    told = False

    async def replay() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


class _Answer:
    """A ``send`` that notes what is sent."""

    def __init__(
        self, send: Send, headers: list[tuple[bytes, bytes]] | None = None, on_stream: Callable[[], None] | None = None
    ) -> None:
        self._send = send
        self._headers = headers or []
        self._on_stream = on_stream
        self.status = 0
        self.complete = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._headers]
            if self._on_stream is not None and _is_stream(message):
                self._on_stream()
        await self._send(message)
        self.complete = message["type"] == "http.response.body" and not message.get("more_body", False)


def _is_stream(start: Message) -> bool:
    wanted = sse.MEDIA_TYPE.encode()
    return any(name.lower() == b"content-type" and value.startswith(wanted) for name, value in start["headers"])


def _header(scope: Scope, wanted: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == wanted), None)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body is larger than {limit} bytes, the most that this address takes; send less at a time")


async def _refuse(scope: Scope, receive: Receive, send: Send, error: CantonError) -> None:
    """The rest of the body is not read, so nothing else can come over this connection."""
    await problems.respond(scope, receive, _Answer(send, [(b"connection", b"close")]), error)
