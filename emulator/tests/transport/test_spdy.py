"""SPDY/3.1 as bytes: frames of kubectl, and invalid ones."""

from __future__ import annotations

import struct
import zlib

import pytest

from csm_emulator.transport.spdy import (
    LONGEST_DATA,
    MOST_STREAMS,
    DataReceived,
    Event,
    GoAwayReceived,
    Spdy,
    StreamOpened,
    StreamReset,
)
from csm_emulator.transport.spdy_headers import DICTIONARY, MOST, Packer, SpdyError, Unpacker

FIN = 1


def control(kind: int, body: bytes, flags: int = 0, version: int = 3) -> bytes:
    return struct.pack(">HHI", 0x8000 | version, kind, flags << 24 | len(body)) + body


def data(stream: int, body: bytes, flags: int = 0) -> bytes:
    return struct.pack(">II", stream, flags << 24 | len(body)) + body


class Client:
    """The client, with the frames of moby/spdystream."""

    def __init__(self) -> None:
        self.packer = Packer()

    def open(self, stream: int, **headers: str) -> bytes:
        return control(1, struct.pack(">IIH", stream, 0, 0) + self.packer.pack(headers))


def received(spdy: Spdy, *pieces: bytes) -> list[Event]:
    return [event for piece in pieces for event in spdy.receive(piece)]


def test_the_dictionary_is_the_one_of_the_draft() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_headers_come_back_over_one_connection() -> None:
    packer, unpacker = Packer(), Unpacker()
    for headers in ({"streamtype": "error"}, {"streamtype": "stdout", "x": "ü"}, {}):
        assert unpacker.unpack(packer.pack(headers)) == headers


def test_streams_open_carry_data_and_end() -> None:
    spdy, client = Spdy(), Client()
    events = received(spdy, client.open(1, StreamType="error"), client.open(3, StreamType="stdin"), data(3, b"hi", FIN))
    assert events == [
        StreamOpened(1, {"streamtype": "error"}, last=False),
        StreamOpened(3, {"streamtype": "stdin"}, last=False),
        DataReceived(3, b"hi", last=True),
    ]
    spdy.accept(1)
    spdy.send_data(1, b"bye", last=True)
    out = spdy.take_output()
    assert out.startswith(b"\x80\x03\x00\x02")
    assert out.endswith(struct.pack(">II", 1, FIN << 24 | 3) + b"bye")
    assert spdy.take_output() == b""


def test_what_comes_byte_by_byte_is_the_same() -> None:
    spdy, client = Spdy(), Client()
    whole = client.open(1, streamtype="stdin") + data(1, b"abc")
    events = received(spdy, *(whole[n : n + 1] for n in range(len(whole))))
    assert events == [StreamOpened(1, {"streamtype": "stdin"}, last=False), DataReceived(1, b"abc", last=False)]


def test_a_ping_is_answered_and_the_servers_own_is_not() -> None:
    spdy = Spdy()
    ping = control(6, struct.pack(">I", 7))
    assert received(spdy, ping, control(6, struct.pack(">I", 8))) == []
    assert spdy.take_output() == ping


def test_long_data_goes_out_in_pieces() -> None:
    spdy = Spdy()
    received(spdy, Client().open(1, streamtype="stdout"))
    spdy.send_data(1, b"x" * 100_000, last=True)
    out, lengths = spdy.take_output(), []
    while out:
        word = struct.unpack_from(">I", out, 4)[0]
        lengths.append((word & 0xFFFFFF, word >> 24))
        out = out[8 + (word & 0xFFFFFF) :]
    assert sum(length for length, _ in lengths) == 100_000
    assert [flags for _, flags in lengths] == [0] * (len(lengths) - 1) + [FIN]


def test_a_stream_that_was_reset_or_never_opened_is_silent() -> None:
    spdy = Spdy()
    events = received(spdy, Client().open(1, streamtype="stdin"), control(3, struct.pack(">II", 1, 5)), data(1, b"x"))
    assert events[1:] == [StreamReset(1)]
    assert received(spdy, data(9, b"x"), control(7, struct.pack(">II", 0, 0))) == [GoAwayReceived()]
    spdy.send_data(1, b"x")
    assert spdy.take_output() == b""


@pytest.mark.parametrize(
    "garbage",
    [
        control(1, b"", version=2),
        control(1, b"\0\0"),
        control(1, struct.pack(">IIH", 1, 0, 0) + b"no zlib"),
        control(1, struct.pack(">IIH", 2, 0, 0) + Packer().pack({"a": "b"})),
        control(3, b""),
        control(6, b"\0"),
        struct.pack(">HHI", 0x8003, 1, 0xFFFFFF),
        struct.pack(">II", 1, LONGEST_DATA + 1),
    ],
)
def test_what_is_no_spdy_is_an_error(garbage: bytes) -> None:
    with pytest.raises(SpdyError):
        received(Spdy(), garbage)


def test_headers_cannot_be_a_bomb_nor_lie_about_their_length() -> None:
    for plain in (struct.pack(">II", 1, MOST * 2) + b"\0" * MOST * 2, struct.pack(">II", 1, 99) + b"a"):
        packed = zlib.compressobj(zdict=DICTIONARY)
        with pytest.raises(SpdyError):
            Unpacker().unpack(packed.compress(plain) + packed.flush(zlib.Z_SYNC_FLUSH))


def test_the_number_of_streams_is_bounded() -> None:
    spdy, client = Spdy(), Client()
    for number in range(MOST_STREAMS):
        received(spdy, client.open(2 * number + 1, streamtype="x"))
    with pytest.raises(SpdyError, match="too many"):
        received(spdy, client.open(2 * MOST_STREAMS + 1, streamtype="x"))
