"""Header blocks of SPDY/3: compressed over the whole connection, with the dictionary of the specification."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

_WORDS = (  # noqa: SIM905 (fifty lines of one word each are no easier to read)
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
).split()
_WORDS_TOO = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TAIL = (
    b"100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    b"Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    b"Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    b"00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    b"application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    b"charset=iso-8859-1,utf-,*,enq=0."
)
MOST = 64 << 10
"""Bytes of an uncompressed header block: zlib could expand a few bytes to gigabytes."""


class SpdyError(Exception):
    """The client violates SPDY/3.1; the connection is closed."""


def _with_length(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">I", len(data)) + data


DICTIONARY = b"".join(_with_length(word) for word in (*_WORDS, *_WORDS_TOO)) + _TAIL
"""Section 2.6.10.1 of the SPDY/3 draft; its Adler-32 stands in every stream."""


class Packer:
    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zdict=DICTIONARY)

    def pack(self, headers: Mapping[str, str]) -> bytes:
        texts = [text for name, value in headers.items() for text in (name.lower(), value)]
        plain = struct.pack(">I", len(headers)) + b"".join(_with_length(text) for text in texts)
        return self._zlib.compress(plain) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class Unpacker:
    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)

    def unpack(self, block: bytes) -> dict[str, str]:
        """Raises ``SpdyError``."""
        try:
            plain = self._zlib.decompress(block, MOST)
        except zlib.error as error:
            raise SpdyError(f"a block of headers cannot be unpacked: {error}") from error
        if self._zlib.unconsumed_tail:
            raise SpdyError("a block of headers is too long")
        try:
            return _pairs(plain)
        except (struct.error, UnicodeDecodeError) as error:
            raise SpdyError(f"a block of headers cannot be read: {error}") from error


def _pairs(plain: bytes) -> dict[str, str]:
    (count,) = struct.unpack_from(">I", plain)
    place = 4
    texts: list[str] = []
    while len(texts) < 2 * count:
        (length,) = struct.unpack_from(">I", plain, place)
        if place + 4 + length > len(plain):
            raise SpdyError("a block of headers ends too early")
        texts.append(plain[place + 4 : place + 4 + length].decode())
        place += 4 + length
    return {name.lower(): value for name, value in zip(texts[::2], texts[1::2], strict=True)}
