"""The keys of one issuer: fetched when first needed, fetched again when they are old, used through an outage.

A thread of the keyring fetches them, one fetch at a time, so that a slow issuer blocks no thread that serves requests.
A token with an unknown key starts a fetch at most once in ``refetch_after`` seconds; until then unknown keys are
refused at once. A request waits for a fetch only if it started the fetch or needs a key that is not known, and at most
``MAX_WAIT`` seconds; ``WaitingSlots`` limits how many requests wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from canton.domain.errors import InvalidSetting, IssuerUnavailable, TokenInvalid
from canton.drivers.oidc import jwks
from canton.drivers.oidc.fetch import Fetch, check_address
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.jwks import Key

MAX_WAIT = 5.0
"""Seconds from the start of a fetch within which requests wait for it; Keycloak answers within 0.1 s."""
MAX_WAITING = 6
"""How many requests wait for keys at a time, for all issuers together; the server has 16 threads for requests."""
DISCOVERY = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class _Refresh:
    """A fetch under way. ``started_at`` is of the machine's steady clock, whichever clock measures the age of keys."""

    started_at: float = field(default_factory=time.monotonic)
    finished: threading.Event = field(default_factory=threading.Event)


class WaitingSlots:
    """Slots for requests that wait for a fetch; shared by the keyrings of a server."""

    def __init__(self) -> None:
        self._slots = threading.BoundedSemaphore(MAX_WAITING)

    def wait(self, refresh: _Refresh) -> None:
        """Wait until the fetch is finished or has taken ``MAX_WAIT``; return at once if every slot is taken."""
        seconds = refresh.started_at + MAX_WAIT - time.monotonic()
        if seconds > 0 and self._slots.acquire(blocking=False):
            try:
                refresh.finished.wait(seconds)
            finally:
                self._slots.release()


@dataclass(frozen=True, slots=True)
class _KeySet:
    """The keys fetched last. ``version`` grows when they change; ``failure`` is set if the last fetch failed."""

    keys: Mapping[tuple[str, str], Key]
    version: int
    fetched_at: float | None
    tried_at: float | None
    failure: IssuerUnavailable | None


class Keyring:
    def __init__(
        self, issuer: IssuerSettings, fetch: Fetch, steady: Callable[[], float], waiting: WaitingSlots
    ) -> None:
        self._issuer = issuer
        self._fetch = fetch
        self._steady = steady
        self._waiting = waiting
        self._lock = threading.Lock()
        self._refresh: _Refresh | None = None
        self._key_set = _KeySet({}, 0, None, None, None)

    def version(self) -> int:
        """The version of the current keys. A cached result is valid as long as it does not change."""
        self._refresh_if(self._is_old)
        self._refuse_too_old()
        return self._key_set.version

    def prefetch(self) -> None:
        """Start the first fetch, so that the first request need not wait for it."""
        self._start_refresh_if(self._is_old)

    def find(self, kid: str, algorithm: str) -> tuple[Key, int]:
        """The key, and the version of the key set that it is from."""
        self._refresh_if(self._is_old)
        self._refuse_too_old()
        if (kid, algorithm) not in self._key_set.keys:
            self._refresh_if(lambda: (kid, algorithm) not in self._key_set.keys, wait=True)
        under_way, key_set = self._refresh is not None, self._key_set
        key = key_set.keys.get((kid, algorithm))
        if key is not None:
            return key, key_set.version
        if under_way or key_set.failure is not None:
            raise IssuerUnavailable(
                f"the token's key is not among those known of issuer {self._issuer.name}, which does not answer now; "
                "try again",
                cause=_cause(key_set.failure),
            )
        raise TokenInvalid(
            f"the token's key is not among those that issuer {self._issuer.name} publishes; log in again"
        )

    def _is_old(self) -> bool:
        fetched_at = self._key_set.fetched_at
        return fetched_at is None or self._steady() - fetched_at >= self._issuer.keys_for

    def _refresh_if(self, needed: Callable[[], bool], *, wait: bool = False) -> None:
        """Fetch the keys if needed and allowed now; wait if this call started it, there are no keys, or ``wait``."""
        started = self._start_refresh_if(needed)
        refresh = self._refresh
        if refresh is not None and (started or wait or self._key_set.fetched_at is None) and needed():
            self._waiting.wait(refresh)

    def _start_refresh_if(self, needed: Callable[[], bool]) -> bool:
        with self._lock:
            if self._refresh is not None or not needed() or not self._may_refresh():
                return False
            self._refresh = _Refresh()
        # A daemon thread, so that a server that stops does not wait for an issuer.
        threading.Thread(target=self._refresh_keys, name=f"canton-keys-{self._issuer.name}", daemon=True).start()
        return True

    def _may_refresh(self) -> bool:
        tried_at = self._key_set.tried_at
        return tried_at is None or self._steady() - tried_at >= self._issuer.refetch_after

    def _refresh_keys(self) -> None:
        """Fetch the keys; a failed fetch keeps the old keys and records the failure."""
        previous, now = self._key_set, self._steady()
        try:
            keys = self._fetch_keys()
            same = keys == previous.keys and previous.fetched_at is not None
            self._key_set = _KeySet(keys, previous.version + (not same), now, self._steady(), None)
        except IssuerUnavailable as error:
            self._key_set = _KeySet(previous.keys, previous.version, previous.fetched_at, self._steady(), error)
        finally:
            refresh, self._refresh = self._refresh, None
            if refresh is not None:
                refresh.finished.set()

    def _fetch_keys(self) -> dict[tuple[str, str], Key]:
        url = f"{self._issuer.url.rstrip('/')}{DISCOVERY}"
        document = self._fetch(url)
        if document.get("issuer") != self._issuer.url:
            raise IssuerUnavailable(
                f"{url} belongs to another issuer than {self._issuer.url}; set the url to what it says, to the letter",
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
        key_set = self._key_set
        if key_set.fetched_at is None:
            raise IssuerUnavailable(
                f"the keys of issuer {self._issuer.name} are not known yet; try again", cause=_cause(key_set.failure)
            )
        age = self._steady() - key_set.fetched_at
        if age >= self._issuer.keys_for + self._issuer.outage:
            raise IssuerUnavailable(
                f"the keys of issuer {self._issuer.name} were last read {age:.0f} s ago, too long to trust; try again",
                cause=_cause(key_set.failure),
            )


def _cause(failure: IssuerUnavailable | None) -> str:
    return failure.with_cause if failure else ""
