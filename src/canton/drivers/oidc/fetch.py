"""Fetches an issuer's documents over HTTPS: without redirects or proxies, limited in size and time."""

from __future__ import annotations

import ipaddress
import json
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

from canton.domain.errors import InvalidSetting, IssuerUnavailable

Fetch = Callable[[str], dict[str, object]]

TIMEOUT = 5.0
MAX_BYTES = 256 * 1024
"""Keycloak's discovery document has 7 kB, and a key set with ten keys and their certificates 30 kB."""
_CHUNK = 16 * 1024


def check_address(url: str, what: str) -> str:
    """The address itself, or InvalidSetting: keys that came over plain HTTP may be forged."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise InvalidSetting(
            f"{what} is not an address: {error}; give one such as https://login.example.org"
        ) from error
    if not host or parts.username is not None or parts.fragment:
        raise InvalidSetting(
            f'{what} must name a host and have no user and no fragment; found "{_without_password(url)}"'
        )
    if parts.scheme != "https" and not (parts.scheme == "http" and _loopback(host)):
        raise InvalidSetting(
            f'{what} must begin with https:// (http:// only for this machine itself); found "{_without_password(url)}"'
        )
    return url


def fetcher(ca_file: Path | None) -> Fetch:
    """``ca_file``: the only authorities to trust, for a site with its own; otherwise those of the system."""
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        _HttpHandler(),
        _HttpsHandler(_trusted_authorities(ca_file)),
        _NoRedirects(),
    )

    def fetch(url: str) -> dict[str, object]:
        request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310  # checked address
        try:
            with opener.open(request, timeout=TIMEOUT) as response:
                document = json.loads(_read(response, url))
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            raise IssuerUnavailable(f"{url} could not be read: {_reason(error)}; is the issuer up?", url=url) from error
        if not isinstance(document, dict):
            raise IssuerUnavailable(f"{url} should hold a JSON object and does not; is this the issuer?", url=url)
        return document

    return fetch


def _trusted_authorities(ca_file: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise InvalidSetting(f"the CA file {ca_file} cannot be used: {error}; it must hold PEM certificates") from error


class _HttpHandler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_HttpConnection, req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def __init__(self, trust: ssl.SSLContext) -> None:
        super().__init__(context=trust)
        self._connection = partial(_HttpsConnection, context=trust)

    def https_open(self, req: urllib.request.Request) -> HTTPResponse:
        return self.do_open(self._connection, req)


class _HttpConnection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        _close_later(self.sock)


class _HttpsConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        _close_later(self.sock)


def _close_later(connected: socket.socket) -> None:
    """Close the connection after three time-outs: nothing else limits a response whose headers arrive byte by byte."""

    def close() -> None:
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(3 * TIMEOUT, close)
    timer.daemon = True
    timer.start()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def _read(response: HTTPResponse, url: str) -> bytes:
    """The body, within twice the time-out: that of the socket starts again with every byte of a slow sender."""
    deadline = time.monotonic() + 2 * TIMEOUT
    document = bytearray()
    while chunk := response.read1(_CHUNK):
        document += chunk
        if len(document) > MAX_BYTES:
            raise IssuerUnavailable(f"{url} is larger than {MAX_BYTES} bytes; is this the issuer?", url=url)
        if time.monotonic() > deadline:
            raise IssuerUnavailable(f"{url} was sent too slowly; is the issuer overloaded?", url=url)
    return bytes(document)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()  # it is also the response, with its connection
        return f"it answered with status {error.code}" + ("; redirects are not followed" if error.code < 400 else "")
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _without_password(url: str) -> str:
    """The address without what may be a password."""
    return url.rpartition("@")[2] if "@" in url else url
