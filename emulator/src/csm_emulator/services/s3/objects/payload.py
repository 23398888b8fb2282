"""The body of a request, out of the frames that AWS's clients put it into."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from csm_emulator.services.s3.auth.authentication import Seal
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.objects.checksums import checked
from csm_emulator.services.s3.requests import Asked
from csm_emulator.transport.sigv4 import signature

_EMPTY = hashlib.sha256(b"").hexdigest()
_HASH = re.compile("[0-9a-fA-F]{64}")
_CHUNK = re.compile(rb"([0-9a-fA-F]{1,16})(?:;chunk-signature=([0-9a-fA-F]{64}))?\r\n")
_SIGNED = frozenset({"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"})
_UNSIGNED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


@dataclass(frozen=True, slots=True)
class Payload:
    data: bytes
    checksums: Mapping[str, str]
    """By algorithm, in base64: those that the client sent."""


@dataclass(slots=True)
class _Unframed:
    pieces: list[bytes] = field(default_factory=list)
    trailers: dict[str, str] = field(default_factory=dict)


def read_payload(asked: Asked, seal: Seal | None) -> Payload:
    """Raises ``Refused`` for bytes that are not what the client says they are."""
    data, trailers = read_body(asked, seal)
    return Payload(data, checked(data, {**asked.call.headers, **trailers}))


def read_body(asked: Asked, seal: Seal | None) -> tuple[bytes, Mapping[str, str]]:
    """The bytes, as far as they are signed, and what was said behind them."""
    word, body = asked.header("x-amz-content-sha256"), asked.call.body
    if word.startswith("STREAMING-"):
        unframed = _unframed(body, word, seal)
        data = b"".join(unframed.pieces)
        length = asked.header("x-amz-decoded-content-length")
        if length and length != str(len(data)):
            raise Refused("IncompleteBody")
        return data, unframed.trailers
    if _HASH.fullmatch(word) and hashlib.sha256(body).hexdigest() != word.lower():
        raise Refused("XAmzContentSHA256Mismatch")
    return body, {}


def _unframed(body: bytes, word: str, seal: Seal | None) -> _Unframed:
    chain = _chain(word, seal)
    found, place = _Unframed(), 0
    while True:
        head = _CHUNK.match(body, place)
        if head is None:
            raise Refused("IncompleteBody")
        size, place = int(head[1], 16), head.end()
        piece = body[place : place + size]
        if chain:
            chain.check_chunk(piece, head[2] or b"")
        if not size:
            break
        if len(piece) < size or body[place + size : place + size + 2] != b"\r\n":
            raise Refused("IncompleteBody")
        found.pieces.append(piece)
        place += size + 2
    _read_trailers(body[place:], found)
    if chain and word.endswith("-TRAILER"):
        chain.check_trailers(found.trailers)
    return found


def _chain(word: str, seal: Seal | None) -> _Chain | None:
    if word == _UNSIGNED:
        return None
    if word not in _SIGNED:
        raise Refused("NotImplemented", f"The content SHA256 {word} is not supported.")
    if seal is None:
        raise Refused("AccessDenied")
    return _Chain(seal)


def _read_trailers(text: bytes, found: _Unframed) -> None:
    for line in text.split(b"\r\n"):
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            found.trailers[name.strip().lower()] = value.strip()


class _Chain:
    """Each chunk is signed together with the signature before it."""

    def __init__(self, seal: Seal) -> None:
        self._seal = seal
        self._last = seal.signature

    def check_chunk(self, data: bytes, said: bytes) -> None:
        self._check("PAYLOAD", f"{_EMPTY}\n{hashlib.sha256(data).hexdigest()}", said.decode())

    def check_trailers(self, trailers: dict[str, str]) -> None:
        said = trailers.pop("x-amz-trailer-signature", "")
        text = "".join(f"{name}:{value}\n" for name, value in sorted(trailers.items()))
        self._check("TRAILER", hashlib.sha256(text.encode("latin-1")).hexdigest(), said)

    def _check(self, kind: str, rest: str, said: str) -> None:
        seal = self._seal
        text = f"AWS4-HMAC-SHA256-{kind}\n{seal.when}\n{seal.scope}\n{self._last}\n{rest}"
        self._last = signature(seal.secret, seal.scope, text)
        if not hmac.compare_digest(self._last.encode(), said.lower().encode("latin-1", "replace")):
            raise Refused("SignatureDoesNotMatch")
