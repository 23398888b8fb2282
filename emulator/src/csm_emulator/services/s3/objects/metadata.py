"""What a client says of an object beside its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from csm_emulator.services.s3.auth.permissions import PRIVATE, canned
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.requests import Asked
from csm_emulator.services.s3.xml import Unreadable, document, element, leaf, parsed, said

META = "x-amz-meta-"
MEDIA = "binary/octet-stream"
_KEPT = ("cache-control", "content-disposition", "content-encoding", "content-language", "expires")
_CHUNKED = "aws-chunked"
_UNSUPPORTED = ("x-amz-server-side-encryption", "x-amz-grant-", "x-amz-object-lock-", "x-amz-website-redirect")
MOST_TAGS, LONGEST_TAG, LONGEST_VALUE = 10, 128, 256


def described(asked: Asked) -> dict[str, Any]:
    """The part of a record that comes from headers; raises ``Refused``."""
    headers = asked.call.headers
    refuse_unsupported(headers)
    if asked.header("x-amz-storage-class", "STANDARD") != "STANDARD":
        raise Refused("InvalidStorageClass")
    return {
        "media": asked.header("content-type") or MEDIA,
        "headers": _kept(headers),
        "meta": {name: value for name, value in headers.items() if name.startswith(META)},
        "tags": tags_of_header(asked.header("x-amz-tagging")),
        "acl": canned(asked.header("x-amz-acl")) if asked.header("x-amz-acl") else PRIVATE,
    }


def refuse_unsupported(headers: Mapping[str, str]) -> None:
    for name in headers:
        if name.startswith(_UNSUPPORTED):
            raise Refused("NotImplemented", f"The header {name} is not supported.")


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    kept = {name: headers[name] for name in _KEPT if name in headers}
    encoding = _without_chunks(kept.pop("content-encoding", ""))
    return {**kept, "content-encoding": encoding} if encoding else kept


def _without_chunks(encoding: str) -> str:
    """How the body came is over when it is there."""
    return ",".join(each for each in encoding.split(",") if each.strip().lower() != _CHUNKED).strip()


def tags_of_header(text: str) -> dict[str, str]:
    pairs = parse_qsl(text, keep_blank_values=True, errors="replace")
    return _checked(pairs)


def tags_of_body(body: bytes) -> dict[str, str]:
    try:
        root = parsed(body, "Tagging")
    except Unreadable as error:
        raise Refused("MalformedXML") from error
    return _checked([(said(node, "Key"), said(node, "Value")) for node in root.iterfind("TagSet/Tag")])


def _checked(pairs: list[tuple[str, str]]) -> dict[str, str]:
    tags = dict(pairs)
    lengths = all(0 < len(key) <= LONGEST_TAG and len(value) <= LONGEST_VALUE for key, value in pairs)
    if not lengths or len(tags) < len(pairs) or len(tags) > MOST_TAGS:
        raise Refused("InvalidTag")
    return tags


def shown_tags(tags: Mapping[str, str]) -> bytes:
    listed = [element("Tag", leaf("Key", key), leaf("Value", value)) for key, value in tags.items()]
    return document("Tagging", element("TagSet", *listed))
