"""HTTP to several services, one connection each."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from differential.answers import Answer

TIMEOUT = 30.0
IDLE = 10.0
"""Seconds: a connection that was idle for longer is not used again, since a server may be about to close it."""


class Wire:
    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._connections = {
            service: http.client.HTTPConnection(urlsplit(address).netloc, timeout=TIMEOUT)
            for service, address in addresses.items()
        }
        self._used = dict.fromkeys(addresses, 0.0)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def ask(self, service: str, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = self._connections[service]
        if time.monotonic() - self._used[service] > IDLE:
            connection.close()
        self._used[service] = time.monotonic()
        described = {"Content-Type": "application/json", **headers} if body is not None else dict(headers)
        try:
            connection.request(method, path, body, described)
            reply = connection.getresponse()
            content = reply.read()
        except ConnectionError:
            # Go's server closes the connection when a handler panics.
            connection.close()
            return Answer(0, {}, b"the connection was closed without an answer")
        return Answer(reply.status, {name.lower(): value for name, value in reply.getheaders()}, content)
