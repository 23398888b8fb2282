"""The records that S3 stores: buckets, objects, uploads in progress, and their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from csm_emulator.records import Json

StoredPart = Sequence[Json]
"""The name of the blob with its bytes, and their number: a list, as JSON has no tuples."""


class Metadata(TypedDict):
    """What the client sets with the headers of a request."""

    media: str
    headers: dict[str, str]
    meta: dict[str, str]
    tags: dict[str, str]
    acl: list[list[str]]
    """Grants: [name of a user or URI of a group, permission] each."""


class Content(Metadata):
    """An object without the time of its last change."""

    size: int
    etag: str
    sums: dict[str, str]
    """Checksums by algorithm."""
    parts: Sequence[StoredPart]


class ObjectRecord(Content):
    modified: float


class MetadataChanges(TypedDict, total=False):
    tags: dict[str, str]
    acl: list[list[str]]


class BucketRecord(TypedDict):
    created: float
    acl: list[list[str]]
    tags: dict[str, str]
    policy: NotRequired[str]


class BucketChanges(MetadataChanges, total=False):
    policy: str


class UploadRecord(Metadata):
    bucket: str
    key: str
    started: float
    algorithm: str
    """Of the checksum; empty without one."""
    whole: bool
    """Whether the checksum is that of the whole object."""


class PartRecord(TypedDict):
    blob: str
    size: int
    etag: str
    modified: float
    sums: dict[str, str]
