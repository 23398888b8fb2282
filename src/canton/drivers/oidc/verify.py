"""Verifies bearer tokens: returns an identity, or refuses with a message that repeats nothing of the token."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from canton.contracts.identity import Identity
from canton.domain.errors import InvalidSetting, TokenInvalid
from canton.drivers.oidc import token as tokens
from canton.drivers.oidc.claims import MICROSECONDS, identify
from canton.drivers.oidc.fetch import Fetch, fetcher
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.keyring import Keyring, WaitingSlots
from canton.drivers.oidc.signature import check_signature

MAX_CACHED = 4096


@dataclass(frozen=True, slots=True)
class Clocks:
    """``wall`` is compared with the times in tokens; ``steady`` never jumps and measures the age of keys."""

    wall: Callable[[], float] = time.time
    steady: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class _TrustedIssuer:
    settings: IssuerSettings
    keys: Keyring


@dataclass(frozen=True, slots=True)
class _CachedIdentity:
    identity: Identity
    issuer: _TrustedIssuer
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
        self._issuers: dict[str, _TrustedIssuer] = {}
        waiting = WaitingSlots()
        for settings in issuers:
            if settings.url in self._issuers or settings.name in {i.settings.name for i in self._issuers.values()}:
                raise InvalidSetting(f"issuer {settings.name} is configured twice, by name or by url; keep one of them")
            keys = Keyring(settings, fetching(settings), self._clocks.steady, waiting)
            self._issuers[settings.url] = _TrustedIssuer(settings, keys)
        self._cache: OrderedDict[bytes, _CachedIdentity] = OrderedDict()
        self._lock = threading.Lock()

    def prefetch(self) -> None:
        """Start to read every issuer's keys, in the background."""
        for issuer in self._issuers.values():
            issuer.keys.prefetch()

    def verify(self, token: str) -> Identity:
        # The cache holds digests, so that a dump of this process's memory shows fewer tokens.
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        cached = self._cached(digest)
        if cached is not None:
            return cached
        unverified = tokens.read(token)
        issuer = self._issuer_of(unverified)
        key, version = issuer.keys.find(unverified.kid, unverified.algorithm)
        check_signature(unverified, key)
        identity = identify(unverified, issuer.settings, self._clocks.wall())
        self._store(digest, _CachedIdentity(identity, issuer, version))
        return identity

    def _issuer_of(self, token: tokens.UnverifiedToken) -> _TrustedIssuer:
        """The trusted issuer that the token names; its name alone proves nothing."""
        url = token.claims.get("iss")
        issuer = self._issuers.get(url) if isinstance(url, str) else None
        if issuer is None:
            raise TokenInvalid(
                "the token is from an issuer that this server does not trust; log in with one that it trusts"
            )
        return issuer

    def _cached(self, digest: bytes) -> Identity | None:
        with self._lock:
            entry = self._cache.get(digest)
            if entry is not None:
                self._cache.move_to_end(digest)
        if entry is None:
            return None
        # version() also fetches the issuer's keys again when they are old.
        if (
            entry.issuer.keys.version() == entry.key_version
            and self._clocks.wall() * MICROSECONDS < entry.identity.expires_at
        ):
            return entry.identity
        with self._lock:
            self._cache.pop(digest, None)
        return None

    def _store(self, digest: bytes, entry: _CachedIdentity) -> None:
        with self._lock:
            self._cache[digest] = entry
            while len(self._cache) > MAX_CACHED:
                self._cache.popitem(last=False)
