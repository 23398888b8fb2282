"""The files of images and recipes in S3, addressed by the links in records and manifests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlparse

from csm_emulator.records import Json
from csm_emulator.services.ims.responses import internal_error
from csm_emulator.transport.s3_client import S3Client, S3Unavailable
from csm_emulator.transport.sigv4 import encoded_path

DELETED = "deleted"
_BUCKET = re.compile(r"[a-zA-Z0-9.\-_]{1,255}")
_DETERMINE = (
    "Please determine the specific information that is missing or invalid and then re-run the request with valid "
    "information."
)


class ArtifactMissing(Exception):
    """S3 does not have the object, or does not answer."""


class NotDeleted(Exception):
    """The object to restore is not under ``deleted/``."""


class S3WithMetadata(S3Client):
    """S3 with object metadata, and with copies that keep content type and metadata."""

    def metadata(self, bucket: str, key: str, name: str) -> str | None:
        """The object's metadata value of this name, empty if unset; None when the object does not exist."""
        reply = self._ask("HEAD", bucket, key)
        if reply.status == 404:
            return None
        headers = {header.lower(): value for header, value in self._checked(reply).headers}
        return headers.get(f"x-amz-meta-{name}", "")

    def upload(self, bucket: str, key: str, data: bytes, metadata: Mapping[str, str]) -> str:
        """Upload the object with metadata; return its etag."""
        headers = {f"x-amz-meta-{name}": value for name, value in metadata.items() if value.isascii()}
        self._checked(self._ask("PUT", bucket, key, headers, data))
        head = self.head(bucket, key)
        return head["etag"] if head else ""

    def copy(self, bucket: str, key: str, to: str) -> str:
        source = encoded_path(f"/{bucket}/{key}")
        self._checked(self._ask("PUT", bucket, to, {"x-amz-copy-source": source}))
        head = self.head(bucket, to)
        return head["etag"] if head else ""


class Artifacts:
    def __init__(self, s3: S3WithMetadata) -> None:
        self.s3 = s3

    def validate(self, link: Json) -> str:
        """The MD5 sum in the object's metadata; raises ``ArtifactMissing``. The link's etag is not compared."""
        bucket, key = bucket_and_key(link)
        try:
            md5 = self.s3.metadata(bucket, key, "md5sum")
        except S3Unavailable:
            md5 = None
        if md5 is None:
            raise ArtifactMissing(f"The s3 artifact {link} cannot be validated. {_DETERMINE}")
        return md5

    def read(self, link: Json) -> bytes | None:
        try:
            return self.s3.get(*bucket_and_key(link))
        except S3Unavailable:
            return None

    def delete(self, link: Json) -> None:
        """Delete the object. Failures are ignored, as in the real service."""
        try:
            self.validate(link)
            self.s3.delete(*bucket_and_key(link))
        except (ArtifactMissing, S3Unavailable):
            return

    def soft_delete(self, link: Json) -> dict[str, str] | None:
        """Move the object under ``deleted/``; return its new link, or None when the move failed."""
        self.validate(link)
        bucket, key = bucket_and_key(link)
        return self._move(bucket, key, f"{DELETED}/{key}")

    def undelete(self, link: Json) -> dict[str, str] | None:
        self.validate(link)
        bucket, key = bucket_and_key(link)
        if not key.startswith(DELETED):
            raise NotDeleted(link)
        return self._move(bucket, key, key[len(DELETED) :].lstrip("/"))

    def _move(self, bucket: str, key: str, to: str) -> dict[str, str] | None:
        try:
            etag = self.s3.copy(bucket, key, to)
            self.s3.delete(bucket, key)
        except S3Unavailable:
            return None
        return {"etag": etag, "path": f"s3://{bucket}/{to}", "type": "s3"}


def bucket_and_key(link: Json) -> tuple[str, str]:
    """Bucket and key of a link; refuses with 500 where the real service fails to parse the link."""
    if not isinstance(link, dict) or not isinstance(link.get("path"), str) or not isinstance(link.get("type"), str):
        raise internal_error()
    if link["type"].lower() != "s3":
        raise internal_error()
    try:
        parsed = urlparse(link["path"], allow_fragments=False)
        link["path"].encode()
    except ValueError:
        raise internal_error() from None
    key = parsed.path.lstrip("/") + (f"?{parsed.query}" if parsed.query else "")
    # boto3 refuses such a bucket, and an empty key, before anything is sent.
    if not _BUCKET.fullmatch(parsed.netloc) or not key:
        raise internal_error()
    return parsed.netloc, key


def public_link(link: Json) -> Json:
    """The link as the API returns it."""
    return {"path": link["path"], "etag": link.get("etag", ""), "type": link["type"]} if link else None
