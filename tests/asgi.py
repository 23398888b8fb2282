"""Sends one request to an ASGI app without a server, and collects the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.types import ASGIApp, Message, Scope

Headers = Iterable[tuple[str, str]]


@dataclass
class Answer:
    """The answer of an app, as far as it was sent."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    ended: bool = False
    messages: int = 0

    def take(self, message: Message) -> None:
        self.messages += 1
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.ended = not message.get("more_body", False)

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def scope_of(method: str, path: str, headers: Headers = ()) -> Scope:
    path, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
        "client": ("192.0.2.7", 4711),
        "server": ("127.0.0.1", 8700),
        "state": {},
    }


async def request(app: ASGIApp, method: str, path: str, headers: Headers = (), chunks: Iterable[bytes] = ()) -> Answer:
    """Send a request and wait for the whole answer; ``chunks`` are the pieces in which the body arrives."""
    async with asyncio.timeout(20), open_request(app, method, path, headers, chunks) as call:
        await call.task
    return call.answer


@dataclass
class Call:
    answer: Answer
    scope: Scope
    task: asyncio.Task[None]
    disconnected: asyncio.Event
    stuck: asyncio.Event
    """When set, the client accepts no more of the answer."""

    async def until(self, expected: bytes, seconds: float = 30.0) -> bytes:
        """Wait until the body contains ``expected``; returns the body so far."""
        async with asyncio.timeout(seconds):
            while expected not in self.answer.body:  # noqa: ASYNC110 (what is sent arrives without a sign)
                await asyncio.sleep(0.005)
        return self.answer.body


@asynccontextmanager
async def open_request(
    app: ASGIApp,
    method: str,
    path: str,
    headers: Headers = (),
    chunks: Iterable[bytes] = (),
    state: Mapping[str, Any] | None = None,
) -> AsyncIterator[Call]:
    """A request whose answer can be read while it arrives; the client disconnects when the block ends."""
    pieces = list(chunks) or [b""]
    disconnected, stuck = asyncio.Event(), asyncio.Event()
    answer = Answer()
    scope = scope_of(method, path, headers)
    scope["state"].update(state or {})

    async def receive() -> Message:
        if pieces:
            body = pieces.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(pieces)}
        await disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if stuck.is_set():
            await asyncio.Event().wait()
        answer.take(message)

    async def run() -> None:
        await app(scope, receive, send)

    call = Call(answer, scope, asyncio.create_task(run()), disconnected, stuck)
    try:
        yield call
    finally:
        disconnected.set()
        await asyncio.wait([call.task], timeout=5)
        call.task.cancel()
        await asyncio.gather(call.task, return_exceptions=True)
