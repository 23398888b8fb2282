"""Authentication: with the site's keys, with the keys of an STS session, or anonymous."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from csm_emulator.seed_data import session_keys
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.services.s3.auth import signature_v2
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.requests import S3Request
from csm_emulator.state.clock import Clock
from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.sigv4 import ALGORITHM, UNSIGNED, Request, moment_of, sign

SKEW = 15 * 60
LONGEST_URL = 7 * 86400
_FIELD = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_NOT_SIGNED = "There were headers present in the request which were not signed"
_UNKNOWN = "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."


@dataclass(frozen=True, slots=True)
class SigningContext:
    """The values from which the signatures of a body's chunks are computed."""

    secret: str
    date: str
    scope: str
    signature: str


@dataclass(frozen=True, slots=True)
class SignatureClaim:
    """The signature in a request, and what it claims."""

    access: str
    scope: str
    signed: tuple[str, ...]
    signature: str
    date: str
    token: str
    payload: str
    expires: int | None = None
    """Seconds that a presigned URL is valid."""


class Authenticator:
    """Checks signatures, by virtual and by real time.

    Clients sign with real time. BSS and the other services sign URLs with the machine's virtual time, and nodes use
    them in virtual time. So a signature is valid when it is valid by one of the two clocks. A session of STS expires
    in real time, since clients compare its Expiration with their own clock.
    """

    def __init__(self, random: SeededRandom, clock: Clock, wall: Callable[[], float] = time.time) -> None:
        self._random = random
        self._own = s3_keys(random)
        self._clock = clock
        self._wall = wall

    def authenticate(self, request: S3Request) -> SigningContext | None:
        """None for an anonymous request; raises ``S3Error`` for an invalid signature."""
        v2_claim = signature_v2.claim_of(request)
        if v2_claim is not None:
            return self._authenticate_v2(request, v2_claim)
        claim = _claim_of(request)
        if claim is None:
            return None
        secret = self._secret(claim.access, claim.token)
        self._check_time(claim)
        call = request.call
        _check_signed_headers(call.headers, claim.signed)
        query = tuple((name, value) for name, value in call.query)
        signed_request = Request(call.method, request.path, query, call.headers, claim.payload)
        expected = sign(signed_request, claim.signed, secret, claim.date, claim.scope)
        _compare(expected, claim.signature)
        return SigningContext(secret, claim.date, claim.scope, claim.signature)

    def _authenticate_v2(self, request: S3Request, claim: signature_v2.SignatureClaim) -> SigningContext:
        """By real time only: no service of the machine signs with version 2."""
        secret, moment, now = self._secret(claim.access, claim.token), claim.moment(), self._wall()
        if claim.is_url and now >= moment:
            raise S3Error("AccessDenied", "Request has expired")
        if not claim.is_url and abs(now - moment) > SKEW:
            raise S3Error("RequestTimeTooSkewed")
        _compare(signature_v2.sign(request, claim, secret), claim.signature)
        return SigningContext(secret, "", "", claim.signature)

    def _secret(self, access: str, token: str) -> str:
        if not token:
            if access != self._own.access:
                raise S3Error("InvalidAccessKeyId")
            return self._own.secret
        session = session_keys.verify_token(self._random, token)
        if session is None or session.keys.access != access:
            raise S3Error("InvalidAccessKeyId")
        if self._wall() >= session.expires:
            raise S3Error("AccessDenied")
        return session.keys.secret

    def _check_time(self, claim: SignatureClaim) -> None:
        try:
            signed_at = moment_of(claim.date)
        except ValueError as error:
            raise S3Error("AccessDenied") from error
        if claim.date[:8] != claim.scope[:8]:
            raise S3Error("SignatureDoesNotMatch")
        ages = [now - signed_at for now in (self._wall(), self._clock.now())]
        if claim.expires is None:
            if not any(abs(age) <= SKEW for age in ages):
                raise S3Error("RequestTimeTooSkewed")
        elif not any(-SKEW <= age < claim.expires for age in ages):
            raise S3Error("AccessDenied", "Request has expired")


def _check_signed_headers(headers: Mapping[str, str], signed: Collection[str]) -> None:
    """All ``x-amz-`` headers must be signed, so that a signed URL cannot be used for something else.

    The hash of the body is part of the signature in any case.
    """
    amazon_headers = {name for name in headers if name.startswith("x-amz-")} - {"x-amz-content-sha256"}
    if not amazon_headers.union(("host",)).issubset(signed):
        raise S3Error("AccessDenied", _NOT_SIGNED)


def _compare(expected: str, received: str) -> None:
    if not hmac.compare_digest(expected.encode(), received.encode("utf-8", "replace")):
        raise S3Error("SignatureDoesNotMatch")


def _claim_of(request: S3Request) -> SignatureClaim | None:
    authorization = request.header("authorization")
    query = {name.lower(): value for name, value in request.call.query}
    if authorization.startswith(ALGORITHM):
        return _claim_in_headers(authorization, request)
    if "x-amz-signature" in query or "x-amz-algorithm" in query:
        return _claim_in_query(query, request)
    if authorization:
        raise S3Error("InvalidRequest", _UNKNOWN)
    return None


def _claim_in_headers(authorization: str, request: S3Request) -> SignatureClaim:
    fields = dict(_FIELD.findall(authorization))
    if len(fields) != 3:
        raise S3Error("InvalidArgument")
    access, scope = _credential(fields["Credential"])
    date = request.header("x-amz-date")
    if not date:
        raise S3Error("AccessDenied")
    payload = request.header("x-amz-content-sha256") or hashlib.sha256(request.call.body).hexdigest()
    names = tuple(fields["SignedHeaders"].lower().split(";"))
    return SignatureClaim(
        access, scope, names, fields["Signature"], date, request.header("x-amz-security-token"), payload
    )


def _claim_in_query(query: Mapping[str, str], request: S3Request) -> SignatureClaim:
    names = ("x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signedheaders")
    if any(not query.get(name) for name in (*names, "x-amz-signature")) or query["x-amz-algorithm"] != ALGORITHM:
        raise S3Error("AccessDenied")
    expires = query["x-amz-expires"]
    if not (expires.isascii() and expires.isdigit()) or not 0 < int(expires[:9]) <= LONGEST_URL:
        raise S3Error("AccessDenied")
    access, scope = _credential(query["x-amz-credential"])
    payload = query.get("x-amz-content-sha256") or request.header("x-amz-content-sha256") or UNSIGNED
    signed = tuple(query["x-amz-signedheaders"].lower().split(";"))
    return SignatureClaim(
        access,
        scope,
        signed,
        query["x-amz-signature"],
        query["x-amz-date"],
        query.get("x-amz-security-token", ""),
        payload,
        int(expires[:9]),
    )


def _credential(text: str) -> tuple[str, str]:
    """(access key, scope)."""
    parts = text.split("/")
    if len(parts) < 5 or parts[-1] != "aws4_request":
        raise S3Error("InvalidArgument")
    return "/".join(parts[:-4]), "/".join(parts[-4:])
