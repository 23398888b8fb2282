"""How an object, or a part of it, goes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from csm_emulator.records import Record
from csm_emulator.services.s3.blobs import Store
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.objects import conditions
from csm_emulator.services.s3.objects.checksums import shown
from csm_emulator.services.s3.requests import Asked
from csm_emulator.transport.call import Reply

IN_ONE = 4 << 20
"""More bytes than these go out piece by piece."""
_OVERRIDES = (
    "response-content-type",
    "response-content-language",
    "response-expires",
    "response-cache-control",
    "response-content-disposition",
    "response-content-encoding",
)


class Reading:
    def __init__(self, store: Store) -> None:
        self._store = store

    def reply(self, asked: Asked, record: Record, *, known: bool) -> Reply:
        conditions.check_reading(asked.call.headers, record)
        media, headers = _told(asked, record, known=known)
        size, parts = record["size"], record["parts"]
        span = _span(asked, record)
        if span is not None:
            headers.append(("Content-Range", f"bytes {span[0]}-{span[1] - 1}/{size}"))
        elif asked.header("x-amz-checksum-mode").upper() == "ENABLED":
            headers += shown(record["sums"])
        start, end = span or (0, size)
        if asked.call.has("partNumber"):
            headers.append(("x-amz-mp-parts-count", str(len(parts))))
        status = 200 if span is None else 206
        if asked.method != "HEAD" and end - start <= IN_ONE:
            return Reply(status, self._store.read(parts, start, end), media, headers)
        headers.append(("Content-Length", str(end - start)))
        return Reply(status, b"", media, headers, stream=lambda: self._store.stream(parts, start, end))


def _told(asked: Asked, record: Record, *, known: bool) -> tuple[str, list[tuple[str, str]]]:
    """Media and headers, some of which the caller may choose."""
    chosen = {name.removeprefix("response-"): asked.call.first(name) for name in _OVERRIDES if asked.call.has(name)}
    if chosen and not known:
        raise Refused("InvalidRequest")
    if not all(value.isascii() and value.isprintable() for value in chosen.values()):
        raise Refused("InvalidArgument")
    media = chosen.pop("content-type", "") or record["media"]
    fixed = {**record["headers"], **chosen}
    headers = [*conditions.state_headers(record), ("Accept-Ranges", "bytes"), ("x-rgw-object-type", "Normal")]
    headers += [*fixed.items(), *record["meta"].items()]
    if record["tags"]:
        headers.append(("x-amz-tagging-count", str(len(record["tags"]))))
    return media, headers


def _span(asked: Asked, record: Record) -> tuple[int, int] | None:
    if asked.call.has("partNumber"):
        return _part(asked.call.first("partNumber"), record["parts"])
    said, only_if = asked.header("range"), asked.header("if-range")
    if not said or (only_if and only_if.strip('"') != record["etag"]):
        return None
    return conditions.wanted_range(said, record["size"])


def _part(text: str, parts: Sequence[Sequence[Any]]) -> tuple[int, int]:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 0
    if not 1 <= number <= len(parts):
        raise Refused("InvalidPart")
    start = sum(size for _, size in parts[: number - 1])
    return start, start + parts[number - 1][1]
