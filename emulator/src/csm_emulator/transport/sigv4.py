"""AWS signature version 4, in headers and in queries.

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html has the rules and the examples.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote, unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
REGION = "default"
"""Of Ceph's RADOS gateway, which takes any."""
UNSIGNED = "UNSIGNED-PAYLOAD"
_STAMP = "%Y%m%dT%H%M%SZ"
_SAFE = "-._~"

Query = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Keys:
    access: str
    secret: str


@dataclass(frozen=True, slots=True)
class Request:
    """The signed parts of a request."""

    method: str
    path: str
    """Percent-encoded, as on the first line."""
    query: tuple[tuple[str, str], ...]
    """Decoded."""
    headers: Mapping[str, str]
    """Names in lower case."""
    payload: str
    """The hash of the body, or a constant such as UNSIGNED-PAYLOAD."""


def stamp(moment: float) -> str:
    return datetime.fromtimestamp(int(moment), UTC).strftime(_STAMP)


def moment_of(text: str) -> float:
    """The moment of a time stamp; raises ``ValueError``."""
    return datetime.strptime(text, _STAMP).replace(tzinfo=UTC).timestamp()


def encoded_path(path: str | bytes) -> str:
    return quote(path, safe=f"/{_SAFE}")


def signature(secret: str, scope: str, text: str) -> str:
    """``scope`` is date, region, service and ``aws4_request``, with slashes between."""
    key = f"AWS4{secret}".encode()
    for part in (*scope.split("/"), text):
        key = hmac.digest(key, part.encode(), "sha256")
    return key.hex()


def scope_of(when: str, region: str = REGION, service: str = "s3") -> str:
    return f"{when[:8]}/{region}/{service}/aws4_request"


def sign(request: Request, signed: Iterable[str], secret: str, when: str, scope: str) -> str:
    """The signature of a request; ``signed`` are the names of the signed headers, in order."""
    digest = hashlib.sha256(_canonical(request, list(signed)).encode("latin-1", "replace")).hexdigest()
    return signature(secret, scope, f"{ALGORITHM}\n{when}\n{scope}\n{digest}")


def signed_headers(request: Request, keys: Keys, moment: float, region: str = REGION) -> dict[str, str]:
    """The headers of the request with those of its signature."""
    when = stamp(moment)
    scope = scope_of(when, region)
    headers = {**request.headers, "x-amz-date": when, "x-amz-content-sha256": request.payload}
    names = sorted(headers)
    whole = Request(request.method, request.path, request.query, headers, request.payload)
    signature_text = sign(whole, names, keys.secret, when, scope)
    credential = f"{keys.access}/{scope}"
    headers["authorization"] = (
        f"{ALGORITHM} Credential={credential}, SignedHeaders={';'.join(names)}, Signature={signature_text}"
    )
    return headers


def presigned(method: str, url: str, keys: Keys, moment: float, expires: int) -> str:
    """A presigned URL, valid for ``expires`` seconds; ``url`` is ``http://host/path`` with the path encoded."""
    host, slash, path = url.partition("//")[2].partition("/")
    when = stamp(moment)
    scope = scope_of(when)
    query = (
        ("X-Amz-Algorithm", ALGORITHM),
        ("X-Amz-Credential", f"{keys.access}/{scope}"),
        ("X-Amz-Date", when),
        ("X-Amz-Expires", str(expires)),
        ("X-Amz-SignedHeaders", "host"),
    )
    request = Request(method, slash + path, query, {"host": host}, UNSIGNED)
    signature_text = sign(request, ["host"], keys.secret, when, scope)
    return f"{url}?{_canonical_query(query)}&X-Amz-Signature={signature_text}"


def _canonical(request: Request, signed: list[str]) -> str:
    path = encoded_path(unquote_to_bytes(request.path)) or "/"
    headers = "".join(f"{name}:{' '.join(request.headers.get(name, '').split())}\n" for name in signed)
    query = _canonical_query(request.query)
    return f"{request.method}\n{path}\n{query}\n{headers}\n{';'.join(signed)}\n{request.payload}"


def _canonical_query(query: Query) -> str:
    """The encoded query, sorted, without the signature itself."""
    pairs = sorted((_encoded(name), _encoded(value)) for name, value in query if name.lower() != "x-amz-signature")
    return "&".join(f"{name}={value}" for name, value in pairs)


def _encoded(text: str) -> str:
    return quote(text, safe=_SAFE, errors="replace")
