"""Conditional requests and ranges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import formatdate, parsedate_to_datetime

from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.records import ObjectRecord

_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
COPY = "x-amz-copy-source-"


def check_reading(headers: Mapping[str, str], record: ObjectRecord, prefix: str = "") -> None:
    """RFC 9110 §13.2.2: an etag takes precedence over a date. With a prefix (source of a copy) there is no 304."""
    etag, modified = record["etag"], int(record["modified"])
    if_match, if_none_match = headers.get(f"{prefix}if-match"), headers.get(f"{prefix}if-none-match")
    since, until = _date(headers, f"{prefix}if-modified-since"), _date(headers, f"{prefix}if-unmodified-since")
    if if_match is not None:
        if not _matches_etag(if_match, etag):
            raise S3Error("PreconditionFailed")
    elif until is not None and modified > until:
        raise S3Error("PreconditionFailed")
    unmodified = since is not None and modified <= since
    if unmodified if if_none_match is None else _matches_etag(if_none_match, etag):
        raise S3Error("PreconditionFailed") if prefix else S3Error("NotModified", headers=state_headers(record))


def check_writing(headers: Mapping[str, str], record: ObjectRecord | None) -> None:
    if_match, if_none_match = headers.get("if-match"), headers.get("if-none-match")
    if if_match is not None:
        if record is None:
            raise S3Error("NoSuchKey")
        if not _matches_etag(if_match, record["etag"]):
            raise S3Error("PreconditionFailed")
    if if_none_match is not None and record is not None and _matches_etag(if_none_match, record["etag"]):
        raise S3Error("PreconditionFailed")


def state_headers(record: ObjectRecord) -> list[tuple[str, str]]:
    return [("ETag", f'"{record["etag"]}"'), ("Last-Modified", formatdate(record["modified"], usegmt=True))]


def parse_range(text: str, size: int) -> tuple[int, int] | None:
    """(first byte, byte after the last); None for the whole object, or when the text is not a valid range."""
    match = _RANGE.fullmatch(text.replace(" ", ""))
    if match is None or match[0] == "bytes=-":
        return None
    first, last = match[1], match[2]
    if not first:
        start, end = max(size - int(last), 0), size
    else:
        start, end = int(first), min(int(last) + 1 if last else size, size)
        if last and int(last) < start:
            return None
    if start >= end:
        raise S3Error("InvalidRange", headers=[("Content-Range", f"bytes */{size}")])
    return start, end


def _matches_etag(text: str, etag: str) -> bool:
    etags = {etag_text.strip().removeprefix("W/").strip('"') for etag_text in text.split(",")}
    return "*" in etags or etag in etags


def _date(headers: Mapping[str, str], name: str) -> float | None:
    try:
        return parsedate_to_datetime(headers[name]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
