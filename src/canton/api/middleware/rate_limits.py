"""Rate limits: token buckets in the memory of this server, for principals and for client addresses."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from ipaddress import ip_address, ip_network

from canton.domain.errors import TooManyRequests

# A bucket holds the requests of this many seconds, which a caller may send at once after a pause.
BURST = 10.0
# This many entries of a list, or bytes of a body or an answer, cost about as much as one request.
ENTRIES = 100
SIZE = 16 * 1024
# The most buckets of each kind; beyond it the least recently used one is dropped, and starts full if used again.
MOST_BUCKETS = 10_000


class TokenBuckets:
    """One bucket for each name; it fills at ``rate`` requests a second up to ``BURST`` seconds of it."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def take(self, name: str, now: float) -> float:
        """Take one request; returns 0, or the seconds until there is one."""
        with self._lock:
            # When it would be full again says how full it is.
            full_at = max(self._full_at.get(name, now), now) + 1 / self._rate
            wait = full_at - now - BURST
            if wait > 0:
                return wait
            self._keep(name, full_at)
            return 0.0

    def owe(self, name: str, requests: float, now: float) -> None:
        """Take this many requests, even more than there are: the next one then waits for longer."""
        with self._lock:
            self._keep(name, max(self._full_at.get(name, now), now) + requests / self._rate)

    def _keep(self, name: str, full_at: float) -> None:
        self._full_at[name] = full_at
        self._full_at.move_to_end(name)
        if len(self._full_at) > MOST_BUCKETS:
            self._full_at.popitem(last=False)


class RateLimits:
    """Limits in requests per second: for principals with a role, those without, and addresses without a valid token."""

    def __init__(self, rate: float, without_roles: float, without_token: float) -> None:
        self._principals = TokenBuckets(rate)
        self._strangers = TokenBuckets(without_roles)
        self._addresses = TokenBuckets(without_token)

    def charge_principal(self, principal: str, *, has_roles: bool) -> None:
        buckets = self._principals if has_roles else self._strangers
        _require(buckets.take(principal, time.monotonic()), principal)

    def charge_work(self, principal: str, entries: int, size: int) -> None:
        """Count much work as several requests: by entries or by bytes, whichever is more.

        Only principals with a role get here.
        """
        requests = max(entries / ENTRIES, size / SIZE)
        if requests > 1:
            self._principals.owe(principal, requests - 1, time.monotonic())

    def charge_address(self, address: str) -> None:
        _require(self._addresses.take(network(address), time.monotonic()), "this address without a good token")


def network(address: str) -> str:
    """The address, or its /64 for IPv6, since one machine can have all addresses of it."""
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
