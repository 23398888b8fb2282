"""Sends requests to one server over one persistent connection; retries those that are safe to repeat.

These are reads, and requests with an ``Idempotency-Key``. They are repeated after a lost connection and after 429 or
503 with ``Retry-After``: ``TRIES`` attempts in all, with a longer pause before each.
"""

from __future__ import annotations

import http.client
import random
import socket
import time
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from canton.client.errors import Unreachable

if TYPE_CHECKING:
    import ssl

TRIES = 3
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 10.0
LARGEST_BODY = 2**28
NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
"""The reasons that OpenSSL gives for a response in plain HTTP."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Request(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None

    @property
    def repeatable(self) -> bool:
        return self.method == "GET" or "Idempotency-Key" in self.headers

    def with_headers(self, **headers: str) -> Request:
        """The request with more headers; ``_`` in a name stands for ``-``."""
        return self._replace(headers={**self.headers, **{name.replace("_", "-"): v for name, v in headers.items()}})


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def request_id(self) -> str:
        return self.headers.get("canton-request", "")

    @property
    def unchanged(self) -> bool:
        """Whether the change was already in effect, so that nothing was changed."""
        return self.headers.get("canton-unchanged") == "true"


Observe: TypeAlias = Callable[[Request, Answer | None, float], None]
"""Called after every attempt with the request, the response (None if none came) and the seconds that it took."""


def ignore(_request: Request, _answer: Answer | None, _seconds: float) -> None:
    """Observe nothing."""


class Address(NamedTuple):
    """The URL of a server, and how to connect to it and trust it."""

    url: str
    timeout: float = 30.0
    ca: str | None = None
    plain_http: bool = False
    """Whether to send tokens unencrypted to a server on another machine."""

    def connect(self, timeout: float | None = None) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
            raise Unreachable(f'"{self.url}" is not a server; write https://host or https://host:port')
        wait = self.timeout if timeout is None else timeout
        if parts.scheme == "https":
            return _Secure(host, parts.port or 443, wait, self.ca)
        if host not in LOOPBACK and not self.plain_http:
            raise Unreachable(
                f"{self.url} is not encrypted and not on this machine, so no token is sent there; write https://, "
                "or, if you must: canton context set NAME --plain-http"
            )
        return http.client.HTTPConnection(host, parts.port or 80, timeout=wait)

    def target(self, path: str) -> str:
        return urlsplit(self.url).path.rstrip("/") + path


class _Secure(http.client.HTTPConnection):
    """A connection with TLS; the module ssl is imported only when one is opened."""

    def __init__(self, host: str, port: int, timeout: float, ca: str | None) -> None:
        super().__init__(host, port, timeout=timeout)
        self._ca = ca
        self.sock: socket.socket | ssl.SSLSocket | None

    def connect(self) -> None:
        import ssl  # noqa: PLC0415 (7 ms of start-up)

        super().connect()
        assert self.sock is not None  # noqa: S101 (connect sets it or raises)
        try:
            context = ssl.create_default_context(cafile=self._ca)
        except OSError as error:
            raise Unreachable(f"the CA file {self._ca} cannot be read: {error.strerror or error}") from error
        self.sock = context.wrap_socket(self.sock, server_hostname=self.host)


class StreamingResponse(NamedTuple):
    """A response that is read as it arrives, over its own connection."""

    connection: http.client.HTTPConnection
    response: http.client.HTTPResponse

    def close(self) -> None:
        """Close the connection, even while another thread reads: without the shutdown, closing would wait for that."""
        if self.connection.sock is not None:
            with suppress(OSError):
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.response.close()
        self.connection.close()

    def read_remaining(self) -> Answer:
        """Read up to 64 KiB of the remaining body, close the connection, and return the response."""
        try:
            return Answer(self.response.status, lowered(self.response), self.response.read(65536))
        finally:
            self.close()


class Transport:
    """Sends requests to one server, one after another."""

    def __init__(self, address: Address, observe: Observe = ignore, tries: int = TRIES) -> None:
        self.address = address
        self._observe = observe
        self._tries = tries
        self._connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def exchange(self, request: Request) -> Answer:
        """The server's response, whatever its status; raises ``Unreachable`` if there is none."""
        for attempt in range(1, self._tries + 1):
            last = attempt == self._tries or not request.repeatable
            try:
                answer = self._exchange_once(request)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last or not _is_retryable(error):
                    raise self._unreachable(error) from error
                time.sleep(_pause(attempt))
            else:
                if last or answer.status not in (429, 503) or "retry-after" not in answer.headers:
                    return answer
                time.sleep(_retry_after_seconds(answer.headers["retry-after"]) or _pause(attempt))
        raise AssertionError("the last attempt returns or raises")

    def stream(self, request: Request, timeout: float) -> StreamingResponse:
        """A response to read as it arrives; a read fails after ``timeout`` seconds without a byte."""
        connection = self.address.connect(timeout)
        began = time.monotonic()
        try:
            connection.request(request.method, self.address.target(request.target), headers=dict(request.headers))
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self._observe(request, None, time.monotonic() - began)
            raise self._unreachable(error) from error
        self._observe(request, Answer(response.status, lowered(response), b""), time.monotonic() - began)
        return StreamingResponse(connection, response)

    def _exchange_once(self, request: Request) -> Answer:
        answer: Answer | None = None
        began = time.monotonic()
        try:
            if self._connection is None:
                self._connection = self.address.connect()
            target = self.address.target(request.target)
            self._connection.request(request.method, target, body=request.body, headers=dict(request.headers))
            response = self._connection.getresponse()
            headers = lowered(response)
            answer = Answer(response.status, headers, _unpacked(response.read(), headers.get("content-encoding")))
        finally:
            self._observe(request, answer, time.monotonic() - began)
        return answer

    def _unreachable(self, error: Exception) -> Unreachable:
        url = self.address.url
        if _untrusted(error):
            return Unreachable(
                f"the certificate of {url} is not trusted: {getattr(error, 'verify_message', error)}; "
                "name its authority with ca = in the context, or CANTON_CA"
            )
        if getattr(error, "reason", "") in NOT_TLS:
            plain = url.replace("https://", "http://", 1)
            return Unreachable(f"{url} cannot be reached: the server does not speak TLS there; try {plain}")
        if isinstance(error, TimeoutError):
            return Unreachable(f"{url} did not answer within {self.address.timeout:g} s; is the server overloaded?")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        return Unreachable(f"{url} cannot be reached: {reason}; is the address right, and the server running?")


