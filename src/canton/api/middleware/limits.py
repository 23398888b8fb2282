"""Limits on requests, and the request id: pure ASGI middleware around everything else.

Each answers with a problem before, or instead of, the app. A request releases its slot when its response
starts. An event stream is recognised by its content type; it has no time limit, since the hub limits its readers.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from canton import telemetry
from canton.api.events import sse
from canton.api.events.connection import ABORT
from canton.api.middleware.bodies import STATE, BodyLimit, BodyLimits
from canton.api.middleware.compatibility import Compatibility
from canton.api.middleware.rate_limits import network
from canton.api.rendering import problems
from canton.domain.errors import Defect, HeadersTooLarge, InvalidRequest, TimedOut, TooBusy
from canton.settings.model import Api

REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
# Monitoring must reach these also when the server is busy, so they have no limits.
WATCHED = frozenset({"/healthz", "/readyz", "/metrics"})
IMPORT = "/v1/nodes/import"
# Characters of a request's path that are logged; none of ours is longer.
LONGEST_PATH = 300
# No name of a caller begins with this.
ADDRESS = "address "
TENANTS = "callers without a role at the provider"
SLOT = "slot"
# No address of ours takes more than fifteen. To read one takes a microsecond, before the caller is known.
MOST_PARAMETERS = 100
log = logging.getLogger("canton.access")

Observe = Callable[[Scope, int, float], None]
"""Called for every request that has ended, with its scope, its status (0: no answer) and its seconds."""


def guard(app: ASGIApp, api: Api, observe: Observe) -> ASGIApp:
    """The app inside all limits. The order matters: the id comes first, so that every refusal has it."""
    app = TimeLimit(app, api.timeout)
    app = Concurrency(app, api.concurrency)
    app = BodyLimit(app, BodyLimits(api.body_limit, {IMPORT: api.import_limit}))
    app = QueryLimit(app)
    app = Cookies(app)
    app = HeaderLimit(app, api.header_limit)
    app = Compatibility(app)
    return RequestId(app, observe)


class RequestId:
    """Gives every request an id, for the answer and every log line, and logs how the request ended."""

    def __init__(self, app: ASGIApp, observe: Observe) -> None:
        self.app = app
        self.observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        header = _header(scope, b"x-request-id") or b""
        own = secrets.token_hex(8)
        client_id = header.decode() if REQUEST_ID.fullmatch(header) else None
        identity = client_id or own
        scope.setdefault("state", {}).update(request_id=identity, own_request_id=own, client_request_id=client_id)
        answer = _ObservedSend(send, [(b"canton-request", identity.encode())])
        began = time.monotonic()
        with telemetry.carrying(request=identity):
            try:
                await self._run(scope, receive, answer)
            finally:
                self._ended(scope, answer.status, time.monotonic() - began)

    async def _run(self, scope: Scope, receive: Receive, answer: _ObservedSend) -> None:
        try:
            await self.app(scope, receive, answer)
        except Exception:
            # The app answers and logs its own defects before they come here; this is for what stands around it.
            if answer.complete:
                return
            if answer.status:
                raise
            log.exception("a request failed by a defect")
            defect = Defect(
                "Canton failed on this request because of a defect in Canton; report it with the request id"
            )
            await problems.respond(scope, receive, answer, defect)

    def _ended(self, scope: Scope, status: int, seconds: float) -> None:
        self.observe(scope, status, seconds)
        level = logging.DEBUG if scope["path"] in WATCHED else logging.INFO
        client = scope.get("client")
        facts = {
            "method": scope["method"],
            # As it came, percent-encoded: a terminal would act on what it may hold.
            "path": quote(scope["path"][:LONGEST_PATH], safe="/:@!$&'()*+,;=")[:LONGEST_PATH],
            "status": status,
            "ms": round(seconds * 1000, 1),
            "principal": scope["state"].get("principal"),
            # As the audit has it; a client may choose the id that its answers carry.
            "own_request": scope["state"]["own_request_id"],
            "client": client[0] if client else None,
        }
        log.log(level, "request", extra=facts)


class Concurrency:
    """At most ``limit`` requests at a time; further ones get 503.

    One address has at most half of them, while its callers are not authenticated yet. One caller without a role at the
    provider (all service accounts of a tenant count as one) has at most a quarter; all these callers together have at
    most three eighths, so that one address and they leave slots to the provider.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit
        self.under_way = 0
        self.shares: Counter[str] = Counter()
        """Occupied slots, by the name that they count for: an address, or a caller and perhaps ``TENANTS``."""
        # Callers become known in threads.
        self.lock = threading.Lock()

    def share_of(self, name: str) -> int:
        if name == TENANTS:
            return max(1, self.limit * 3 // 8)
        return max(1, self.limit // (2 if name.startswith(ADDRESS) else 4))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in WATCHED:
            await self.app(scope, receive, send)
            return
        if self.under_way >= self.limit:
            busy = TooBusy(f"{self.limit} requests are under way, which is this server's limit; try again shortly")
            await problems.respond(scope, receive, send, busy)
            return
        client = scope.get("client")
        name = f"{ADDRESS}{network(client[0])}" if client else ADDRESS
        if self.shares[name] >= self.share_of(name):
            busy = TooBusy(f"{self.shares[name]} requests of this address are under way; try again shortly")
            await problems.respond(scope, receive, send, busy)
            return
        slot = ConcurrencySlot(self, name)
        scope.setdefault("state", {})[SLOT] = slot
        if STATE in scope.get("state", {}):
            scope["state"][STATE].outside = slot.released
        try:
            # Then only the client's reading remains, which the connection limits.
            await self.app(scope, receive, _ObservedSend(send, on_start=slot.release))
        finally:
            slot.release()


class ConcurrencySlot:
    """The slot of one request among the concurrent ones; it counts for the client's address or for the caller."""

    def __init__(self, concurrency: Concurrency, name: str) -> None:
        self._concurrency = concurrency
        self._names = [name]
        self._taken = False
        self._take()

    def assign_to_caller(self, caller: str, *, at_provider: bool) -> None:
        """Count the slot for the caller from now on, instead of for the address; raises ``TooBusy`` at its limit."""
        with self._concurrency.lock:
            names = [caller] if at_provider else [caller, TENANTS]
            for name in names:
                count = self._concurrency.shares[name]
                if not at_provider and count >= self._concurrency.share_of(name):
                    raise TooBusy(f"{count} requests of {name} are under way; try again shortly")
            if self._taken:
                self._count(-1)
            self._names = names
            if self._taken:
                self._count(+1)

    def release(self) -> None:
        with self._concurrency.lock:
            if self._taken:
                self._taken = False
                self._count(-1)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Release the slot inside the block. Afterwards it is taken again, even beyond the limit."""
        self.release()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        with self._concurrency.lock:
            if not self._taken:
                self._taken = True
                self._count(+1)

    def _count(self, change: int) -> None:
        self._concurrency.under_way += change
        for name in self._names:
            self._concurrency.shares[name] += change
            if not self._concurrency.shares[name]:
                del self._concurrency.shares[name]


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


class Cookies:
    """Leaves out cookies with a backslash, which no cookie may have (RFC 6265, section 4.1.1).

    Every request has its cookies read before its caller is known. Python before 3.11.10 and 3.12.6 takes seconds to
    read 60 KiB of backslashes (CVE-2024-7592).
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = scope["headers"]
            scope["headers"] = [(name, _readable(value) if name == b"cookie" else value) for name, value in headers]
        await self.app(scope, receive, send)


def _readable(cookies: bytes) -> bytes:
    return b";".join(cookie for cookie in cookies.split(b";") if b"\\" not in cookie)


class QueryLimit:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["query_string"].count(b"&") >= MOST_PARAMETERS:
            error = InvalidRequest(f"the query has more than {MOST_PARAMETERS} parameters; send fewer")
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
        answer = _ObservedSend(send, on_stream=lambda: limit.reschedule(None))
        try:
            async with limit:
                await self.app(scope, receive, answer)
        except TimeoutError:
            if not limit.expired():
                raise
            if answer.status:
                await self._cut(scope, receive)
                return
            error = TimedOut(
                f"the request took longer than {self.seconds:g} s and was ended; it may have been carried out: "
                "look, or repeat it with the same idempotency key"
            )
            await problems.respond(scope, receive, send, error)

    async def _cut(self, scope: Scope, receive: Receive) -> None:
        """Half an answer cannot be taken back: the connection ends, and the client sees that it is not whole."""
        abort = scope.get("state", {}).get(ABORT)
        if abort is None:
            raise TimeoutError
        log.info("an answer was not ended within %g s, and its connection was cut", self.seconds)
        abort()
        async with asyncio.timeout(1.0):
            while (await receive())["type"] != "http.disconnect":
                pass


class _ObservedSend:
    """A ``send`` that remembers the status and whether the answer is complete, and calls back when it starts."""

    def __init__(
        self,
        send: Send,
        headers: list[tuple[bytes, bytes]] | None = None,
        on_stream: Callable[[], None] | None = None,
        on_start: Callable[[], None] | None = None,
    ) -> None:
        self._send = send
        self._headers = headers or []
        self._on_stream = on_stream
        self._on_start = on_start
        self.status = 0
        self.complete = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *self._headers]
            if self._on_stream is not None and _is_stream(message):
                self._on_stream()
            if self._on_start is not None:
                self._on_start()
        await self._send(message)
        self.complete = message["type"] == "http.response.body" and not message.get("more_body", False)


def _is_stream(start: Message) -> bool:
    media_type = sse.MEDIA_TYPE.encode()
    return any(name.lower() == b"content-type" and value.startswith(media_type) for name, value in start["headers"])


def _header(scope: Scope, header_name: bytes) -> bytes | None:
    return next((value for name, value in scope["headers"] if name == header_name), None)
