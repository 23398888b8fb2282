"""What is in a bucket, by name, a page at a time."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from csm_emulator.records import Record
from csm_emulator.services.s3.auth.permissions import owner
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.index import Catalogue
from csm_emulator.services.s3.requests import Asked
from csm_emulator.services.s3.xml import MEDIA, document, element, instant, leaf
from csm_emulator.transport.call import Call, Reply

LARGEST_PAGE = 1000


@dataclass(slots=True)
class Page:
    """Names and common prefixes, in the order in which they come, up to a limit."""

    keys: list[str] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    last: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    prefix: str
    delimiter: str
    after: str
    limit: int


def page(names: Sequence[str], wanted: Wanted) -> Page:
    """``names`` are in order. Only what is shown is looked at, however many there are."""
    found = Page()
    at = max(bisect_left(names, wanted.prefix), bisect_right(names, wanted.after) if wanted.after else 0)
    while wanted.limit and at < len(names) and names[at].startswith(wanted.prefix):
        common = _common(names[at], wanted)
        if common and common == wanted.after:
            at = _behind(names, at, common)
            continue
        if len(found.keys) + len(found.prefixes) == wanted.limit:
            found.truncated = True
            break
        found.last = common or names[at]
        (found.prefixes if common else found.keys).append(found.last)
        at = _behind(names, at, common) if common else at + 1
    return found


def _common(name: str, wanted: Wanted) -> str:
    if not wanted.delimiter:
        return ""
    end = name.find(wanted.delimiter, len(wanted.prefix))
    return "" if end < 0 else name[: end + len(wanted.delimiter)]


def _behind(names: Sequence[str], at: int, common: str) -> int:
    """The first that does not begin so."""
    at = bisect_left(names, f"{common}\U0010ffff", at)
    while at < len(names) and names[at].startswith(common):
        at += 1
    return at


class Listing:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def first_version(self, asked: Asked) -> Reply:
        call, written = asked.call, _encoding(asked.call)
        wanted = Wanted(call.first("prefix"), call.first("delimiter"), call.first("marker"), limit_of(call, "max-keys"))
        found = page(self._catalogue.keys(asked.bucket), wanted)
        told = [leaf("Marker", written(wanted.after))]
        if found.truncated:
            told.append(leaf("NextMarker", written(found.last)))
        return self._reply(asked, wanted, found, told, owners=True)

    def second_version(self, asked: Asked) -> Reply:
        call, written = asked.call, _encoding(asked.call)
        token, start = call.first("continuation-token"), call.first("start-after")
        after = _opened(token) if call.has("continuation-token") else start
        wanted = Wanted(call.first("prefix"), call.first("delimiter"), after, limit_of(call, "max-keys"))
        found = page(self._catalogue.keys(asked.bucket), wanted)
        told = [leaf("KeyCount", len(found.keys) + len(found.prefixes))]
        if token:
            told.append(leaf("ContinuationToken", token))
        if start:
            told.append(leaf("StartAfter", written(start)))
        if found.truncated:
            told.append(leaf("NextContinuationToken", _closed(found.last)))
        return self._reply(asked, wanted, found, told, owners=call.first("fetch-owner") == "true")

    def versions(self, asked: Asked) -> Reply:
        """No bucket keeps versions, so each object is its own only one."""
        call, written = asked.call, _encoding(asked.call)
        marker = call.first("key-marker")
        wanted = Wanted(call.first("prefix"), call.first("delimiter"), marker, limit_of(call, "max-keys"))
        found = page(self._catalogue.keys(asked.bucket), wanted)
        told = [leaf("Name", asked.bucket), leaf("Prefix", written(wanted.prefix)), leaf("KeyMarker", written(marker))]
        told += [leaf("MaxKeys", wanted.limit), leaf("IsTruncated", _word(found.truncated))]
        if found.truncated:
            told.append(leaf("NextKeyMarker", written(found.last)))
        for key in found.keys:
            lines = [leaf("Key", written(key)), leaf("VersionId", "null"), leaf("IsLatest", "true")]
            told.append(element("Version", *lines, *_facts(self._record(asked.bucket, key)), owner()))
        told += [element("CommonPrefixes", leaf("Prefix", written(prefix))) for prefix in found.prefixes]
        return Reply(200, document("ListVersionsResult", *told), MEDIA)

    def _reply(self, asked: Asked, wanted: Wanted, found: Page, told: list[str], *, owners: bool) -> Reply:
        written = _encoding(asked.call)
        lines = [leaf("Name", asked.bucket), leaf("Prefix", written(wanted.prefix)), *told]
        lines.append(leaf("MaxKeys", wanted.limit))
        if wanted.delimiter:
            lines.append(leaf("Delimiter", written(wanted.delimiter)))
        if asked.call.has("encoding-type"):
            lines.append(leaf("EncodingType", "url"))
        lines.append(leaf("IsTruncated", _word(found.truncated)))
        for key in found.keys:
            facts = _facts(self._record(asked.bucket, key))
            lines.append(element("Contents", leaf("Key", written(key)), *facts, owner() if owners else ""))
        lines += [element("CommonPrefixes", leaf("Prefix", written(prefix))) for prefix in found.prefixes]
        return Reply(200, document("ListBucketResult", *lines), MEDIA)

    def _record(self, bucket: str, key: str) -> Record:
        record = self._catalogue.get(bucket, key)
        if record is None:
            raise LookupError(f"{bucket}/{key} is listed and is not there")
        return record


def limit_of(call: Call, name: str, largest: int = LARGEST_PAGE) -> int:
    text = call.first(name) or str(largest)
    if not (text.isascii() and text.isdigit()):
        raise Refused("InvalidArgument")
    return min(int(text[:9]), largest)


def _facts(record: Record) -> list[str]:
    return [
        leaf("LastModified", instant(record["modified"])),
        leaf("ETag", f'"{record["etag"]}"'),
        leaf("Size", record["size"]),
        leaf("StorageClass", "STANDARD"),
        leaf("Type", "Normal"),
    ]


def _encoding(call: Call) -> Callable[[str], str]:
    asked = call.first("encoding-type")
    if not call.has("encoding-type"):
        return str
    if asked != "url":
        raise Refused("InvalidArgument")
    return lambda text: quote(text, safe="/-._~", errors="replace")


def _closed(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _opened(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise Refused("InvalidArgument", "The continuation token provided is incorrect") from error


def _word(control: bool) -> str:
    return "true" if control else "false"
