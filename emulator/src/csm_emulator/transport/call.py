"""What comes in and what goes out."""

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
    """A request, as the service itself sees it: without the gateway's prefix."""

    method: str
    path: str
    """Percent-decoded."""
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""
    body: bytes = b""
    peer: str = ""
    """The address that the request came from."""
    base: str = ""
    """Scheme, host and prefix under which the caller reached the service: ``https://localhost:8443/apis/smd``."""
    args: Mapping[str, str] = field(default_factory=dict)
    """What stood in place of the ``{names}`` of the route."""
    target: str = ""
    """Path and query as they stood on the first line, still encoded: what the gateway's policy looks at."""
    caller: str = ""
    """The common name of the client's certificate, where the listener asks for one."""

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


class Cut(Exception):
    """The caller gets no answer: the connection is closed, or it is gone already."""


Stream = Callable[[], AsyncGenerator[bytes, None]]
"""Gives a body bit by bit; closed when the caller goes."""
Talk = Callable[["Tunnel"], Awaitable[None]]
"""What both sides say after the head of an upgrade; the connection is closed when it comes back."""


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
    """Gives the reply to be sent instead, once there is one: a service that waits asks it whenever time has moved."""

    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


def json_reply(value: Json, status: int = 200, media: str = JSON, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    """As Go's encoder writes it: compact, a newline at the end."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return Reply(status, utf8(text) + b"\n", media, headers)


def text_reply(text: str, status: int = 200, media: str = "text/plain; charset=utf-8") -> Reply:
    return Reply(status, utf8(text), media)


def utf8(text: str) -> bytes:
    """As Go writes text: half a pair of surrogates, which JSON can name and UTF-8 cannot, is U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()
