"""Paging of lists: version 3 returns a page, version 2 returns the whole list or an error."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

from csm_emulator.services.cfs.errors import refuse

T = TypeVar("T")
_MAX_PAGE = 10**9


def page(items: Iterable[T], limit: int) -> tuple[list[T], bool]:
    """The first ``limit`` items, and whether there are more."""
    first = list(islice(items, min(limit, _MAX_PAGE) + 1))
    return first[:limit], len(first) > limit


def all_of(items: Iterable[T], limit: int) -> list[T]:
    """All items; raises ``Refused`` when there are more than ``limit``."""
    first, more = page(items, limit)
    if more:
        detail = "The response size exceeds the default_page_size.  Use the v3 API to page through the results."
        raise refuse(400, "The response size is too large", detail)
    return first
