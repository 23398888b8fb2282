"""Requests to servers outside of the emulator, such as the hooks of tenants, whose responses decide what happens.

Code of services cannot wait. If the response is not known yet, ``answer_to`` raises ``AnswerPending``; the caller at
the top then fetches it and handles the request, or runs the action, again from the start. So the code before that
point must be safe to repeat.
"""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import SplitResult, urljoin, urlsplit

from csm_emulator.transport.call import Reply
from csm_emulator.transport.listeners import is_loopback

_ANSWER = 65536
_REDIRECTS = 10
_TOO_LATE = "context deadline exceeded"
_PORTS = {"http": 80, "https": 443}
_AS_GET = (301, 302, 303)
_AS_IT_WAS = (307, 308)


@dataclass(frozen=True, slots=True)
class ExternalRequest:
    """A POST request."""

    url: str
    body: bytes
    headers: tuple[tuple[str, str], ...]


class AnswerPending(Exception):
    """The response is not known yet."""

    def __init__(self, question: ExternalRequest) -> None:
        super().__init__(question.url)
        self.question = question


class ExternalServerUnreachable(Exception):
    """There is no response; the text is an error message as Go's HTTP client has it."""


class ExternalServers(Protocol):
    def answer_to(self, question: ExternalRequest) -> Reply:
        """The response; raises ``AnswerPending`` or ``ExternalServerUnreachable``."""

    def fetch(self, question: ExternalRequest) -> None:
        """Fetches the response in the background, for a due action that is retried."""

    def clear(self) -> None:
        """Discards the responses for a due action, which has finished."""


class NoExternalServers:
    """Without a network: every request is answered by 200."""

    def answer_to(self, _: ExternalRequest) -> Reply:
        return Reply(200)

    def fetch(self, _: ExternalRequest) -> None:
        return

    def clear(self) -> None:
        return


def target(place: SplitResult) -> str:
    """The target on the first line of a request."""
    return f"{place.path or '/'}{'?' + place.query if place.query else ''}"


def send(question: ExternalRequest, timeout: float) -> Reply:
    """Sends to loopback addresses only, without verifying certificates, as TAPMS and HMNFD do.

    Redirects are followed as Go does. Raises ``ExternalServerUnreachable``.
    """
    until = time.monotonic() + timeout
    try:
        return _exchanged(question, until)
    except TimeoutError as error:
        raise ExternalServerUnreachable(_TOO_LATE) from error
    except ConnectionRefusedError as error:
        raise ExternalServerUnreachable("dial tcp: connect: connection refused") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ExternalServerUnreachable(_TOO_LATE if time.monotonic() >= until else str(error)) from error


def _exchanged(question: ExternalRequest, until: float) -> Reply:
    method, url, body = "POST", question.url, question.body
    for _ in range(_REDIRECTS):
        place = urlsplit(url)
        with _connected(place, until) as connection:
            connection.request(method, target(place), body, dict(question.headers))
            answer = connection.getresponse()
            location = answer.getheader("location")
            content = answer.read(_ANSWER)
        if time.monotonic() >= until:
            raise TimeoutError
        if location is None or answer.status not in (*_AS_GET, *_AS_IT_WAS):
            return Reply(answer.status, content, answer.getheader("content-type", ""))
        url = urljoin(url, location)
        if answer.status in _AS_GET:
            method, body = "GET", b""
    raise ExternalServerUnreachable(f"stopped after {_REDIRECTS} redirects")


def _remaining_seconds(until: float) -> float:
    return max(until - time.monotonic(), 0.001)


@contextmanager
def _connected(place: SplitResult, until: float) -> Iterator[http.client.HTTPConnection]:
    """A connection that is cut off at that moment, even if single bytes still arrive in time."""
    host = place.hostname or ""
    if place.scheme not in _PORTS:
        raise ExternalServerUnreachable(f'unsupported protocol scheme "{place.scheme}"')
    if not is_loopback(host):
        raise ExternalServerUnreachable(f"dial tcp: lookup {host}: the emulator talks to loopback only")
    port = place.port or _PORTS[place.scheme]
    with ExitStack() as stack:
        line = stack.enter_context(socket.create_connection((host, port), _remaining_seconds(until)))
        timer = threading.Timer(_remaining_seconds(until), _shut_down_socket, (stack.enter_context(line.dup()),))
        timer.daemon = True
        timer.start()
        stack.callback(timer.cancel)
        connection = stack.enter_context(closing(http.client.HTTPConnection(host, port)))
        connection.sock = line if place.scheme == "http" else _trusting().wrap_socket(line, server_hostname=host)
        yield connection


def _shut_down_socket(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


def _trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def send_in_thread(request: ExternalRequest, seconds: float) -> Reply | ExternalServerUnreachable:
    """Sends in a daemon thread: when the emulator stops, it does not wait for it, as for threads of the pool."""
    loop = asyncio.get_running_loop()
    answer_future: asyncio.Future[Reply | ExternalServerUnreachable] = loop.create_future()

    def tell(answer: Reply | ExternalServerUnreachable) -> None:
        if not answer_future.done():
            answer_future.set_result(answer)

    def ask() -> None:
        answer: Reply | ExternalServerUnreachable
        try:
            answer = send(request, seconds)
        except ExternalServerUnreachable as unreachable:
            answer = unreachable
        with suppress(RuntimeError):  # the loop is over
            loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=ask, daemon=True).start()
    return await answer_future
