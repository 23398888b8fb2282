"""The HTTP response of an event stream: sends bytes while the client reads them, and ends when either side does."""

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

# The key in the scope's state of a function that aborts the connection; a normal close would wait for the client.
ABORT = "abort"
log = logging.getLogger("canton.events")


class EventStream(Response):
    """Returned by a route like any response; the hub counts its reader while it is sent."""

    def __init__(self, hub: Hub, reader: Reader, who: str = "", visible: Visible = None) -> None:
        super().__init__(headers=sse.HEADERS)
        del self.headers["content-length"]
        self._hub = hub
        self._reader = reader
        self._who = who
        self._visible = visible

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._hub.count_reader(self._who, self._visible):
                await self._stream(scope, receive, send)
        except TooBusy as error:
            await problems.respond(scope, receive, send, error)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        # Sending to a client that has disconnected does not fail; only receive() reports it.
        both = [asyncio.create_task(self._write(scope, send)), asyncio.create_task(_wait_for_disconnect(receive))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _write(self, scope: Scope, send: Send) -> None:
        try:
            async for chunk in self._reader.chunks():
                async with asyncio.timeout(self._hub.settings.blocked):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except CantonError as error:
            log.info("a reader of events was cut off: %s", error)
        except TimeoutError:
            log.info("a reader of events was cut off: it took nothing for %g s", self._hub.settings.blocked)
            scope.get("state", {}).get(ABORT, _no_abort)()
            return
        except Exception:
            log.exception("a reader of events was cut off by a defect")
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _no_abort() -> None:
    """Do nothing: without a function to abort it, the server closes the connection when it can."""
