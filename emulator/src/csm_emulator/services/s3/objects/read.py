"""Replies with an object or a part of it."""

from __future__ import annotations

from collections.abc import Sequence

from csm_emulator.services.s3.blobs import BlobStore
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.objects import conditions
from csm_emulator.services.s3.objects.checksums import checksum_headers
from csm_emulator.services.s3.records import ObjectRecord, StoredPart
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.transport.call import Reply

LARGEST_UNSTREAMED = 4 << 20
"""Bytes; a longer reply is streamed."""
_OVERRIDES = (
    "response-content-type",
    "response-content-language",
    "response-expires",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
)


class ObjectReader:
    def __init__(self, store: BlobStore) -> None:
        self._store = store

    def reply(self, request: S3Request, record: ObjectRecord, *, authenticated: bool) -> Reply:
        conditions.check_reading(request.call.headers, record)
        media, headers = _response_headers(request, record, authenticated=authenticated)
        size, parts = record["size"], record["parts"]
        span = _requested_range(request, record)
        if span is not None:
            headers.append(("Content-Range", f"bytes {span[0]}-{span[1] - 1}/{size}"))
        elif request.header("x-amz-checksum-mode").upper() == "ENABLED":
            headers += checksum_headers(record["sums"])
        start, end = span or (0, size)
        if request.call.has("partNumber"):
            headers.append(("x-amz-mp-parts-count", str(len(parts))))
        status = 200 if span is None else 206
        if request.method != "HEAD" and end - start <= LARGEST_UNSTREAMED:
            return Reply(status, self._store.read(parts, start, end), media, headers)
        headers.append(("Content-Length", str(end - start)))
        return Reply(status, b"", media, headers, stream=lambda: self._store.stream(parts, start, end))


def _response_headers(
    request: S3Request, record: ObjectRecord, *, authenticated: bool
) -> tuple[str, list[tuple[str, str]]]:
    """(media type, headers); an authenticated caller may override some headers."""
    overrides = {
        name.removeprefix("response-"): request.call.first(name) for name in _OVERRIDES if request.call.has(name)
    }
    if overrides and not authenticated:
        raise S3Error("InvalidRequest")
    if not all(value.isascii() and value.isprintable() for value in overrides.values()):
        raise S3Error("InvalidArgument")
    media = overrides.pop("content-type", "") or record["media"]
    extra_headers = {**record["headers"], **overrides}
    headers = [*conditions.state_headers(record), ("Accept-Ranges", "bytes"), ("x-rgw-object-type", "Normal")]
    headers += [*extra_headers.items(), *record["meta"].items()]
    if record["tags"]:
        headers.append(("x-amz-tagging-count", str(len(record["tags"]))))
    return media, headers


def _requested_range(request: S3Request, record: ObjectRecord) -> tuple[int, int] | None:
    if request.call.has("partNumber"):
        return _part_range(request.call.first("partNumber"), record["parts"])
    range_header, only_if = request.header("range"), request.header("if-range")
    if not range_header or (only_if and only_if.strip('"') != record["etag"]):
        return None
    return conditions.parse_range(range_header, record["size"])


def _part_range(text: str, parts: Sequence[StoredPart]) -> tuple[int, int]:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= number <= len(parts):
        raise S3Error("InvalidPart")
    start = sum(size for _, size in parts[: number - 1])
    return start, start + parts[number - 1][1]
