"""Long lists: version 3 gives a page of them, version 2 gives all or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from csm_emulator.services.cfs.errors import refuse

T = TypeVar("T")
_LARGEST_PAGE = 10**9


def page(found: Iterable[T], limit: int) -> tuple[list[T], bool]:
    """So many of them, and whether there are more."""
    first = list(islice(found, min(limit, _LARGEST_PAGE) + 1))
    return first[:limit], len(first) > limit


def all_of(found: Iterable[T], limit: int) -> list[T]:
    """Raises ``Refused`` where there are more than so many."""
    first, more = page(found, limit)
    if more:
        detail = "The response size exceeds the default_page_size.  Use the v3 API to page through the results."
        raise refuse(400, "The response size is too large", detail)
    return first
