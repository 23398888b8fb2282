"""URLs for objects in S3 that need no credentials for a day: AWS signature version 4 in the query.

The keys derive from the seed of the site, so that the server of this machine's S3 can derive them too and check.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from csm_emulator.transport import sigv4
from csm_emulator.transport.sigv4 import Keys

ENDPOINT = "http://rgw-vip.nmn"
EXPIRES = 86400
_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_SLASHES = re.compile("/+")
_NOT_IN_URLS = re.compile(r"[\x00-\x1f\x7f]")


class SigningError(Exception):
    """The S3 library cannot sign the address; the text is its message."""


@lru_cache(maxsize=512)
def fetch_url(address: str, keys: Keys, now: int) -> str:
    """An ``s3://`` address as a URL that iPXE can fetch; any other address unchanged. Raises ``SigningError``.

    Cached because thousands of nodes that boot together get the same URL.
    """
    if address[:3].lower() != "s3:" or _BAD_ESCAPE.search(address) or _NOT_IN_URLS.search(address):
        return address
    try:
        parts = urlsplit(address)
    except ValueError:
        return address
    bucket, key = parts.netloc.rpartition("@")[2], unquote(parts.path) if parts.path.startswith("/") else ""
    if not bucket:
        bucket, _, key = key.strip("/").partition("/")
    return presigned(bucket, key, keys, now)


def presigned(bucket: str, key: str, keys: Keys, now: int) -> str:
    _check(bucket, key)
    path = sigv4.encoded_path(_SLASHES.sub("/", f"/{bucket}/{key}"))
    return sigv4.presigned("GET", f"{ENDPOINT}{path}", keys, now, EXPIRES)


def _check(bucket: str, key: str) -> None:
    missing = [name for name, value in (("Bucket", bucket), ("Key", key)) if not value]
    if missing:
        lines = "".join(f"- minimum field size of 1, GetObjectInput.{name}.\n" for name in missing)
        raise SigningError(f"InvalidParameter: {len(missing)} validation error(s) found.\n{lines}")
