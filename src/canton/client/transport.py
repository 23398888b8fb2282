"""One server, one connection that is kept open, and the rule for what is sent twice.

A request is repeated only if nothing can happen twice by it: it reads, or it carries an ``Idempotency-Key``. It is
repeated after a lost connection and after 429 or 503 with ``Retry-After``, a few times, waiting longer each time.
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
"""What OpenSSL calls an answer in plain HTTP."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Request(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None

    @property
    def repeatable(self) -> bool:
        return self.method == "GET" or "Idempotency-Key" in self.headers

    def having(self, **headers: str) -> Request:
        """The same with more headers; ``_`` stands for ``-``."""
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
        """Whether the server found everything already as the change wanted it."""
        return self.headers.get("canton-unchanged") == "true"


Observe: TypeAlias = Callable[[Request, Answer | None, float], None]
"""Called after every attempt with what was sent, what came back if anything did, and the seconds between."""


def ignore(_request: Request, _answer: Answer | None, _seconds: float) -> None:
    """Observe nothing."""


class Address(NamedTuple):
    """Where a server is, and how to trust it."""

    url: str
    timeout: float = 30.0
    ca: str | None = None
    plain_http: bool = False
    """Send tokens unencrypted to a server that is not this machine."""

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
    """TLS over a plain connection: ssl is loaded only by those who need it."""

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


class Live(NamedTuple):
    """An answer that is read as it comes, over a connection of its own."""

    connection: http.client.HTTPConnection
    response: http.client.HTTPResponse

    def close(self) -> None:
        """Close it, even while another thread reads: closing alone would wait for what that thread waits for."""
        if self.connection.sock is not None:
            with suppress(OSError):
                self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.response.close()
        self.connection.close()

    def rest(self) -> Answer:
        """What is left of it, as an answer like any other."""
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
        """The server's answer, whatever its status; Unreachable if there is none."""
        for attempt in range(1, self._tries + 1):
            last = attempt == self._tries or not request.repeatable
            try:
                answer = self._once(request)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last or not _may_pass(error):
                    raise self._unreachable(error) from error
                time.sleep(_pause(attempt))
            else:
                if last or answer.status not in (429, 503) or "retry-after" not in answer.headers:
                    return answer
                time.sleep(_told(answer.headers["retry-after"]) or _pause(attempt))
        raise AssertionError("the last attempt returns or raises")

    def open(self, request: Request, timeout: float) -> Live:
        """An answer to be read as it comes; silence of ``timeout`` seconds ends it."""
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
        return Live(connection, response)

    def _once(self, request: Request) -> Answer:
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


def _may_pass(error: Exception) -> bool:
    """A name that does not exist or a certificate that is wrong will be so in a second as well."""
    if getattr(error, "reason", "") in NOT_TLS:
        return False
    return not _untrusted(error) and type(error).__name__ != "gaierror" and not isinstance(error, TimeoutError)


def _pause(attempt: int) -> float:
    return min(LONGEST_PAUSE, FIRST_PAUSE * 3.0 ** (attempt - 1) * random.uniform(0.7, 1.3))  # noqa: S311 (jitter)


def _told(retry_after: str) -> float:
    """The seconds that the server asks for, within reason; 0 if it names a date."""
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
