"""Who asks: the site's own keys, a session's of STS, or nobody in particular."""

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
from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.requests import Asked
from csm_emulator.state.clock import Clock
from csm_emulator.state.random import SeededRandom
from csm_emulator.transport.sigv4 import ALGORITHM, UNSIGNED, Request, moment_of, sign

SKEW = 15 * 60
LONGEST_URL = 7 * 86400
_FIELD = re.compile(r"(Credential|SignedHeaders|Signature)=([^,\s]+)")
_NOT_SIGNED = "There were headers present in the request which were not signed"
_UNKNOWN = "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256."


@dataclass(frozen=True, slots=True)
class Seal:
    """What the chunks of a body are signed on from."""

    secret: str
    when: str
    scope: str
    signature: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What a request says of who signed it."""

    access: str
    scope: str
    signed: tuple[str, ...]
    signature: str
    when: str
    token: str
    payload: str
    expires: int | None = None
    """Of a URL that was signed beforehand."""


class Door:
    """Virtual and real time differ, and both count here.

    Clients sign by the clock on their wall. BSS signs URLs by the machine's time, as everything inside does, and nodes
    use them by it. So a signature is good when it is by one of the two clocks; one that is too old by both is not. A
    session of STS lives by the wall, as its Expiration is for the client to look at.
    """

    def __init__(self, random: SeededRandom, clock: Clock, wall: Callable[[], float] = time.time) -> None:
        self._random = random
        self._own = s3_keys(random)
        self._clock = clock
        self._wall = wall

    def admit(self, asked: Asked) -> Seal | None:
        """None for nobody in particular; raises ``Refused`` for whoever says to be somebody and is not."""
        old = signature_v2.claim(asked)
        if old is not None:
            return self._admit_old(asked, old)
        claim = _claim(asked)
        if claim is None:
            return None
        secret = self._secret(claim.access, claim.token)
        self._check_time(claim)
        call = asked.call
        _check_signed(call.headers, claim.signed)
        query = tuple((name, value) for name, value in call.query)
        request = Request(call.method, asked.path, query, call.headers, claim.payload)
        made = sign(request, claim.signed, secret, claim.when, claim.scope)
        _compare(made, claim.signature)
        return Seal(secret, claim.when, claim.scope, claim.signature)

    def _admit_old(self, asked: Asked, claim: signature_v2.Claim) -> Seal:
        """By the wall alone: nobody inside signs so."""
        secret, moment, now = self._secret(claim.access, claim.token), claim.moment(), self._wall()
        if claim.is_url and now >= moment:
            raise Refused("AccessDenied", "Request has expired")
        if not claim.is_url and abs(now - moment) > SKEW:
            raise Refused("RequestTimeTooSkewed")
        _compare(signature_v2.sign(asked, claim, secret), claim.signature)
        return Seal(secret, "", "", claim.signature)

    def _secret(self, access: str, token: str) -> str:
        if not token:
            if access != self._own.access:
                raise Refused("InvalidAccessKeyId")
            return self._own.secret
        session = session_keys.verify_token(self._random, token)
        if session is None or session.keys.access != access:
            raise Refused("InvalidAccessKeyId")
        if self._wall() >= session.expires:
            raise Refused("AccessDenied")
        return session.keys.secret

    def _check_time(self, claim: Claim) -> None:
        try:
            made = moment_of(claim.when)
        except ValueError as error:
            raise Refused("AccessDenied") from error
        if claim.when[:8] != claim.scope[:8]:
            raise Refused("SignatureDoesNotMatch")
        ages = [now - made for now in (self._wall(), self._clock.now())]
        if claim.expires is None:
            if not any(abs(age) <= SKEW for age in ages):
                raise Refused("RequestTimeTooSkewed")
        elif not any(-SKEW <= age < claim.expires for age in ages):
            raise Refused("AccessDenied", "Request has expired")


def _check_signed(headers: Mapping[str, str], signed: Collection[str]) -> None:
    """Whoever has a URL for one thing makes no other of it. The hash of the body is signed by itself."""
    of_amazon = {name for name in headers if name.startswith("x-amz-")} - {"x-amz-content-sha256"}
    if not of_amazon.union(("host",)).issubset(signed):
        raise Refused("AccessDenied", _NOT_SIGNED)


def _compare(made: str, said: str) -> None:
    if not hmac.compare_digest(made.encode(), said.encode("utf-8", "replace")):
        raise Refused("SignatureDoesNotMatch")


def _claim(asked: Asked) -> Claim | None:
    said = asked.header("authorization")
    query = {name.lower(): value for name, value in asked.call.query}
    if said.startswith(ALGORITHM):
        return _in_headers(said, asked)
    if "x-amz-signature" in query or "x-amz-algorithm" in query:
        return _in_query(query, asked)
    if said:
        raise Refused("InvalidRequest", _UNKNOWN)
    return None


def _in_headers(said: str, asked: Asked) -> Claim:
    found = dict(_FIELD.findall(said))
    if len(found) != 3:
        raise Refused("InvalidArgument")
    access, scope = _credential(found["Credential"])
    when = asked.header("x-amz-date")
    if not when:
        raise Refused("AccessDenied")
    payload = asked.header("x-amz-content-sha256") or hashlib.sha256(asked.call.body).hexdigest()
    names = tuple(found["SignedHeaders"].lower().split(";"))
    return Claim(access, scope, names, found["Signature"], when, asked.header("x-amz-security-token"), payload)


def _in_query(query: Mapping[str, str], asked: Asked) -> Claim:
    names = ("x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signedheaders")
    if any(not query.get(name) for name in (*names, "x-amz-signature")) or query["x-amz-algorithm"] != ALGORITHM:
        raise Refused("AccessDenied")
    expires = query["x-amz-expires"]
    if not (expires.isascii() and expires.isdigit()) or not 0 < int(expires[:9]) <= LONGEST_URL:
        raise Refused("AccessDenied")
    access, scope = _credential(query["x-amz-credential"])
    payload = query.get("x-amz-content-sha256") or asked.header("x-amz-content-sha256") or UNSIGNED
    signed = tuple(query["x-amz-signedheaders"].lower().split(";"))
    return Claim(
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
    """Access key and scope."""
    parts = text.split("/")
    if len(parts) < 5 or parts[-1] != "aws4_request":
        raise Refused("InvalidArgument")
    return "/".join(parts[:-4]), "/".join(parts[-4:])
