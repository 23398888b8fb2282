"""How fast one caller may ask: token buckets in the memory of this server, for principals and for client addresses."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from ipaddress import ip_address, ip_network

from canton.domain.errors import TooManyRequests

# A caller who was silent for so many seconds may send what it would have in that time at once.
BURST = 10.0
# Entries of a list, and bytes of a body or read for one answer, that cost about what one other request does.
ENTRIES = 100
SIZE = 16 * 1024
# Of each sort; the one used longest ago goes, and starts full if it comes back.
MOST_BUCKETS = 10_000


class TokenBuckets:
    """One bucket for each name; it fills at ``rate`` requests a second up to ``BURST`` seconds of it."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, name: str, now: float) -> float:
        """Take one; answers 0, or the seconds until there is one."""
        with self._lock:
            # When it would be full again says how full it is.
            full_at = max(self._full_at.get(name, now), now) + 1 / self._rate
            wait = full_at - now - BURST
            if wait > 0:
                return wait
            self._keep(name, full_at)
            return 0.0

    def owe(self, name: str, requests: float, now: float) -> None:
        """Take so many, even more than there are: who comes next waits for them."""
        with self._lock:
            self._keep(name, max(self._full_at.get(name, now), now) + requests / self._rate)

    def _keep(self, name: str, full_at: float) -> None:
        self._full_at[name] = full_at
        self._full_at.move_to_end(name)
        if len(self._full_at) > MOST_BUCKETS:
            self._full_at.popitem(last=False)


class RateLimits:
    """In requests a second: of a principal with a role, of one without any, of an address without a good token."""

    def __init__(self, rate: float, without_roles: float, without_token: float) -> None:
        self._principals = TokenBuckets(rate)
        self._strangers = TokenBuckets(without_roles)
        self._addresses = TokenBuckets(without_token)

    def charge_principal(self, principal: str, *, has_roles: bool) -> None:
        buckets = self._principals if has_roles else self._strangers
        _require(buckets.take(principal, time.monotonic()), principal)

    def charge_work(self, principal: str, entries: int, size: int) -> None:
        """More than one request's work counts as several: by entries or by bytes, whichever is more.

        Only who has a role gets so far.
        """
        requests = max(entries / ENTRIES, size / SIZE)
        if requests > 1:
            self._principals.owe(principal, requests - 1, time.monotonic())

    def charge_address(self, address: str) -> None:
        _require(self._addresses.take(network(address), time.monotonic()), "this address without a good token")


def network(address: str) -> str:
    """One machine has all of an IPv6 /64."""
    try:
        return str(ip_network((address, 64), strict=False)) if ip_address(address).version == 6 else address
    except ValueError:
        return address


def _require(wait: float, who: str) -> None:
    if wait > 0:
        seconds = math.ceil(wait)
        raise TooManyRequests(
            f"too many requests come from {who}; try again in {seconds} s, and send fewer at a time",
            retry_after=seconds,
        )
