"""Metadata of objects: media type, headers, tags."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from csm_emulator.services.s3.auth.permissions import PRIVATE, canned_acl
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.records import Metadata
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.services.s3.xml import XmlError, child_text, document, element, leaf, parse

META = "x-amz-meta-"
MEDIA = "binary/octet-stream"
_STORED_HEADERS = ("cache-control", "content-disposition", "content-encoding", "content-language", "expires")
_CHUNKED = "aws-chunked"
_UNSUPPORTED = ("x-amz-server-side-encryption", "x-amz-grant-", "x-amz-object-lock-", "x-amz-website-redirect")
MOST_TAGS, LONGEST_TAG, LONGEST_VALUE = 10, 128, 256


def metadata_of(request: S3Request) -> Metadata:
    """The fields of a record that come from headers; raises ``S3Error``."""
    headers = request.call.headers
    refuse_unsupported(headers)
    if request.header("x-amz-storage-class", "STANDARD") != "STANDARD":
        raise S3Error("InvalidStorageClass")
    return {
        "media": request.header("content-type") or MEDIA,
        "headers": _stored_headers(headers),
        "meta": {name: value for name, value in headers.items() if name.startswith(META)},
        "tags": tags_of_header(request.header("x-amz-tagging")),
        "acl": canned_acl(request.header("x-amz-acl")) if request.header("x-amz-acl") else PRIVATE,
    }


def refuse_unsupported(headers: Mapping[str, str]) -> None:
    for name in headers:
        if name.startswith(_UNSUPPORTED):
            raise S3Error("NotImplemented", f"The header {name} is not supported.")


def _stored_headers(headers: Mapping[str, str]) -> dict[str, str]:
    selected = {name: headers[name] for name in _STORED_HEADERS if name in headers}
    encoding = _without_chunks(selected.pop("content-encoding", ""))
    return {**selected, "content-encoding": encoding} if encoding else selected


def _without_chunks(encoding: str) -> str:
    """The encoding without ``aws-chunked``, which describes the transfer only."""
    return ",".join(name for name in encoding.split(",") if name.strip().lower() != _CHUNKED).strip()


def tags_of_header(text: str) -> dict[str, str]:
    pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
    return _check_tags(pairs)


def tags_of_body(body: bytes) -> dict[str, str]:
    try:
        root = parse(body, "Tagging")
    except XmlError as error:
        raise S3Error("MalformedXML") from error
    return _check_tags([(child_text(node, "Key"), child_text(node, "Value")) for node in root.iterfind("TagSet/Tag")])


def _check_tags(pairs: list[tuple[str, str]]) -> dict[str, str]:
    tags = dict(pairs)
    lengths_valid = all(0 < len(key) <= LONGEST_TAG and len(value) <= LONGEST_VALUE for key, value in pairs)
    if not lengths_valid or len(tags) < len(pairs) or len(tags) > MOST_TAGS:
        raise S3Error("InvalidTag")
    return tags


def tags_document(tags: Mapping[str, str]) -> bytes:
    elements = [element("Tag", leaf("Key", key), leaf("Value", value)) for key, value in tags.items()]
    return document("Tagging", element("TagSet", *elements))
