"""Gitea's replies: JSON, pages, and the two forms of errors."""

from __future__ import annotations

from csm_emulator.dialects.go_json.reader import DecodeError, decode
from csm_emulator.dialects.go_json.types import Struct
from csm_emulator.records import Json
from csm_emulator.transport.call import Call, Reply, json_reply

MEDIA = "application/json;charset=utf-8"
NO_TARGET = "The target couldn't be found."
PAGE, LARGEST_PAGE = 30, 50
"""DEFAULT_PAGING_NUM and MAX_RESPONSE_ITEMS."""


class ApiError(Exception):
    """Becomes the reply. A 404 also has ``errors``, which may be null."""

    def __init__(self, status: int, message: str, errors: list[str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.errors = errors


def not_found(*errors: str) -> ApiError:
    return ApiError(404, NO_TARGET, list(errors) or None)


def error_reply(call: Call, error: ApiError) -> Reply:
    body: dict[str, Json] = {"message": str(error), "url": f"{call.base}/api/swagger"}
    if error.status == 404:
        body = {"errors": error.errors, **body}
    return json_reply(body, error.status, MEDIA)


def gitea_reply(value: Json, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return json_reply(value, status, MEDIA, headers)


def read_body(call: Call, kind: Struct, required: str = "") -> Json:
    """Parse the body; raises ``ApiError`` with the message of Gitea's binding for a wrong one."""
    try:
        fields = decode(call.body, kind)
    except DecodeError as error:
        raise ApiError(422, f"[]: {error}") from error
    for name in required.split():
        if not fields[name]:
            raise ApiError(422, f"[{_go_name(name)}]: Required")
    return fields


def _go_name(name: str) -> str:
    """The name of the field in Go."""
    return "".join(part.capitalize() for part in name.split("_"))


def page(call: Call, items: list[Json]) -> tuple[list[Json], tuple[tuple[str, str], ...]]:
    """One page of a list, and the headers with the links to other pages."""
    first, size = page_of(call)
    return items[first : first + size], paging(call, len(items))


def page_of(call: Call) -> tuple[int, int]:
    """(index of the first item, size of the page)."""
    number, size = _number(call, "page"), _number(call, "limit")
    size = min(size, LARGEST_PAGE) if size > 0 else PAGE
    return (max(number, 1) - 1) * size, size


def paging(call: Call, total: int) -> tuple[tuple[str, str], ...]:
    first, size = page_of(call)
    headers = [("X-Total-Count", str(total))]
    page_number, last_page = first // size + 1, max(1, -(-total // size))
    linked = {"next": page_number + 1, "last": last_page} if page_number < last_page else {}
    linked |= {"first": 1, "prev": page_number - 1} if page_number > 1 else {}
    if linked:
        links = (f'<{call.base}{call.path}?limit={size}&page={number}>; rel="{rel}"' for rel, number in linked.items())
        headers.append(("Link", ",".join(links)))
    return tuple(headers)


def _number(call: Call, name: str) -> int:
    text = call.first(name)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
