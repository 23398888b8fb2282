"""URLs for objects in S3 that need no credentials for a day: AWS signature version 4 in the query.

The keys are the site's, made from its seed: whoever serves S3 for this machine can make them again and check.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

from canton.emulator.machine.dice import Dice

ENDPOINT = "http://rgw-vip.nmn"
REGION = "default"
EXPIRES = 86400
_ALGORITHM = "AWS4-HMAC-SHA256"
_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_SLASHES = re.compile("/+")
_NOT_IN_URLS = re.compile(r"[\x00-\x1f\x7f]")


class Unsigned(Exception):
    """What the S3 library says of an address that it cannot sign."""


@dataclass(frozen=True, slots=True)
class Keys:
    access: str
    secret: str


def site_keys(dice: Dice) -> Keys:
    return Keys(dice.hex(20, "s3.access-key", "bss").upper(), dice.hex(40, "s3.secret-key", "bss"))


@lru_cache(maxsize=512)
def resolved(address: str, keys: Keys, moment: int) -> str:
    """An ``s3://`` address as a URL that iPXE can fetch; any other as it is. Raises ``Unsigned``.

    Kept because thousands of nodes that boot together get the same one.
    """
    if address[:3].lower() != "s3:" or _BAD_ESCAPE.search(address) or _NOT_IN_URLS.search(address):
        return address
    try:
        place = urlsplit(address)
    except ValueError:
        return address
    bucket, key = place.netloc.rpartition("@")[2], unquote(place.path) if place.path.startswith("/") else ""
    if not bucket:
        bucket, _, key = key.strip("/").partition("/")
    return presigned(bucket, key, keys, moment)


def presigned(bucket: str, key: str, keys: Keys, moment: int) -> str:
    _check(bucket, key)
    path = quote(_SLASHES.sub("/", f"/{bucket}/{key}"), safe="/-._~")
    now = datetime.fromtimestamp(moment, UTC).strftime("%Y%m%dT%H%M%SZ")
    scope = f"{now[:8]}/{REGION}/s3/aws4_request"
    credential = quote(f"{keys.access}/{scope}", safe="")
    query = (
        f"X-Amz-Algorithm={_ALGORITHM}&X-Amz-Credential={credential}&X-Amz-Date={now}"
        f"&X-Amz-Expires={EXPIRES}&X-Amz-SignedHeaders=host"
    )
    host = ENDPOINT.partition("//")[2]
    request = f"GET\n{path}\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD"
    text = f"{_ALGORITHM}\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    return f"{ENDPOINT}{path}?{query}&X-Amz-Signature={_signature(keys.secret, scope, text)}"


def _check(bucket: str, key: str) -> None:
    missing = [name for name, value in (("Bucket", bucket), ("Key", key)) if not value]
    if missing:
        lines = "".join(f"- minimum field size of 1, GetObjectInput.{name}.\n" for name in missing)
        raise Unsigned(f"InvalidParameter: {len(missing)} validation error(s) found.\n{lines}")


def _signature(secret: str, scope: str, text: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), text):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()
