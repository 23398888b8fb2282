"""Boot images in S3: an image's manifest, and the artefacts that the manifest names."""

from __future__ import annotations

import json
import re
from urllib.parse import urlparse

from csm_emulator.clients.s3 import S3Client, S3Unavailable
from csm_emulator.records import Json, Record
from csm_emulator.services.bos.failures import Failure, failure_of, s3_failure

_KIND = "application/vnd.cray.image."
KERNEL, INITRD = f"{_KIND}kernel", f"{_KIND}initrd"
ROOTFS, PARAMETERS = f"{_KIND}rootfs.squashfs", f"{_KIND}parameters.boot"
LARGEST_MANIFEST = 1 << 20
_IMAGE = re.compile(r"^([^/]+)/.+")


class ArtefactMissing(Failure):
    def __init__(self, message: str = "") -> None:
        super().__init__("bos.common.clients.s3.exceptions.ArtifactNotFound", message)


def bucket_and_key(url: str) -> tuple[str, str]:
    """The bucket and key of an S3 URL; raises ``Failure`` when the text is not a URL."""
    try:
        parsed = urlparse(url, allow_fragments=False)
    except ValueError as error:
        raise failure_of(error) from None
    key = parsed.path.lstrip("/")
    return parsed.netloc, f"{key}?{parsed.query}" if parsed.query else key


def image_id(url: str) -> str | None:
    """The id of the IMS image that an S3 URL belongs to: the first part of the key. None when the key has one part."""
    match = _IMAGE.match(bucket_and_key(url)[1])
    return match[1] if match else None


class Images:
    def __init__(self, s3: S3Client) -> None:
        self._s3 = s3

    def read(self, boot_set: Record) -> BootImage:
        """The image of a boot set; raises ``Failure`` when its manifest cannot be read."""
        kind, path = boot_set.get("type"), boot_set.get("path")
        if not kind:
            raise s3_failure("BootImageMetadataUnknown", f"No path type set in boot set: {boot_set}")
        if kind != "s3":
            raise s3_failure("BootImageMetadataUnknown", f"No BootImageMetadata class for type {kind}")
        if path is None:
            raise s3_failure("BootImageError", f"Boot set is missing required 'path' field: {boot_set}")
        return BootImage(path, self._manifest(path))

    def _manifest(self, path: str) -> Json:
        size = self._size(path)
        if size is not None and size > LARGEST_MANIFEST:
            message = f"{path} is supposed to be an image manifest, but {size} bytes is too big for a manifest"
            raise s3_failure("ManifestTooBig", message)
        try:
            text = self.text(path)
        except Failure:
            raise s3_failure("ManifestNotFound", f"Unable to read manifest file '{path}'.") from None
        try:
            manifest = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise failure_of(error) from None
        if not isinstance(manifest, dict):
            message = f"Manifest should be dict. Invalid data type: {type(manifest).__name__}"
            raise s3_failure("ManifestNotFound", message)
        return manifest

    def _size(self, path: str) -> int | None:
        """The object's size in bytes; None when the object is missing or S3 does not answer."""
        bucket, key = bucket_and_key(path)
        try:
            head = self._s3.head(bucket, key) if bucket and key else None
        except S3Unavailable:
            return None
        return None if head is None else head["size"]

    def require_object(self, artefact: Record) -> None:
        """Raises ``Failure`` when S3 has no such object."""
        path = _link(artefact, "path")
        _link(artefact, "etag")
        if self._size(path) is None:
            raise s3_failure("S3ObjectNotFound", f"s3 object {path} was not found.")

    def text(self, path: str) -> str:
        """The object as text; raises ``Failure`` when it cannot be downloaded or is not UTF-8."""
        bucket, key = bucket_and_key(path)
        try:
            data = self._s3.get(bucket, key) if bucket and key else None
            if data is not None:
                return data.decode()
        except S3Unavailable:
            pass
        except UnicodeDecodeError as error:
            raise failure_of(error) from None
        raise s3_failure("S3ObjectNotFound", f"Unable to download object {path}.")


class BootImage:
    """An image by its manifest. A missing artefact is reported only when that artefact is needed."""

    def __init__(self, url: str, manifest: Json) -> None:
        self.url = url
        self._manifest = manifest
        # A malformed manifest fails here. A manifest that lacks an artefact fails only when that artefact is needed.
        for kind in (KERNEL, INITRD, ROOTFS, PARAMETERS):
            artefact = self.find(kind)
            if artefact is not None:
                _link(artefact, "path")

    def find(self, kind: str) -> Record | None:
        try:
            matches = [artefact for artefact in self._manifest["artifacts"] if artefact["type"] == kind]
        except (KeyError, TypeError) as error:
            raise failure_of(error) from None
        if len(matches) > 1:
            raise s3_failure("TooManyArtifacts", f"Multiple {kind} artifacts found in the manifest.")
        return matches[0] if matches else None

    def artefact(self, kind: str) -> Record:
        """The artefact of this type; raises ``ArtefactMissing``."""
        artefact = self.find(kind)
        if artefact is None:
            raise ArtefactMissing(f"No artifact of type {kind} could be found in the image manifest.")
        return artefact

    def path(self, kind: str) -> str:
        return _link(self.artefact(kind), "path")

    def etag(self, kind: str) -> str:
        return _link(self.artefact(kind), "etag")


def _link(artefact: Record, name: str) -> str:
    try:
        return str(artefact["link"][name])
    except (KeyError, TypeError) as error:
        raise failure_of(error) from None
