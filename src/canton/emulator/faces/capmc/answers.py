"""CAPMC's shapes: an error number and a message beside whatever else there is to say."""

from __future__ import annotations

import json
from collections.abc import Iterable

from canton.emulator.wire.call import Json, Reply, json_reply
from canton.emulator.wire.go_json import Kind, Undecodable, decode
from canton.emulator.wire.go_syntax import complaint

INVALID = 22
"""EINVAL, which most refusals carry."""
_END = "unexpected end of JSON input"


class Refusal(Exception):
    """Becomes the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BadIds(Exception):
    """Some of the names or numbers are of no use."""

    def __init__(self, message: str, ids: Iterable[object]) -> None:
        self.message = message
        self.ids = list(ids)
        super().__init__(f"{message}: {go_list(self.ids)}")


class NothingSaid(Exception):
    """The request has no body."""


def error(status: int, message: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return json_reply({"e": status, "err_msg": message}, status, headers=headers)


def go_list(values: Iterable[object]) -> str:
    """As ``%v`` prints a slice."""
    return f"[{' '.join(map(str, values))}]"


def read(body: bytes, kind: Kind) -> Json:
    """``json.Decoder``: the first value counts, whatever follows it. Raises ``NothingSaid`` and ``Undecodable``."""
    text = body.decode("utf-8", "replace")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if start == len(text):
        raise NothingSaid
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        said = complaint(body)
        raise Undecodable("unexpected EOF" if said in (_END, "") else said) from None
    return decode(text[start:end].encode(), kind)
