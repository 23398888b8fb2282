"""Servers outside of the emulator that have a say in what happens inside.

Nothing inside can wait. Who consults such a server without its answer being known leaves by ``Unheard``; whoever began
it all has the answer found out and begins again, from the start. So it must bear to be begun twice.
"""

from __future__ import annotations

import http.client
import ssl
import time
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import SplitResult, urljoin, urlsplit

from canton.emulator.wire.call import Reply
from canton.emulator.wire.listening import is_loopback

_ANSWER = 65536
_REDIRECTS = 10
_AS_GET = (301, 302, 303)
_AS_IT_WAS = (307, 308)


@dataclass(frozen=True, slots=True)
class Question:
    """A POST."""

    url: str
    body: bytes
    headers: tuple[tuple[str, str], ...]


class Unheard(Exception):
    """The answer is not known yet."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.url)
        self.question = question


class Unreachable(Exception):
    """There is no answer, in the words of the client."""


class Outside(Protocol):
    def consult(self, question: Question) -> Reply:
        """Raises ``Unheard``, or ``Unreachable`` when nobody answered."""

    def find_out(self, question: Question) -> None:
        """For something that is due, and tried again."""

    def forget(self) -> None:
        """What was due is over, one way or the other."""


class Nobody:
    """Without a network: whoever is asked agrees."""

    def consult(self, _: Question) -> Reply:
        return Reply(200)

    def find_out(self, _: Question) -> None:
        return

    def forget(self) -> None:
        return


def target(place: SplitResult) -> str:
    """What stands on the first line of a request there."""
    return f"{place.path or '/'}{'?' + place.query if place.query else ''}"


def send(question: Question, timeout: float) -> Reply:
    """To this machine only, whatever certificate it shows, as TAPMS and HMNFD do; raises ``Unreachable``.

    Redirects are followed as Go does.
    """
    until = time.monotonic() + timeout
    method, url, body = "POST", question.url, question.body
    try:
        for _ in range(_REDIRECTS):
            place = urlsplit(url)
            with closing(_connection(place, max(until - time.monotonic(), 0.001))) as connection:
                connection.request(method, target(place), body, dict(question.headers))
                answer = connection.getresponse()
                location = answer.getheader("location")
                if location is None or answer.status not in (*_AS_GET, *_AS_IT_WAS):
                    return Reply(answer.status, answer.read(_ANSWER), answer.getheader("content-type", ""))
            url = urljoin(url, location)
            if answer.status in _AS_GET:
                method, body = "GET", b""
    except TimeoutError as error:
        raise Unreachable("context deadline exceeded") from error
    except ConnectionRefusedError as error:
        raise Unreachable("dial tcp: connect: connection refused") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Unreachable(str(error)) from error
    raise Unreachable(f"stopped after {_REDIRECTS} redirects")


def _connection(place: SplitResult, timeout: float) -> http.client.HTTPConnection:
    host = place.hostname or ""
    if place.scheme not in ("http", "https"):
        raise Unreachable(f'unsupported protocol scheme "{place.scheme}"')
    if not is_loopback(host):
        raise Unreachable(f"dial tcp: lookup {host}: the emulator talks to loopback only")
    if place.scheme == "http":
        return http.client.HTTPConnection(host, place.port, timeout=timeout)
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, place.port, timeout=timeout, context=trusting)
