"""Requests (``Call``) and responses (``Reply``)."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from csm_emulator.records import Json

if TYPE_CHECKING:
    from csm_emulator.transport.tunnel import Tunnel


JSON = "application/json"
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Call:
    """A request as the service sees it, without the gateway's prefix."""

    method: str
    path: str
    """Percent-decoded."""
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    peer: str = ""
    """The IP address of the client."""
    base: str = ""
    """Scheme, host and prefix in the URL that the client used: ``https://localhost:8443/apis/smd``."""
    args: Mapping[str, str] = field(default_factory=dict)
    """The values of the ``{names}`` in the route's path."""
    target: str = ""
    """Path and query of the first line, still encoded; the gateway's policy decides by it."""
    caller: str = ""
    """The common name of the client's certificate, if the listener asks for one."""

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.query if key == name]

    def first(self, name: str, default: str = "") -> str:
        return next((value for key, value in self.query if key == name), default)

    def has(self, name: str) -> bool:
        return any(key == name for key, _ in self.query)

    def json(self) -> Json:
        """Raises ``ValueError`` for what is not JSON."""
        return json.loads(self.body)

    def at(self, args: Mapping[str, str]) -> Call:
        return replace(self, args=args)


class ConnectionAborted(Exception):
    """The client gets no response: the connection is closed, by a fault or by the client."""


Stream = Callable[[], AsyncGenerator[bytes, None]]
"""Yields a body in pieces; it is closed when the client disconnects."""
Talk = Callable[["Tunnel"], Awaitable[None]]
"""Handles a connection after an upgrade; when it returns, the connection is closed."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    body: bytes = b""
    media: str = ""
    """The Content-Type; none is sent when empty."""
    headers: Sequence[tuple[str, str]] = ()
    stream: Stream | None = None
    """Instead of ``body``."""
    talk: Talk | None = None
    """With status 101."""
    later: Callable[[], Reply | None] | None = None
    """Returns the reply to send instead, or None while it is not ready; called again after each change."""

    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


def json_reply(value: Json, status: int = 200, media: str = JSON, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """JSON as Go's encoder writes it: compact, with a newline at the end."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Reply(status, utf8(text) + b"\n", media, headers)


def text_reply(text: str, status: int = 200, media: str = "text/plain; charset=utf-8") -> Reply:
    return Reply(status, utf8(text), media)


def utf8(text: str) -> bytes:
    """UTF-8 as Go writes it: a lone surrogate, which JSON can express and UTF-8 cannot, becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()
