"""AWS signature version 2, in headers and queries: boto3 presigns URLs with it when no region is configured.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/RESTAuthentication.html has the rules.
"""

from __future__ import annotations

import base64
import hmac
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.requests import S3Request

SCHEME = "AWS "
_SIGNED_PARAMETERS = re.compile(
    "accelerate|acl|cors|delete|lifecycle|location|logging|notification|partNumber|policy|replication|requestPayment"
    "|response-(?:cache-control|content-disposition|content-encoding|content-language|content-type|expires)"
    "|restore|tagging|torrent|uploadId|uploads|versionId|versioning|versions|website"
)
"""Query parameters that the signature covers."""


@dataclass(frozen=True, slots=True)
class SignatureClaim:
    """The signature in a request, and what it claims."""

    access: str
    signature: str
    token: str
    date: str
    """The date as it was signed; of a URL, the Unix time when it expires."""
    is_url: bool

    def moment(self) -> float:
        """Unix time of the signature, or of a URL's expiry. Raises ``S3Error``."""
        try:
            return float(int(self.date[:12])) if self.is_url else parsedate_to_datetime(self.date).timestamp()
        except (ValueError, OverflowError) as error:
            raise S3Error("AccessDenied") from error


def claim_of(request: S3Request) -> SignatureClaim | None:
    """The claim; None when the request has none. Raises ``S3Error`` for an incomplete one."""
    authorization, query = request.header("authorization"), dict(request.call.query)
    if authorization.startswith(SCHEME):
        access, colon, signature = authorization.removeprefix(SCHEME).strip().rpartition(":")
        if not colon:
            raise S3Error("InvalidArgument")
        date = request.header("x-amz-date") or request.header("date")
        return SignatureClaim(access, signature, request.header("x-amz-security-token"), date, is_url=False)
    if "Signature" in query and "AWSAccessKeyId" in query:
        token = query.get("x-amz-security-token", "")
        return SignatureClaim(query["AWSAccessKeyId"], query["Signature"], token, query.get("Expires", ""), is_url=True)
    return None


def sign(request: S3Request, signer: SignatureClaim, secret: str) -> str:
    amazon_headers = _amazon_headers(request, signer)
    date = "" if "x-amz-date" in amazon_headers else signer.date
    lines = (request.method, _header(request, signer, "content-md5"), _header(request, signer, "content-type"), date)
    headers = "".join(f"{name}:{value}\n" for name, value in sorted(amazon_headers.items()))
    text = "\n".join(lines) + f"\n{headers}{_resource(request)}"
    return base64.b64encode(hmac.digest(secret.encode(), text.encode("utf-8", "replace"), "sha1")).decode()


def _amazon_headers(request: S3Request, signer: SignatureClaim) -> dict[str, str]:
    """The ``x-amz-`` headers; those of a URL are in the query."""
    amazon_headers = {name: value for name, value in request.call.headers.items() if name.startswith("x-amz-")}
    if signer.is_url:
        amazon_headers |= {
            name.lower(): value for name, value in request.call.query if name.lower().startswith("x-amz-")
        }
    return {name: " ".join(value.split()) for name, value in amazon_headers.items()}


def _header(request: S3Request, signer: SignatureClaim, name: str) -> str:
    return request.header(name) or (request.call.first(name) if signer.is_url else "")


def _resource(request: S3Request) -> str:
    path = f"/{request.bucket}{request.path}" if request.by_host else request.path
    if request.bucket and not request.key and not path.endswith("/"):
        path += "/"
    parameters = sorted((name, value) for name, value in request.call.query if _SIGNED_PARAMETERS.fullmatch(name))
    return (
        path
        + ("?" if parameters else "")
        + "&".join(f"{name}={value}" if value else name for name, value in parameters)
    )
