"""The HTTP connection: limits that uvicorn's httptools protocol does not have.

httptools' protocol has no limit on the size of a request head, on the time in which it must arrive, on bytes between
and after chunks, or on pipelined requests, and it waits without limit for a client that does not read. A public port
needs all five limits.
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

# Eight times nginx's limit for a header: cursors of events may be long.
HEAD_LIMIT = 64 * 1024
HEAD_SECONDS = 20.0
# Connections of one address that have not sent a complete head. A proxy sends whole heads, and stays far below.
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
    """Limits the connections of a server: lists the idle ones, which can be dropped, and counts the dropped ones.

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
    """By client network: connections whose request head is awaited, the oldest first."""
    closing: set[Connection] = field(default_factory=set)
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
        if connections - len(self.closing) > self.most:
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
        self._head_timer: asyncio.TimerHandle | None = None
        self._in_body = False
        self._part_had_body = False
        self._cycles: deque[RequestResponseCycle] = deque()
        self._read_timer: asyncio.TimerHandle | None = None
        self._unread_since = 0.0
        self._network = network(self.client[0]) if self.client else ""
        self._start_head_timer()
        self._drop_surplus_connection()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        self.limiter.mark_busy(self)
        self.limiter.closing.discard(self)
        self._stop_read_check()
        # uvicorn notifies only the newest of several requests on one connection.
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
        self._part_had_body = False
        # Also for bytes that do not begin a request: they end uvicorn's timer for idle connections, and the parser
        # skips empty lines.
        if self._head_timer is None and self._is_idle():
            self._start_head_timer()
        super().data_received(data)
        around_chunks = self._in_body and not self._part_had_body
        if (self._head_timer is None and not around_chunks) or self.transport.is_closing():
            return
        self._head_size += len(data)
        if self._head_size >= HEAD_LIMIT:
            self._refuse_head()

    def _refuse_head(self) -> None:
        self._cancel_head_timer()
        if self._in_body or self._under_way():
            # A response may be half sent, so another one cannot be written.
            self.transport.abort()
            return
        self.transport.write(_TOO_LARGE)
        self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["state"][ABORT] = self.transport.abort
        # The timer for the first head started when the connection was made.
        if self._head_timer is None:
            self._start_head_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        # Ignore trailers: only the head was counted and checked.
        if self._head_timer is not None:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._cancel_head_timer()
        # The parser continues to the end of the part, but a dropped connection accepts no further request.
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
        self._part_had_body = True
        self._head_size = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()
        self._mark_idle_if_done()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._start_read_check()
        self._mark_idle_if_done()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._start_read_check()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_since = self.loop.time()
        self._start_read_check()
        self._drop_slowest_reader()

    def resume_writing(self) -> None:
        self._stop_read_check()
        super().resume_writing()

    def _start_read_check(self) -> None:
        """Check after ``WRITE_SECONDS`` whether the client has read at least ``WRITE_LEAST`` bytes."""
        self._stop_read_check()
        if self.transport.get_write_buffer_size():
            self._read_timer = self.loop.call_later(WRITE_SECONDS, self._check_read_progress, self._unread_bytes())

    def _check_read_progress(self, bytes_before: int) -> None:
        if self._unread_bytes() > bytes_before - WRITE_LEAST:
            self._drop()
        else:
            self._start_read_check()

    def _unread_bytes(self) -> int:
        """Bytes that the client has not read, including those in the kernel's buffer."""
        queued = ioctl(self.transport.get_extra_info("socket").fileno(), TIOCOUTQ, bytes(4))
        return self.transport.get_write_buffer_size() + int.from_bytes(queued, sys.byteorder)

    def _drop(self) -> None:
        log.info("a client was dropped because it did not read its answer")
        self._stop_read_check()
        self.transport.abort()

    def _drop_slowest_reader(self) -> None:
        paused = [
            connection
            for connection in self.connections
            if isinstance(connection, Connection) and connection.flow.write_paused
        ]
        if sum(connection.transport.get_write_buffer_size() for connection in paused) > WRITE_TOTAL:
            min(paused, key=lambda connection: connection._unread_since)._drop()  # noqa: SLF001 (of its own class)

    def _drop_surplus_connection(self) -> None:
        surplus = self.limiter.connection_to_drop(len(self.connections), self._network)
        if surplus is not None:
            surplus._drop_idle()  # noqa: SLF001 (of its own class)

    def _drop_idle(self) -> None:
        self._cancel_head_timer()
        self.limiter.mark_busy(self)
        self.limiter.closing.add(self)
        self.transport.abort()
        self.limiter.report(self.loop.time())

    def _is_idle(self) -> bool:
        """No request is under way, neither its body nor its answer."""
        return not self._in_body and not self._under_way()

    def _mark_idle_if_done(self) -> None:
        if self._is_idle() and not self.transport.is_closing():
            self.limiter.mark_idle(self)

    def _stop_read_check(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _under_way(self) -> list[RequestResponseCycle]:
        return [cycle for cycle in self._cycles if not cycle.response_complete]

    def _start_head_timer(self) -> None:
        self._head_size = 0
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)
        self.limiter.mark_awaiting_head(self, self._network)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
            self.limiter.mark_head_received(self, self._network)


def bounded(most: int) -> type[Connection]:
    """The protocol class of a server with at most this many connections."""

    class Bounded(Connection):
        limiter = ConnectionLimiter(most)

    return Bounded
