"""The body of a request, decoded from the chunks of AWS clients."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from csm_emulator.services.s3.auth.authentication import SigningContext
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.objects.checksums import verified_checksums
from csm_emulator.services.s3.requests import S3Request
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
    """By algorithm, in base64: the checksums that the client sent."""


@dataclass(slots=True)
class _DecodedBody:
    pieces: list[bytes] = field(default_factory=list)
    trailers: dict[str, str] = field(default_factory=dict)


def read_payload(request: S3Request, signing: SigningContext | None) -> Payload:
    """Raises ``S3Error`` when the bytes do not match their signature or checksums."""
    data, trailers = read_body(request, signing)
    return Payload(data, verified_checksums(data, {**request.call.headers, **trailers}))


def read_body(request: S3Request, signing: SigningContext | None) -> tuple[bytes, Mapping[str, str]]:
    """(data, trailing headers); the signatures of signed chunks are verified."""
    content_sha256, body = request.header("x-amz-content-sha256"), request.call.body
    if content_sha256.startswith("STREAMING-"):
        decoded = _decode_chunks(body, content_sha256, signing)
        data = b"".join(decoded.pieces)
        length = request.header("x-amz-decoded-content-length")
        if length and length != str(len(data)):
            raise S3Error("IncompleteBody")
        return data, decoded.trailers
    if _HASH.fullmatch(content_sha256) and hashlib.sha256(body).hexdigest() != content_sha256.lower():
        raise S3Error("XAmzContentSHA256Mismatch")
    return body, {}


def _decode_chunks(body: bytes, content_sha256: str, signing: SigningContext | None) -> _DecodedBody:
    verifier = _chunk_verifier(content_sha256, signing)
    decoded, place = _DecodedBody(), 0
    while True:
        head = _CHUNK.match(body, place)
        if head is None:
            raise S3Error("IncompleteBody")
        size, place = int(head[1], 16), head.end()
        piece = body[place : place + size]
        if verifier:
            verifier.check_chunk(piece, head[2] or b"")
        if not size:
            break
        if len(piece) < size or body[place + size : place + size + 2] != b"\r\n":
            raise S3Error("IncompleteBody")
        decoded.pieces.append(piece)
        place += size + 2
    _read_trailers(body[place:], decoded)
    if verifier and content_sha256.endswith("-TRAILER"):
        verifier.check_trailers(decoded.trailers)
    return decoded


def _chunk_verifier(content_sha256: str, signing: SigningContext | None) -> _ChunkVerifier | None:
    if content_sha256 == _UNSIGNED:
        return None
    if content_sha256 not in _SIGNED:
        raise S3Error("NotImplemented", f"The content SHA256 {content_sha256} is not supported.")
    if signing is None:
        raise S3Error("AccessDenied")
    return _ChunkVerifier(signing)


def _read_trailers(text: bytes, decoded: _DecodedBody) -> None:
    for line in text.split(b"\r\n"):
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            decoded.trailers[name.strip().lower()] = value.strip()


class _ChunkVerifier:
    """Verifies the signatures of chunks: each covers the signature of the previous chunk."""

    def __init__(self, signing: SigningContext) -> None:
        self._signing = signing
        self._previous_signature = signing.signature

    def check_chunk(self, data: bytes, chunk_signature: bytes) -> None:
        self._check("PAYLOAD", f"{_EMPTY}\n{hashlib.sha256(data).hexdigest()}", chunk_signature.decode())

    def check_trailers(self, trailers: dict[str, str]) -> None:
        trailer_signature = trailers.pop("x-amz-trailer-signature", "")
        text = "".join(f"{name}:{value}\n" for name, value in sorted(trailers.items()))
        self._check("TRAILER", hashlib.sha256(text.encode("latin-1")).hexdigest(), trailer_signature)

    def _check(self, kind: str, hashes: str, received: str) -> None:
        signing = self._signing
        text = f"AWS4-HMAC-SHA256-{kind}\n{signing.date}\n{signing.scope}\n{self._previous_signature}\n{hashes}"
        self._previous_signature = signature(signing.secret, signing.scope, text)
        if not hmac.compare_digest(self._previous_signature.encode(), received.lower().encode("latin-1", "replace")):
            raise S3Error("SignatureDoesNotMatch")
