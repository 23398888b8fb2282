"""The files of images and recipes in S3, by the links that records and manifests hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlparse

from csm_emulator.clients.s3 import S3, S3Unavailable
from csm_emulator.records import Json
from csm_emulator.services.ims.responses import crashed
from csm_emulator.transport.sigv4 import encoded_path

DELETED = "deleted"
_BUCKET = re.compile(r"[a-zA-Z0-9.\-_]{1,255}")
_DETERMINE = (
    "Please determine the specific information that is missing or invalid and then re-run the request with valid "
    "information."
)


class ArtifactMissing(Exception):
    """S3 has no such object, or does not say."""


class NotDeleted(Exception):
    """What is to be undeleted does not lie where deleted things lie."""


class Bucket(S3):
    """S3, and a copy inside of it, which keeps the kind and the notes of an object."""

    def note(self, bucket: str, key: str, name: str) -> str | None:
        """What was noted with the object under this name; None when there is no such object."""
        reply = self._ask("HEAD", bucket, key)
        if reply.status == 404:
            return None
        headers = {header.lower(): value for header, value in self._checked(reply).headers}
        return headers.get(f"x-amz-meta-{name}", "")

    def upload(self, bucket: str, key: str, data: bytes, notes: Mapping[str, str]) -> str:
        """The etag."""
        headers = {f"x-amz-meta-{name}": value for name, value in notes.items() if value.isascii()}
        self._checked(self._ask("PUT", bucket, key, headers, data))
        stored = self.head(bucket, key)
        return stored["etag"] if stored else ""

    def copy(self, bucket: str, key: str, to: str) -> str:
        source = encoded_path(f"/{bucket}/{key}")
        self._checked(self._ask("PUT", bucket, to, {"x-amz-copy-source": source}))
        copied = self.head(bucket, to)
        return copied["etag"] if copied else ""


class Artifacts:
    def __init__(self, s3: Bucket) -> None:
        self.s3 = s3

    def validate(self, link: Json) -> str:
        """The sum that was noted with the object. Raises ``ArtifactMissing``; another etag is not minded."""
        bucket, key = place(link)
        try:
            noted = self.s3.note(bucket, key, "md5sum")
        except S3Unavailable:
            noted = None
        if noted is None:
            raise ArtifactMissing(f"The s3 artifact {link} cannot be validated. {_DETERMINE}")
        return noted

    def read(self, link: Json) -> bytes | None:
        try:
            return self.s3.get(*place(link))
        except S3Unavailable:
            return None

    def delete(self, link: Json) -> None:
        """What cannot be deleted stays, and nobody is told."""
        try:
            self.validate(link)
            self.s3.delete(*place(link))
        except (ArtifactMissing, S3Unavailable):
            return

    def soft_delete(self, link: Json) -> dict[str, str] | None:
        """Where it lies now; None when it could not be moved."""
        self.validate(link)
        bucket, key = place(link)
        return self._move(bucket, key, f"{DELETED}/{key}")

    def undelete(self, link: Json) -> dict[str, str] | None:
        self.validate(link)
        bucket, key = place(link)
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


def place(link: Json) -> tuple[str, str]:
    """Bucket and key. What the real one cannot take apart, it trips over."""
    if not isinstance(link, dict) or not isinstance(link.get("path"), str) or not isinstance(link.get("type"), str):
        raise crashed()
    if link["type"].lower() != "s3":
        raise crashed()
    try:
        found = urlparse(link["path"], allow_fragments=False)
        link["path"].encode()
    except ValueError:
        raise crashed() from None
    key = found.path.lstrip("/") + (f"?{found.query}" if found.query else "")
    # boto3 refuses such a bucket, and an empty key, before anything is sent.
    if not _BUCKET.fullmatch(found.netloc) or not key:
        raise crashed()
    return found.netloc, key


def shown_link(link: Json) -> Json:
    """As records show it."""
    return {"path": link["path"], "etag": link.get("etag", ""), "type": link["type"]} if link else None
