"""A written object shows on every other path that has it: the form of the tables, and the check of one row."""

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
class ReadBack:
    """One path on which the written object must show."""

    request: Callable[[Thing, Any], Request]
    """Made of the object and of the body of the reply to the write."""
    extract: Callable[[Any, Thing], Any]
    """Takes the comparable part out of the body of the reply to ``request``."""
    expected: Callable[[Thing], Any]
    service: str = ""
    """That of the row when empty."""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    service: str
    things: st.SearchStrategy[Thing]
    write: Callable[[Thing], Request]
    read_backs: Sequence[ReadBack]
    set_up: Callable[[Thing], Sequence[Request]] = lambda _: ()
    """Requests before the write, such as the deletion of an old object; they may be refused."""
    clean_up: Callable[[Thing], Sequence[Request]] = lambda _: ()
    """Requests after the reads, where the object would disturb the next example."""
    changed: str = ""
    """What the real service changes in the object, if it does."""
    wait: float = 0.0
    """Virtual seconds until a read shows the write."""
    complete: Callable[[Request, Any], Request] = lambda request, _: request
    """Completes the write with the body of the last reply to ``set_up``."""


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


def check_row(row: Row, site: Site, thing: Thing) -> None:
    body = None
    for request in row.set_up(thing):
        body = _body(ask(site, row.service, request))
    try:
        _write_and_read(row, site, thing, row.complete(row.write(thing), body))
    finally:
        for request in row.clean_up(thing):
            ask(site, row.service, request)
            site.step(row.wait)


def _body(reply: Reply) -> Any:
    return json.loads(reply.body) if reply.body else None


def _write_and_read(row: Row, site: Site, thing: Thing, write: Request) -> None:
    reply = ask(site, row.service, write)
    note(f"{write} → {reply}")
    assert reply.ok
    answer = _body(reply)
    site.step(row.wait)
    for read_back in row.read_backs:
        request = read_back.request(thing, answer)
        read = ask(site, read_back.service or row.service, request)
        note(f"{request} → {read}")
        assert read.ok
        assert read_back.extract(json.loads(read.body), thing) == read_back.expected(thing)
