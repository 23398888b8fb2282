"""AWS signature version 2, in headers and in queries: what boto3 makes URLs with while nobody names a region.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/RESTAuthentication.html has the rules.
"""

from __future__ import annotations

import base64
import hmac
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.requests import Asked

SCHEME = "AWS "
_OF_RESOURCE = re.compile(
    "accelerate|acl|cors|delete|lifecycle|location|logging|notification|partNumber|policy|replication|requestPayment"
    "|response-(?:cache-control|content-disposition|content-encoding|content-language|content-type|expires)"
    "|restore|tagging|torrent|uploadId|uploads|versionId|versioning|versions|website"
)
"""Of the query, what is signed."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request says of who signed it."""

    access: str
    signature: str
    token: str
    date: str
    """As it is signed: of a URL, until when it is good, in seconds."""
    is_url: bool

    def moment(self) -> float:
        """Of the signature, or of a URL's end. Raises ``Refused``."""
        try:
            return float(int(self.date[:12])) if self.is_url else parsedate_to_datetime(self.date).timestamp()
        except (ValueError, OverflowError) as error:
            raise Refused("AccessDenied") from error


def claim(asked: Asked) -> Claim | None:
    """Raises ``Refused`` for half of one."""
    said, query = asked.header("authorization"), dict(asked.call.query)
    if said.startswith(SCHEME):
        access, colon, signature = said.removeprefix(SCHEME).strip().rpartition(":")
        if not colon:
            raise Refused("InvalidArgument")
        date = asked.header("x-amz-date") or asked.header("date")
        return Claim(access, signature, asked.header("x-amz-security-token"), date, is_url=False)
    if "Signature" in query and "AWSAccessKeyId" in query:
        token = query.get("x-amz-security-token", "")
        return Claim(query["AWSAccessKeyId"], query["Signature"], token, query.get("Expires", ""), is_url=True)
    return None


def sign(asked: Asked, of: Claim, secret: str) -> str:
    own = _own_headers(asked, of)
    date = "" if "x-amz-date" in own else of.date
    first = (asked.method, _header(asked, of, "content-md5"), _header(asked, of, "content-type"), date)
    headers = "".join(f"{name}:{value}\n" for name, value in sorted(own.items()))
    text = "\n".join(first) + f"\n{headers}{_resource(asked)}"
    return base64.b64encode(hmac.digest(secret.encode(), text.encode("utf-8", "replace"), "sha1")).decode()


def _own_headers(asked: Asked, of: Claim) -> dict[str, str]:
    """Those of Amazon; in a URL they stand in the query."""
    found = {name: value for name, value in asked.call.headers.items() if name.startswith("x-amz-")}
    if of.is_url:
        found |= {name.lower(): value for name, value in asked.call.query if name.lower().startswith("x-amz-")}
    return {name: " ".join(value.split()) for name, value in found.items()}


def _header(asked: Asked, of: Claim, name: str) -> str:
    return asked.header(name) or (asked.call.first(name) if of.is_url else "")


def _resource(asked: Asked) -> str:
    path = f"/{asked.bucket}{asked.path}" if asked.by_host else asked.path
    if asked.bucket and not asked.key and not path.endswith("/"):
        path += "/"
    chosen = sorted((name, value) for name, value in asked.call.query if _OF_RESOURCE.fullmatch(name))
    return path + ("?" if chosen else "") + "&".join(f"{name}={value}" if value else name for name, value in chosen)
