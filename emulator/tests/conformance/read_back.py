"""What was written shows on every other path that has it: the form of the tables, and one go through a row."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from hypothesis import note
from hypothesis import strategies as st

from csm_emulator.site import Site
from csm_emulator.transport.call import JSON, Call, Reply

Thing = Any
Request = tuple[str, str, Any]
"""Method, path with query, body."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One of the other paths."""

    where: Callable[[Thing, Any], Request]
    """Of the thing, and of what the writer was told."""
    found: Callable[[Any, Thing], Any]
    """From the reply, the part that is compared."""
    expected: Callable[[Thing], Any]
    service: str = ""
    """The row's, when not said."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    service: str
    things: st.SearchStrategy[Thing]
    write: Callable[[Thing], Request]
    shown: Sequence[Shown]
    before: Callable[[Thing], Sequence[Request]] = lambda _: ()
    """Makes room; may be refused."""
    after: Callable[[Thing], Sequence[Request]] = lambda _: ()
    """Takes it away, where it would be in the way of the next."""
    changed: str = ""
    """What the real service makes of the thing, where it does not keep it as it is."""
    wait: float = 0.0
    """Virtual seconds until it can be seen."""
    complete: Callable[[Request, Any], Request] = lambda request, _: request
    """Puts into what is written what the last of ``before`` was told."""


def get(path: Callable[[Thing], str]) -> Callable[[Thing, Any], Request]:
    return lambda thing, _: ("GET", path(thing), None)


def ask(site: Site, service: str, request: Request) -> Reply:
    method, path, body = request
    path, _, query = path.partition("?")
    data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    pairs = tuple(parse_qsl(query, keep_blank_values=True))
    headers = {"content-type": _multipart(data) if isinstance(body, bytes) else JSON}
    return site.ask(service, Call(method, unquote(path), pairs, headers, data))


def _multipart(data: bytes) -> str:
    """The boundary is the first line."""
    boundary = data.split(b"\r\n", 1)[0].decode().removeprefix("--")
    return f"multipart/form-data; boundary={boundary}"


def go_through(row: Row, site: Site, thing: Thing) -> None:
    told = None
    for request in row.before(thing):
        told = _told(ask(site, row.service, request))
    try:
        _write_and_read(row, site, thing, row.complete(row.write(thing), told))
    finally:
        for request in row.after(thing):
            ask(site, row.service, request)
            site.step(row.wait)


def _told(reply: Reply) -> Any:
    return json.loads(reply.body) if reply.body else None


def _write_and_read(row: Row, site: Site, thing: Thing, request: Request) -> None:
    reply = ask(site, row.service, request)
    note(f"{request} → {reply}")
    assert reply.ok
    told = _told(reply)
    site.step(row.wait)
    for each in row.shown:
        request = each.where(thing, told)
        read = ask(site, each.service or row.service, request)
        note(f"{request} → {read}")
        assert read.ok
        assert each.found(json.loads(read.body), thing) == each.expected(thing)
