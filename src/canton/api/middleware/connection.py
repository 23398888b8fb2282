"""The HTTP connection: limits that uvicorn's httptools protocol does not have.

It has no limit on the size of a request's head, nor on the time that may take to arrive, nor on what comes between and
behind the chunks of a body, nor on the requests that wait on one connection, and it waits without end for a client that
does not read. All are needed on a port that strangers can reach.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import defaultdict, deque
from dataclasses import dataclass, field
from fcntl import ioctl
from termios import TIOCOUTQ
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from canton.api.events.connection import ABORT
from canton.api.middleware.rate_limits import network

# Eight times what nginx takes for a header: cursors of events may be long.
HEAD_LIMIT = 64 * 1024
HEAD_SECONDS = 20.0
# Connections of one address that have not sent a complete head. A proxy sends heads whole, and does not come near it.
HEADS_EACH = 256
REPORT_SECONDS = 60.0
# A read of the socket brings up to 256 KiB, which may hold a whole head: the parser gets it in parts.
PART = 4096
# Requests of one connection that are not answered yet; no client of Canton sends a second one before the answer.
PIPELINE_LIMIT = 16
# A client must take this many bytes of an answer in this many seconds.
WRITE_SECONDS = 20.0
WRITE_LEAST = 16 * 1024
# Bytes that wait for clients, over all connections; beyond it, the client that has waited longest is dropped.
WRITE_TOTAL = 64 * 2**20
_TEXT = b"the head of the request is larger than 64 KiB; send fewer or shorter headers\n"
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_TEXT), _TEXT)
)
log = logging.getLogger("canton.connections")


@dataclass
class ConnectionLimiter:
    """Limits the connections of a server: knows which are idle and can be dropped, and counts those dropped.

    The dictionaries keep the order in which connections became idle; the clock of uvloop is too coarse for that, as it
    counts whole milliseconds.
    """

    most: int = 2000
    dropped: int = 0
    """Since the last line in the log."""
    reported: float = float("-inf")
    idle: dict[Connection, None] = field(default_factory=dict)
    """Connections without a request under way: new, between two requests, or with part of a head."""
    awaiting_head: defaultdict[str, dict[Connection, None]] = field(default_factory=lambda: defaultdict(dict))
    """By network: those of them whose head is waited for since their first byte, or since they were made."""
    leaving: set[Connection] = field(default_factory=set)
    """Connections that were dropped and are not closed yet."""

    def mark_idle(self, connection: Connection) -> None:
        self.mark_busy(connection)
        self.idle[connection] = None

    def mark_busy(self, connection: Connection) -> None:
        self.idle.pop(connection, None)

    def mark_awaiting_head(self, connection: Connection, network: str) -> None:
        self.mark_idle(connection)
        self.awaiting_head[network][connection] = None

    def mark_head_received(self, connection: Connection, network: str) -> None:
        self.awaiting_head[network].pop(connection, None)
        if not self.awaiting_head[network]:
            del self.awaiting_head[network]

    def connection_to_drop(self, connections: int, network: str) -> Connection | None:
        """The connection to drop after a new one of this network: the one that has been idle for longest."""
        if len(self.awaiting_head[network]) > HEADS_EACH:
            return next(iter(self.awaiting_head[network]))
        if connections - len(self.leaving) > self.most:
            return next(iter(self.idle), None)
        return None

    def report(self, now: float) -> None:
        self.dropped += 1
        if now >= self.reported + REPORT_SECONDS:
            log.warning("too many connections: %d without a request under way were dropped", self.dropped)
            self.dropped, self.reported = 0, now


class Connection(HttpToolsProtocol):
    """Counts the bytes of a request's head, limits the time for it, and drops a client that does not read."""

    limiter: ClassVar[ConnectionLimiter] = ConnectionLimiter()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._head_size = 0
        self._patience: asyncio.TimerHandle | None = None
        self._in_body = False
        self._brought_body = False
        self._cycles: deque[RequestResponseCycle] = deque()
        self._unread: asyncio.TimerHandle | None = None
        self._unread_since = 0.0
        self._network = network(self.client[0]) if self.client else ""
        self._expect_head()
        self._drop_surplus_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        self._have_head()
        self.limiter.mark_busy(self)
        self.limiter.leaving.discard(self)
        self._stop_watching()
        # uvicorn tells only the newest of several requests on one connection.
        for cycle in self._under_way():
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        at = 0
        while at < len(data) and not self.transport.is_closing():
            # No part crosses the limit: a head that is not complete there is too large.
            end = at + min(PART, HEAD_LIMIT - self._head_size)
            self._part_received(data[at:end])
            at = end

    def _part_received(self, data: bytes) -> None:
        self._brought_body = False
        # Also before bytes that begin no request: uvicorn's timer of idle connections ends with them, and the parser
        # passes over empty lines.
        if self._patience is None and self._rests():
            self._expect_head()
        super().data_received(data)
        around_chunks = self._in_body and not self._brought_body
        if (self._patience is None and not around_chunks) or self.transport.is_closing():
            return
        self._head_size += len(data)
        if self._head_size >= HEAD_LIMIT:
            self._refuse_head()

    def _refuse_head(self) -> None:
        self._have_head()
        if self._in_body or self._under_way():
            # An answer may be half sent: there is no place for another.
            self.transport.abort()
            return
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort
        # The first head has been waited for since the connection was made.
        if self._patience is None:
            self._expect_head()

    def on_header(self, name: bytes, value: bytes) -> None:
        # One that follows the body is left out: what was checked and counted is the head.
        if self._patience is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._have_head()
        # The parser goes on to the end of the part: of a dropped connection no further request is taken.
        if self.transport.is_closing():
            return
        while self._cycles and self._cycles[0].response_complete:
            self._cycles.popleft()
        if len(self._cycles) >= PIPELINE_LIMIT:
            self.transport.abort()
            return
        self._in_body = True
        self.limiter.mark_busy(self)
        super().on_headers_complete()
        self._cycles.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        if self.transport.is_closing():
            return
        self._brought_body = True
        self._head_size = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()
        self._may_rest()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch()
        self._may_rest()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()
        self._watch()
        self._make_room()

    def resume_writing(self) -> None:
        self._stop_watching()
        super().resume_writing()

    def _watch(self) -> None:
        """Check after ``WRITE_SECONDS`` whether the client has read at least ``WRITE_LEAST`` bytes."""
        self._stop_watching()
        if self.transport.get_write_buffer_size():
            self._unread = self.loop.call_later(WRITE_SECONDS, self._look_again, self._untaken())

    def _look_again(self, bytes_before: int) -> None:
        if self._untaken() > bytes_before - WRITE_LEAST:
            self._drop()
        else:
            self._watch()

    def _untaken(self) -> int:
        """Bytes that the client has not read, including those in the kernel's buffer."""
        queued = ioctl(self.transport.get_extra_info("socket").fileno(), TIOCOUTQ, bytes(4))
        return self.transport.get_write_buffer_size() + int.from_bytes(queued, sys.byteorder)

    def _drop(self) -> None:
        log.info("a client was dropped because it did not read its answer")
        self._stop_watching()
        self.transport.abort()

    def _make_room(self) -> None:
        paused = [
            connection
            for connection in self.connections
            if isinstance(connection, Connection) and connection.flow.write_paused
        ]
        if sum(connection.transport.get_write_buffer_size() for connection in paused) > WRITE_TOTAL:
            min(paused, key=lambda each: each._unread_since)._drop()  # noqa: SLF001 (of its own class)

    def _drop_surplus_connection(self) -> None:
        surplus = self.limiter.connection_to_drop(len(self.connections), self._network)
        if surplus is not None:
            surplus._leave()  # noqa: SLF001 (of its own class)

    def _leave(self) -> None:
        self._have_head()
        self.limiter.mark_busy(self)
        self.limiter.leaving.add(self)
        self.transport.abort()
        self.limiter.report(self.loop.time())

    def _rests(self) -> bool:
        """No request is under way, neither its body nor its answer."""
        return not self._in_body and not self._under_way()

    def _may_rest(self) -> None:
        if self._rests() and not self.transport.is_closing():
            self.limiter.mark_idle(self)

    def _stop_watching(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _under_way(self) -> list[RequestResponseCycle]:
        return [cycle for cycle in self._cycles if not cycle.response_complete]

    def _expect_head(self) -> None:
        self._head_size = 0
        self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        self.limiter.mark_awaiting_head(self, self._network)

    def _have_head(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
            self.limiter.mark_head_received(self, self._network)


def bounded(most: int) -> type[Connection]:
    """The protocol class of a server with at most this many connections."""

    class Bounded(Connection):
        limiter = ConnectionLimiter(most)

    return Bounded
