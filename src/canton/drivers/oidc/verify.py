"""The door: a bearer token in, an identity out, or a refusal that says nothing about the token's contents."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry
from joserfc.util import urlsafe_b64decode

from canton.contracts.identity import Identity
from canton.domain.errors import InvalidSetting, TokenInvalid
from canton.drivers.oidc import token as tokens
from canton.drivers.oidc.claims import SECOND, identify
from canton.drivers.oidc.fetch import Fetch, fetcher
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.jwks import Key
from canton.drivers.oidc.keyring import Keyring, Waiting

MOST_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Clocks:
    """``wall`` is the time that tokens speak of; ``steady`` never jumps, and says how old keys are."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class _Trusted:
    settings: IssuerSettings
    keys: Keyring


@dataclass(frozen=True, slots=True)
class _Remembered:
    identity: Identity
    issuer: _Trusted
    key_version: int


class OidcVerifier:
    """Implements TokenVerifier for any number of issuers."""

    def __init__(
        self,
        issuers: Iterable[IssuerSettings],
        clocks: Clocks | None = None,
        fetching: Callable[[IssuerSettings], Fetch] = lambda issuer: fetcher(issuer.ca_file),
    ) -> None:
        self._clocks = clocks or Clocks()
        self._issuers: dict[str, _Trusted] = {}
        waiting = Waiting()
        for settings in issuers:
            if settings.url in self._issuers or settings.name in {i.settings.name for i in self._issuers.values()}:
                raise InvalidSetting(f"issuer {settings.name} is configured twice, by name or by url; keep one of them")
            keys = Keyring(settings, fetching(settings), self._clocks.steady, waiting)
            self._issuers[settings.url] = _Trusted(settings, keys)
        self._remembered: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._lock = threading.Lock()

    def prefetch(self) -> None:
        """Start to read every issuer's keys, in the background."""
        for issuer in self._issuers.values():
            issuer.keys.prefetch()

    def verify(self, token: str) -> Identity:
        # The digest, so that a dump of this process's memory holds no more tokens than it must.
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        known = self._recall(digest)
        if known is not None:
            return known
        unverified = tokens.read(token)
        issuer = self._issuer_of(unverified)
        key, version = issuer.keys.find(unverified.kid, unverified.algorithm)
        _check_signature(unverified, key)
        identity = identify(unverified, issuer.settings, self._clocks.wall())
        self._remember(digest, _Remembered(identity, issuer, version))
        return identity

    def _issuer_of(self, token: tokens.UnverifiedToken) -> _Trusted:
        """What the token says of itself only chooses among the issuers that the site trusts."""
        named = token.claims.get("iss")
        issuer = self._issuers.get(named) if isinstance(named, str) else None
        if issuer is None:
            raise TokenInvalid("the token is from an issuer that this server does not know; log in at one that it does")
        return issuer

    def _recall(self, digest: bytes) -> Identity | None:
        with self._lock:
            found = self._remembered.get(digest)
            if found is not None:
                self._remembered.move_to_end(digest)
        if found is None:
            return None
        # Asking for the version looks at the issuer's keys again when it is time to.
        if (
            found.issuer.keys.version() == found.key_version
            and self._clocks.wall() * SECOND < found.identity.expires_at
        ):
            return found.identity
        with self._lock:
            self._remembered.pop(digest, None)
        return None

    def _remember(self, digest: bytes, what: _Remembered) -> None:
        with self._lock:
            self._remembered[digest] = what
            while len(self._remembered) > MOST_REMEMBERED:
                self._remembered.popitem(last=False)


def _check_signature(token: tokens.UnverifiedToken, key: Key) -> None:
    # Not by joserfc's own door: it warns on every EdDSA token that RFC 9864 has a newer name, which issuers do not use.
    algorithm = JWSRegistry.algorithms[token.algorithm]
    signed, _, signature = token.text.encode().rpartition(b".")
    try:
        algorithm.check_key(key)
        genuine = algorithm.verify(signed, urlsafe_b64decode(signature), key)
    except (JoseError, ValueError):
        genuine = False
    if not genuine:
        # Not chained: a library's message may quote what it could not read.
        raise TokenInvalid("the token's signature is wrong; log in again")
