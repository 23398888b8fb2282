"""S3 requests: the bucket and the key that a request names."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote_to_bytes, urlsplit

from csm_emulator.services.s3.errors import S3Error
from csm_emulator.transport.call import Call
from csm_emulator.transport.sigv4 import encoded_path

LONGEST_KEY = 1024
ENDPOINTS = ("rgw-vip.nmn", "rgw-vip.hmn", "rgw-vip.local", "rgw-vip", "localhost")
"""Host names of the service; a host below one of them names a bucket."""


@dataclass(frozen=True, slots=True)
class S3Request:
    call: Call
    bucket: str
    key: str
    path: str
    """Percent-encoded, as in the request line; the signature covers it."""
    by_host: bool = False
    """Whether the host names the bucket instead of the path."""

    @property
    def method(self) -> str:
        return self.call.method

    def header(self, name: str, default: str = "") -> str:
        return self.call.headers.get(name, default)

    @property
    def resource(self) -> str:
        """The name of the resource in policies."""
        return f"arn:aws:s3:::{self.bucket}" + (f"/{self.key}" if self.key else "")


def parse_request(call: Call) -> S3Request:
    """Raises ``S3Error``."""
    path = call.target.partition("?")[0] or encoded_path(call.path.encode("utf-8", "replace"))
    if "://" in path:
        path = path.partition("://")[2].partition("/")[2]
        path = f"/{path}"
    bucket = _bucket_of_host(call.headers.get("host", ""))
    unquoted = unquote_to_bytes(path).removeprefix(b"/")
    name, _, key = (bucket.encode(), b"/", unquoted) if bucket else unquoted.partition(b"/")
    if len(key) > LONGEST_KEY:
        raise S3Error("InvalidObjectName")
    try:
        return S3Request(call, name.decode(), key.decode(), path, bool(bucket))
    except UnicodeDecodeError as error:
        raise S3Error("InvalidObjectName") from error


def _bucket_of_host(host: str) -> str:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
    return next((name.removesuffix(f".{endpoint}") for endpoint in ENDPOINTS if name.endswith(f".{endpoint}")), "")
