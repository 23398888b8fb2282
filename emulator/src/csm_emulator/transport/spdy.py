"""The server side of SPDY/3.1, without I/O: received bytes become events, calls become bytes to send.

Only what ``kubectl exec`` needs: streams that the client opens, data both ways, pings. Flow control is not kept, as in
the library that kubectl uses, which ignores the windows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from csm_emulator.transport.spdy_headers import Packer, SpdyError, Unpacker

SYN_STREAM, SYN_REPLY, RST_STREAM, PING, GOAWAY = 1, 2, 3, 6, 7
VERSION = 3
FIN = 0x01
CANCEL = 5
_CONTROL = 0x80000000
_ID = 0x7FFFFFFF
_HEAD = 8
LONGEST_CONTROL = 64 << 10
LONGEST_DATA = 1 << 20
_PIECE = 32 << 10
MOST_STREAMS = 16
"""An exec has five."""


@dataclass(frozen=True, slots=True)
class StreamOpened:
    """The other side opened a stream."""

    stream: int
    headers: Mapping[str, str]
    last: bool


@dataclass(frozen=True, slots=True)
class DataReceived:
    """Data of a stream; ``last`` marks its end."""

    stream: int
    data: bytes
    last: bool


@dataclass(frozen=True, slots=True)
class StreamReset:
    stream: int


@dataclass(frozen=True, slots=True)
class GoAwayReceived:
    """The other side wants to open no more streams."""


Event = StreamOpened | DataReceived | StreamReset | GoAwayReceived


class Spdy:
    """One connection. What is to be sent is gathered until ``take`` takes it."""

    def __init__(self) -> None:
        self._come = bytearray()
        self._out: list[bytes] = []
        self._packer = Packer()
        self._unpacker = Unpacker()
        self._streams: set[int] = set()
        self._last = 0

    def receive(self, data: bytes) -> Iterator[Event]:
        """Raises ``SpdyError`` for what is no SPDY/3.1."""
        self._come += data
        while (frame := self._frame()) is not None:
            first, flags, body = frame
            event = self._control(first & 0xFFFF, flags, body) if first & _CONTROL else self._data(first, flags, body)
            if event is not None:
                yield event

    def _frame(self) -> tuple[int, int, bytes] | None:
        """The next whole frame: its first word, its flags, its body."""
        if len(self._come) < _HEAD:
            return None
        first, second = struct.unpack_from(">II", self._come)
        flags, length = second >> 24, second & 0xFFFFFF
        if first & _CONTROL and first >> 16 & 0x7FFF != VERSION:
            raise SpdyError(f"version {first >> 16 & 0x7FFF} of SPDY, not {VERSION}")
        if length > (LONGEST_CONTROL if first & _CONTROL else LONGEST_DATA):
            raise SpdyError(f"a frame of {length} bytes is too long")
        if len(self._come) < _HEAD + length:
            return None
        body = bytes(self._come[_HEAD : _HEAD + length])
        del self._come[: _HEAD + length]
        return first, flags, body

    def _control(self, kind: int, flags: int, body: bytes) -> Event | None:
        try:
            if kind == SYN_STREAM:
                return self._opened(flags, body)
            if kind == RST_STREAM:
                stream = struct.unpack_from(">I", body)[0] & _ID
                self._streams.discard(stream)
                return StreamReset(stream)
            if kind == PING:
                self._pong(body)
            return GoAwayReceived() if kind == GOAWAY else None
        except struct.error as error:
            raise SpdyError(f"a frame of kind {kind} is too short") from error

    def _opened(self, flags: int, body: bytes) -> StreamOpened:
        stream = struct.unpack_from(">IIH", body)[0] & _ID
        headers = self._unpacker.unpack(body[10:])
        if stream % 2 == 0 or stream <= self._last:
            raise SpdyError(f"{stream} is no number for a new stream")
        if len(self._streams) >= MOST_STREAMS:
            raise SpdyError("too many streams")
        self._last = stream
        self._streams.add(stream)
        return StreamOpened(stream, headers, bool(flags & FIN))

    def _data(self, stream: int, flags: int, body: bytes) -> DataReceived | None:
        """The event for a data frame; None for a closed stream, whose data is dropped."""
        return DataReceived(stream, body, bool(flags & FIN)) if stream in self._streams else None

    def _pong(self, body: bytes) -> None:
        (number,) = struct.unpack_from(">I", body)
        if number % 2:
            self._send(PING, 0, body[:4])

    def accept(self, stream: int) -> None:
        self._send(SYN_REPLY, 0, struct.pack(">I", stream) + self._packer.pack({}))

    def refuse(self, stream: int) -> None:
        self._streams.discard(stream)
        self._send(RST_STREAM, 0, struct.pack(">II", stream, CANCEL))

    def send_data(self, stream: int, data: bytes, *, last: bool = False) -> None:
        """Sends data on a stream, unless the client has reset it."""
        if stream not in self._streams:
            return
        for start in range(0, len(data), _PIECE):
            piece = data[start : start + _PIECE]
            ends = last and start + _PIECE >= len(data)
            self._out.append(struct.pack(">II", stream, (FIN if ends else 0) << 24 | len(piece)) + piece)
        if last and not data:
            self._out.append(struct.pack(">II", stream, FIN << 24))

    def send_goaway(self) -> None:
        self._send(GOAWAY, 0, struct.pack(">II", self._last, 0))

    def _send(self, kind: int, flags: int, body: bytes) -> None:
        self._out.append(struct.pack(">II", _CONTROL | VERSION << 16 | kind, flags << 24 | len(body)) + body)

    def take_output(self) -> bytes:
        out, self._out = b"".join(self._out), []
        return out
