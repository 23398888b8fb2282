"""Lists of the objects in a bucket, a page at a time."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from csm_emulator.services.s3.auth.permissions import owner
from csm_emulator.services.s3.catalogue import Catalogue
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.records import ObjectRecord
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.services.s3.xml import MEDIA, document, element, leaf, timestamp
from csm_emulator.transport.call import Call, Reply

LARGEST_PAGE = 1000


@dataclass(slots=True)
class Page:
    """Keys and common prefixes in order, up to a limit."""

    keys: list[str] = field(default_factory=list)
    prefixes: list[str] = field(default_factory=list)
    last: str = ""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ListOptions:
    prefix: str
    delimiter: str
    start_after: str
    limit: int


def select_page(names: Sequence[str], options: ListOptions) -> Page:
    """The page of the sorted ``names``; it takes time for the page only, however many names there are."""
    page = Page()
    position = max(
        bisect_left(names, options.prefix), bisect_right(names, options.start_after) if options.start_after else 0
    )
    while options.limit and position < len(names) and names[position].startswith(options.prefix):
        common = _common_prefix(names[position], options)
        if common and common == options.start_after:
            position = _skip_prefix(names, position, common)
            continue
        if len(page.keys) + len(page.prefixes) == options.limit:
            page.truncated = True
            break
        page.last = common or names[position]
        (page.prefixes if common else page.keys).append(page.last)
        position = _skip_prefix(names, position, common) if common else position + 1
    return page


def _common_prefix(name: str, options: ListOptions) -> str:
    if not options.delimiter:
        return ""
    end = name.find(options.delimiter, len(options.prefix))
    return "" if end < 0 else name[: end + len(options.delimiter)]


def _skip_prefix(names: Sequence[str], position: int, common: str) -> int:
    """The position of the first name after ``position`` that does not begin with ``common``."""
    position = bisect_left(names, f"{common}\U0010ffff", position)
    while position < len(names) and names[position].startswith(common):
        position += 1
    return position


class Listing:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def list_v1(self, request: S3Request) -> Reply:
        call, encode = request.call, _key_encoder(request.call)
        options = ListOptions(
            call.first("prefix"), call.first("delimiter"), call.first("marker"), limit_of(call, "max-keys")
        )
        page = select_page(self._catalogue.keys(request.bucket), options)
        elements = [leaf("Marker", encode(options.start_after))]
        if page.truncated:
            elements.append(leaf("NextMarker", encode(page.last)))
        return self._reply(request, options, page, elements, owners=True)

    def list_v2(self, request: S3Request) -> Reply:
        call, encode = request.call, _key_encoder(request.call)
        token, start = call.first("continuation-token"), call.first("start-after")
        start_key = _decode_token(token) if call.has("continuation-token") else start
        options = ListOptions(call.first("prefix"), call.first("delimiter"), start_key, limit_of(call, "max-keys"))
        page = select_page(self._catalogue.keys(request.bucket), options)
        elements = [leaf("KeyCount", len(page.keys) + len(page.prefixes))]
        if token:
            elements.append(leaf("ContinuationToken", token))
        if start:
            elements.append(leaf("StartAfter", encode(start)))
        if page.truncated:
            elements.append(leaf("NextContinuationToken", _encode_token(page.last)))
        return self._reply(request, options, page, elements, owners=call.first("fetch-owner") == "true")

    def versions(self, request: S3Request) -> Reply:
        """Each object as its only version: no bucket has versioning."""
        call, encode = request.call, _key_encoder(request.call)
        marker = call.first("key-marker")
        options = ListOptions(call.first("prefix"), call.first("delimiter"), marker, limit_of(call, "max-keys"))
        page = select_page(self._catalogue.keys(request.bucket), options)
        elements = [
            leaf("Name", request.bucket),
            leaf("Prefix", encode(options.prefix)),
            leaf("KeyMarker", encode(marker)),
        ]
        elements += [leaf("MaxKeys", options.limit), leaf("IsTruncated", _boolean(page.truncated))]
        if page.truncated:
            elements.append(leaf("NextKeyMarker", encode(page.last)))
        for key in page.keys:
            key_elements = [leaf("Key", encode(key)), leaf("VersionId", "null"), leaf("IsLatest", "true")]
            elements.append(
                element("Version", *key_elements, *_object_elements(self._record(request.bucket, key)), owner())
            )
        elements += [element("CommonPrefixes", leaf("Prefix", encode(prefix))) for prefix in page.prefixes]
        return Reply(200, document("ListVersionsResult", *elements), MEDIA)

    def _reply(
        self, request: S3Request, options: ListOptions, page: Page, version_elements: list[str], *, owners: bool
    ) -> Reply:
        encode = _key_encoder(request.call)
        elements = [leaf("Name", request.bucket), leaf("Prefix", encode(options.prefix)), *version_elements]
        elements.append(leaf("MaxKeys", options.limit))
        if options.delimiter:
            elements.append(leaf("Delimiter", encode(options.delimiter)))
        if request.call.has("encoding-type"):
            elements.append(leaf("EncodingType", "url"))
        elements.append(leaf("IsTruncated", _boolean(page.truncated)))
        for key in page.keys:
            object_elements = _object_elements(self._record(request.bucket, key))
            elements.append(element("Contents", leaf("Key", encode(key)), *object_elements, owner() if owners else ""))
        elements += [element("CommonPrefixes", leaf("Prefix", encode(prefix))) for prefix in page.prefixes]
        return Reply(200, document("ListBucketResult", *elements), MEDIA)

    def _record(self, bucket: str, key: str) -> ObjectRecord:
        record = self._catalogue.get(bucket, key)
        if record is None:
            raise LookupError(f"{bucket}/{key} is in the list of keys but has no record")
        return record


def limit_of(call: Call, name: str, largest: int = LARGEST_PAGE) -> int:
    text = call.first(name) or str(largest)
    if not (text.isascii() and text.isdigit()):
        raise S3Error("InvalidArgument")
    return min(int(text[:9]), largest)


def _object_elements(record: ObjectRecord) -> list[str]:
    return [
        leaf("LastModified", timestamp(record["modified"])),
        leaf("ETag", f'"{record["etag"]}"'),
        leaf("Size", record["size"]),
        leaf("StorageClass", "STANDARD"),
        leaf("Type", "Normal"),
    ]


def _key_encoder(call: Call) -> Callable[[str], str]:
    encoding = call.first("encoding-type")
    if not call.has("encoding-type"):
        return str
    if encoding != "url":
        raise S3Error("InvalidArgument")
    return lambda text: quote(text, safe="/-._~", errors="replace")


def _encode_token(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _decode_token(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise S3Error("InvalidArgument", "The continuation token provided is incorrect") from error


def _boolean(value: bool) -> str:
    return "true" if value else "false"
