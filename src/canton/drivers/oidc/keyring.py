"""The keys of one issuer: fetched when first needed, looked at again in time, kept through an outage.

A token with an unknown key makes us look at most once in ``refetch_after`` seconds, so nobody can use us to flood the
issuer. One thread looks at a time. While it does, the others go on with what is known; only those that need a key
which is not known wait for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from canton.domain.errors import InvalidSetting, IssuerUnavailable, TokenInvalid
from canton.drivers.oidc import jwks
from canton.drivers.oidc.fetch import TIMEOUT, Fetch, check_address
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.jwks import Key

# Two documents, each within two time-outs; a connection may take one more.
_PATIENCE = 6 * TIMEOUT


@dataclass(frozen=True, slots=True)
class _Seen:
    """``version`` grows when the keys are others than before; ``failure`` is that of the last look, if it failed."""

    keys: Mapping[tuple[str, str], Key]
    version: int
    fetched_at: float | None
    looked_at: float | None
    failure: IssuerUnavailable | None


class Keyring:
    def __init__(self, issuer: IssuerSettings, fetch: Fetch, steady: Callable[[], float]) -> None:
        self._issuer = issuer
        self._fetch = fetch
        self._steady = steady
        self._looking = threading.Lock()
        self._seen = _Seen({}, 0, None, None, None)

    def version(self) -> int:
        """Of the keys that are current; whoever remembers something that these keys proved compares it."""
        self._look_if(self._is_old)
        self._refuse_too_old()
        return self._seen.version

    def find(self, kid: str, algorithm: str) -> tuple[Key, int]:
        """The key, and the version of the set it is from."""
        self._look_if(self._is_old)
        self._refuse_too_old()
        if (kid, algorithm) not in self._seen.keys:
            self._look_if(lambda: (kid, algorithm) not in self._seen.keys, wait=True)
        seen = self._seen
        key = seen.keys.get((kid, algorithm))
        if key is not None:
            return key, seen.version
        if seen.failure is not None:
            raise IssuerUnavailable(
                f"the token's key is not among those known of issuer {self._issuer.name}, which does not answer now: "
                f"{seen.failure.message}"
            )
        raise TokenInvalid(
            f"the token's key is not among those that issuer {self._issuer.name} publishes; log in again"
        )

    def _is_old(self) -> bool:
        fetched_at = self._seen.fetched_at
        return fetched_at is None or self._steady() - fetched_at >= self._issuer.keys_for

    def _look_if(self, needed: Callable[[], bool], *, wait: bool = False) -> None:
        if not needed() or not self._may_look():
            return
        wait = wait or self._seen.fetched_at is None
        if not self._looking.acquire(timeout=_PATIENCE if wait else 0):
            return
        try:
            if needed() and self._may_look():
                self._look()
        finally:
            self._looking.release()

    def _may_look(self) -> bool:
        looked_at = self._seen.looked_at
        return looked_at is None or self._steady() - looked_at >= self._issuer.refetch_after

    def _look(self) -> None:
        """Only with ``_looking`` held. A look that fails changes nothing but what is said about it."""
        before, now = self._seen, self._steady()
        try:
            keys = self._fetched()
        except IssuerUnavailable as error:
            self._seen = _Seen(before.keys, before.version, before.fetched_at, self._steady(), error)
            return
        same = keys == before.keys and before.fetched_at is not None
        self._seen = _Seen(keys, before.version + (not same), now, self._steady(), None)

    def _fetched(self) -> dict[tuple[str, str], Key]:
        url = f"{self._issuer.url.rstrip('/')}/.well-known/openid-configuration"
        document = self._fetch(url)
        if document.get("issuer") != self._issuer.url:
            raise IssuerUnavailable(
                f"{url} speaks for another issuer than {self._issuer.url}; set the url to what it says, to the letter",
                url=url,
            )
        where = document.get("jwks_uri")
        if not isinstance(where, str):
            raise IssuerUnavailable(f"{url} does not say where the keys are (jwks_uri)", url=url)
        try:
            check_address(where, f"the jwks_uri of issuer {self._issuer.name}")
        except InvalidSetting as error:
            raise IssuerUnavailable(error.message, url=url) from error
        return jwks.read(self._fetch(where), where)

    def _refuse_too_old(self) -> None:
        seen = self._seen
        if seen.fetched_at is None:
            because = seen.failure.message if seen.failure else "they are being fetched"
            raise IssuerUnavailable(f"the keys of issuer {self._issuer.name} are not known yet: {because}")
        age = self._steady() - seen.fetched_at
        if age >= self._issuer.keys_for + self._issuer.outage:
            because = f": {seen.failure.message}" if seen.failure else ""
            raise IssuerUnavailable(
                f"the keys of issuer {self._issuer.name} were last read {age:.0f} s ago, too long to trust{because}"
            )
