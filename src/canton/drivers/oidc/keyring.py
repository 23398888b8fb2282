"""The keys of one issuer: fetched when first needed, looked at again in time, kept through an outage.

A look is made by a thread of the keyring's own, one at a time, so that a slow issuer takes none of the threads that
serve requests. A token with an unknown key starts a look at most once in ``refetch_after`` seconds; within them every
unknown key is refused at once. A request waits for a look only if it started it or needs a key that is not known,
and no longer than ``PATIENCE``; ``Waiting`` bounds how many do.
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

PATIENCE = 5.0
"""Seconds from the start of a look within which requests wait for it; Keycloak answers within 0.1 s."""
MOST_WAITING = 6
"""Requests that wait for keys at a time, of all issuers together; the server has 16 threads for requests."""
DISCOVERY = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class _Look:
    """``started_at`` is by the machine's steady clock, whatever clock says how old keys are."""

    started_at: float = field(default_factory=time.monotonic)
    done: threading.Event = field(default_factory=threading.Event)


class Waiting:
    """The places for requests that wait for a look; shared by the keyrings of a server."""

    def __init__(self) -> None:
        self._places = threading.BoundedSemaphore(MOST_WAITING)

    def wait(self, look: _Look) -> None:
        """Until the look is done or has taken ``PATIENCE``; not at all when every place is taken."""
        seconds = look.started_at + PATIENCE - time.monotonic()
        if seconds > 0 and self._places.acquire(blocking=False):
            try:
                look.done.wait(seconds)
            finally:
                self._places.release()


@dataclass(frozen=True, slots=True)
class _Seen:
    """``version`` grows when the keys are others than before; ``failure`` is that of the last look, if it failed."""

    keys: Mapping[tuple[str, str], Key]
    version: int
    fetched_at: float | None
    looked_at: float | None
    failure: IssuerUnavailable | None


class Keyring:
    def __init__(self, issuer: IssuerSettings, fetch: Fetch, steady: Callable[[], float], waiting: Waiting) -> None:
        self._issuer = issuer
        self._fetch = fetch
        self._steady = steady
        self._waiting = waiting
        self._lock = threading.Lock()
        self._look: _Look | None = None
        self._seen = _Seen({}, 0, None, None, None)

    def version(self) -> int:
        """Of the keys that are current; whoever remembers something that these keys proved compares it."""
        self._look_if(self._is_old)
        self._refuse_too_old()
        return self._seen.version

    def prefetch(self) -> None:
        """Start the first look, so that the first request finds the keys."""
        self._start_look_if(self._is_old)

    def find(self, kid: str, algorithm: str) -> tuple[Key, int]:
        """The key, and the version of the set it is from."""
        self._look_if(self._is_old)
        self._refuse_too_old()
        if (kid, algorithm) not in self._seen.keys:
            self._look_if(lambda: (kid, algorithm) not in self._seen.keys, wait=True)
        under_way, seen = self._look is not None, self._seen
        key = seen.keys.get((kid, algorithm))
        if key is not None:
            return key, seen.version
        if under_way or seen.failure is not None:
            raise IssuerUnavailable(
                f"the token's key is not among those known of issuer {self._issuer.name}, which does not answer now; "
                "try again",
                cause=_cause(seen.failure),
            )
        raise TokenInvalid(
            f"the token's key is not among those that issuer {self._issuer.name} publishes; log in again"
        )

    def _is_old(self) -> bool:
        fetched_at = self._seen.fetched_at
        return fetched_at is None or self._steady() - fetched_at >= self._issuer.keys_for

    def _look_if(self, needed: Callable[[], bool], *, wait: bool = False) -> None:
        """Look if it is needed and time to. Others than the starter wait only for a key that is not known."""
        started = self._start_look_if(needed)
        look = self._look
        if look is not None and (started or wait or self._seen.fetched_at is None) and needed():
            self._waiting.wait(look)

    def _start_look_if(self, needed: Callable[[], bool]) -> bool:
        with self._lock:
            if self._look is not None or not needed() or not self._may_look():
                return False
            self._look = _Look()
        # A daemon: a server that stops does not wait for an issuer.
        threading.Thread(target=self._do_look, name=f"canton-keys-{self._issuer.name}", daemon=True).start()
        return True

    def _may_look(self) -> bool:
        looked_at = self._seen.looked_at
        return looked_at is None or self._steady() - looked_at >= self._issuer.refetch_after

    def _do_look(self) -> None:
        """A look that fails changes nothing but what is said about it."""
        before, now = self._seen, self._steady()
        try:
            keys = self._fetched()
            same = keys == before.keys and before.fetched_at is not None
            self._seen = _Seen(keys, before.version + (not same), now, self._steady(), None)
        except IssuerUnavailable as error:
            self._seen = _Seen(before.keys, before.version, before.fetched_at, self._steady(), error)
        finally:
            look, self._look = self._look, None
            if look is not None:
                look.done.set()

    def _fetched(self) -> dict[tuple[str, str], Key]:
        url = f"{self._issuer.url.rstrip('/')}{DISCOVERY}"
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
            raise IssuerUnavailable(
                f"the keys of issuer {self._issuer.name} are not known yet; try again", cause=_cause(seen.failure)
            )
        age = self._steady() - seen.fetched_at
        if age >= self._issuer.keys_for + self._issuer.outage:
            raise IssuerUnavailable(
                f"the keys of issuer {self._issuer.name} were last read {age:.0f} s ago, too long to trust; try again",
                cause=_cause(seen.failure),
            )


def _cause(failure: IssuerUnavailable | None) -> str:
    return failure.with_cause if failure else ""
