"""A request, read as S3 reads it: which bucket, which object, which part of it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

from csm_emulator.services.s3.errors import Refused
from csm_emulator.transport.call import Call
from csm_emulator.transport.sigv4 import encoded_path

LONGEST_KEY = 1024
ENDPOINTS = ("rgw-vip.nmn", "rgw-vip.hmn", "rgw-vip.local", "rgw-vip", "localhost")
"""Names of the service: a host below one of them names a bucket."""


@dataclass(frozen=True, slots=True)
class Asked:
    call: Call
    bucket: str
    key: str
    path: str
    """Percent-encoded, as on the first line: what is signed."""
    by_host: bool = False
    """Whether the host names the bucket, and not the path."""

    @property
    def method(self) -> str:
        return self.call.method

    def header(self, name: str, default: str = "") -> str:
        return self.call.headers.get(name, default)

    @property
    def resource(self) -> str:
        """As policies name it."""
        return f"arn:aws:s3:::{self.bucket}" + (f"/{self.key}" if self.key else "")


def understood(call: Call) -> Asked:
    """Raises ``Refused``."""
    path = call.target.partition("?")[0] or encoded_path(call.path.encode("utf-8", "replace"))
    if "://" in path:
        path = path.partition("://")[2].partition("/")[2]
        path = f"/{path}"
    bucket = _bucket_of_host(call.headers.get("host", ""))
    rest = unquote_to_bytes(path).removeprefix(b"/")
    name, _, inside = (bucket.encode(), b"/", rest) if bucket else rest.partition(b"/")
    if len(inside) > LONGEST_KEY:
        raise Refused("InvalidObjectName")
    try:
        return Asked(call, name.decode(), inside.decode(), path, bool(bucket))
    except UnicodeDecodeError as error:
        raise Refused("InvalidObjectName") from error


def _bucket_of_host(host: str) -> str:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return next((name.removesuffix(f".{own}") for own in ENDPOINTS if name.endswith(f".{own}")), "")