def lowered(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _untrusted(error: Exception) -> bool:
    return type(error).__name__ == "SSLCertVerificationError"


def _is_retryable(error: Exception) -> bool:
    """Whether a retry may help: not after an unknown host, an untrusted certificate, a missing TLS or a timeout."""
    if getattr(error, "reason", "") in NOT_TLS:
        return False
    return not _untrusted(error) and type(error).__name__ != "gaierror" and not isinstance(error, TimeoutError)


def _pause(attempt: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 3.0 ** (attempt - 1) * random.uniform(0.7, 1.3))  # noqa: S311 (jitter)


def _retry_after_seconds(retry_after: str) -> float:
    """The seconds in ``Retry-After``, at most ``LONGEST_PAUSE``; 0 if it is a date."""
    return min(LONGEST_PAUSE, float(retry_after)) if retry_after.isascii() and retry_after.isdigit() else 0


def _unpacked(body: bytes, encoding: str | None) -> bytes:
    if encoding != "gzip":
        return body
    unpacked = zlib.decompressobj(31)
    try:
        plain = unpacked.decompress(body, LARGEST_BODY)
    except zlib.error as error:
        raise http.client.HTTPException(f"the answer is damaged ({error})") from error
    if unpacked.unconsumed_tail or not unpacked.eof:
        raise http.client.HTTPException("the answer is cut short or too large")
    return plain
