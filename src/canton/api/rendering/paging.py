"""Lists: the window from the query parameters, and the page with the cursor of the next one."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import Response
from sqlalchemy.engine import RowMapping

from canton.api.auth.caller import Caller, CallerDep
from canton.domain.errors import InvalidCursor, InvalidRequest
from canton.domain.json_types import Json, digest, storable
from canton.store.listing import ListPage, PageKey, Window

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
# Parameters that may differ between pages of one list; another value of any other makes it another list.
_FREE = frozenset({"limit", "after", "fields"})


@dataclass(frozen=True, slots=True)
class Paging:
    window: Window
    fields: tuple[str, ...]
    list: str
    """A digest of the list's path, sort and filters."""
    caller: Caller

    def answer(self, list_page: ListPage, render: Callable[[RowMapping], Mapping[str, Json]]) -> Response:
        self.caller.charge(entries=len(list_page.rows), size=list_page.size)
        items = (self._chosen(render(row)) for row in list_page.rows)
        cursor = None if list_page.next is None else _cursor(self.list, list_page.next)
        body = f'{{"items":[{",".join(map(_encode, items))}],"next":{_encode(cursor)}}}'
        return Response(body, media_type="application/json")

    def _chosen(self, item: Mapping[str, Json]) -> Mapping[str, Json]:
        return {name: item[name] for name in self.fields} if self.fields else item


def paging(sorts: Sequence[str], fields: Sequence[str], default: str | None = None) -> Any:
    """The dependency of a list with these sort keys and item fields; the first sort key is the default.

    Its slot in ``ReadCapacity`` is released before the answer is sent.
    """
    first = default or sorts[0]
    allowed = "|".join(sorts)

    async def dependency(
        request: Request,
        caller: CallerDep,
        limit: Annotated[int, Query(ge=1, le=1000, description="At most this many entries on a page.")] = 100,
        after: Annotated[str | None, Query(max_length=2000, description="The `next` of the previous page.")] = None,
        # Not annotated: an annotation is read outside of this function and would not know what is allowed.
        sort: str = Query(
            first, pattern=f"^-?({allowed})$", description=f"One of {allowed}; with `-` before it in descending order."
        ),
        fields_: Annotated[
            str | None, Query(alias="fields", max_length=500, description="Only these fields, separated by commas.")
        ] = None,
    ) -> AsyncIterator[Paging]:
        this = _list(request, sort)
        position = None if after is None else _position(after, this)
        window = Window(limit, sort.removeprefix("-"), sort.startswith("-"), position)
        page_request = Paging(window, _fields(fields_, fields), this, caller)
        async with caller.services.read_capacity.slot(caller.accounting_key, at_provider=caller.is_bound_in(None)):
            yield page_request

    return Depends(dependency, scope="function")


def _list(request: Request, sort: str) -> str:
    filters = sorted((name, value) for name, value in request.query_params.multi_items() if name not in _FREE)
    return digest([request.url.path, sort, [[name, value] for name, value in filters]])[7:23]


def _cursor(this: str, position: PageKey) -> str:
    return base64.urlsafe_b64encode(json.dumps([this, *position]).encode()).decode().rstrip("=")


def _position(cursor: str, this: str) -> PageKey:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        whose, *position = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        whose, position = None, []
    if whose != this or not all(_is_key(part) for part in position):
        raise InvalidCursor(
            "this cursor is not from this list with this sort and these filters; start again without after"
        )
    return tuple(position)


def _is_key(part: object) -> bool:
    if isinstance(part, str):
        return storable(part) == part
    return isinstance(part, int) and abs(part) < 2**63


def _fields(text: str | None, allowed: Sequence[str]) -> tuple[str, ...]:
    if text is None:
        return ()
    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise InvalidRequest(
            f'there is no field "{unknown[0]}" in this list; the fields are {", ".join(allowed)}',
            field=unknown[0],
            known=list(allowed),
        )
    return names
