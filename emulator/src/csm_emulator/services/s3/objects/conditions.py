"""Whether an object is as the caller thinks, and which bytes of it are wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime

from csm_emulator.records import Record
from csm_emulator.services.s3.errors import Refused

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
COPY = "x-amz-copy-source-"


def check_reading(headers: Mapping[str, str], record: Record, prefix: str = "") -> None:
    """RFC 9110 §13.2.2: an etag goes before a date. With a prefix it is the source of a copy, which knows no 304."""
    etag, modified = record["etag"], int(record["modified"])
    wanted, unwanted = headers.get(f"{prefix}if-match"), headers.get(f"{prefix}if-none-match")
    since, until = _date(headers, f"{prefix}if-modified-since"), _date(headers, f"{prefix}if-unmodified-since")
    if wanted is not None:
        if not _names(wanted, etag):
            raise Refused("PreconditionFailed")
    elif until is not None and modified > until:
        raise Refused("PreconditionFailed")
    known = since is not None and modified <= since
    if known if unwanted is None else _names(unwanted, etag):
        raise Refused("PreconditionFailed") if prefix else Refused("NotModified", headers=state_headers(record))


def check_writing(headers: Mapping[str, str], record: Record | None) -> None:
    wanted, unwanted = headers.get("if-match"), headers.get("if-none-match")
    if wanted is not None:
        if record is None:
            raise Refused("NoSuchKey")
        if not _names(wanted, record["etag"]):
            raise Refused("PreconditionFailed")
    if unwanted is not None and record is not None and _names(unwanted, record["etag"]):
        raise Refused("PreconditionFailed")


def state_headers(record: Record) -> list[tuple[str, str]]:
    return [("ETag", f'"{record["etag"]}"'), ("Last-Modified", formatdate(record["modified"], usegmt=True))]


def wanted_range(text: str, size: int) -> tuple[int, int] | None:
    """First byte and the one behind the last; None when all is wanted, or what is asked for is no range."""
    found = _RANGE.fullmatch(text.replace(" ", ""))
    if found is None or found[0] == "bytes=-":
        return None
    first, last = found[1], found[2]
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last) + 1 if last else size, size)
        if last and int(last) < start:
            return None
    if start >= end:
        raise Refused("InvalidRange", headers=[("Content-Range", f"bytes */{size}")])
    return start, end


def _names(text: str, etag: str) -> bool:
    named = {one.strip().removeprefix("W/").strip('"') for one in text.split(",")}
    return "*" in named or etag in named


def _date(headers: Mapping[str, str], name: str) -> float | None:
    try:
        return parsedate_to_datetime(headers[name]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
