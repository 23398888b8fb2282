"""How Gitea answers: its JSON, and its two shapes of errors."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import Undecodable, decode
from csm_emulator.dialects.go_json.types import Struct
from csm_emulator.records import Json
from csm_emulator.transport.call import Call, Reply, json_reply

MEDIA = "application/json;charset=utf-8"
NO_TARGET = "The target couldn't be found."
PAGE, LARGEST_PAGE = 30, 50
"""DEFAULT_PAGING_NUM and MAX_RESPONSE_ITEMS."""


class Refusal(Exception):
    """Becomes the answer. A 404 also has ``errors``, which are null when there is nothing to say."""

    def __init__(self, status: int, message: str, errors: list[str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.errors = errors


def not_found(*errors: str) -> Refusal:
    return Refusal(404, NO_TARGET, list(errors) or None)


def refused(call: Call, refusal: Refusal) -> Reply:
    body: dict[str, Json] = {"message": str(refusal), "url": f"{call.base}/api/swagger"}
    if refusal.status == 404:
        body = {"errors": refusal.errors, **body}
    return json_reply(body, refusal.status, MEDIA)


def told(value: Json, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return json_reply(value, status, MEDIA, headers)


def form(call: Call, kind: Struct, required: str = "") -> Json:
    """The body; raises what Gitea's binding says of a wrong one."""
    try:
        said = decode(call.body, kind)
    except Undecodable as error:
        raise Refusal(422, f"[]: {error}") from error
    for name in required.split():
        if not said[name]:
            raise Refusal(422, f"[{_spelled(name)}]: Required")
    return said


def _spelled(name: str) -> str:
    """As the field is called in Go."""
    return "".join(part.capitalize() for part in name.split("_"))


def page(call: Call, items: list[Json]) -> tuple[list[Json], tuple[tuple[str, str], ...]]:
    """One page of a list, and the headers that tell of the others."""
    first, size = page_of(call)
    return items[first : first + size], paging(call, len(items))


def page_of(call: Call) -> tuple[int, int]:
    """Where the page begins, and how many may stand on it."""
    number, size = _number(call, "page"), _number(call, "limit")
    size = min(size, LARGEST_PAGE) if size > 0 else PAGE
    return (max(number, 1) - 1) * size, size


def paging(call: Call, total: int) -> tuple[tuple[str, str], ...]:
    first, size = page_of(call)
    headers = [("X-Total-Count", str(total))]
    here, last = first // size + 1, max(1, -(-total // size))
    linked = {"next": here + 1, "last": last} if here < last else {}
    linked |= {"first": 1, "prev": here - 1} if here > 1 else {}
    if linked:
        links = (f'<{call.base}{call.path}?limit={size}&page={number}>; rel="{rel}"' for rel, number in linked.items())
        headers.append(("Link", ",".join(links)))
    return tuple(headers)


def _number(call: Call, name: str) -> int:
    text = call.first(name)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
