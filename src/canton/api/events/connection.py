"""A reader's connection: bytes out while the other side takes them, and an end for every way it can end."""

from __future__ import annotations

import asyncio
import logging

from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from canton.api.events import sse
from canton.api.events.hub import Hub
from canton.api.events.reader import Reader
from canton.api.rendering import problems
from canton.domain.errors import CantonError, TooBusy
from canton.store.listing import Visible

# Where the server leaves the way to cut a connection: closing politely waits for a side that takes nothing.
ABORT = "abort"
log = logging.getLogger("canton.events")


class EventStream(Response):
    """Returned by a route like any response; takes its place among the readers when it is sent."""

    def __init__(self, hub: Hub, reader: Reader, who: str = "", visible: Visible = None) -> None:
        super().__init__(headers=sse.HEADERS)
        del self.headers["content-length"]
        self._hub = hub
        self._reader = reader
        self._who = who
        self._visible = visible

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._hub.place(self._who, self._visible):
                await self._stream(scope, receive, send)
        except TooBusy as error:
            await problems.respond(scope, receive, send, error)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        # A server does not say that a send reached nobody; only receiving tells that the reader has left.
        both = [asyncio.create_task(self._write(scope, send)), asyncio.create_task(_gone(receive))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _write(self, scope: Scope, send: Send) -> None:
        try:
            async for chunk in self._reader.chunks():
                async with asyncio.timeout(self._hub.pace.blocked):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except CantonError as error:
            log.info("a reader of events was cut off: %s", error)
        except TimeoutError:
            log.info("a reader of events was cut off: it took nothing for %g s", self._hub.pace.blocked)
            scope.get("state", {}).get(ABORT, _nothing)()
            return
        except Exception:
            log.exception("a reader of events was cut off by a defect")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _nothing() -> None:
    """A server that offers no way to abort closes when it can."""
