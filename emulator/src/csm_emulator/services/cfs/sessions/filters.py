"""Which sessions are meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from csm_emulator.dialects.python_times import span, without_zone
from csm_emulator.records import Record
from csm_emulator.services.cfs.components.changes import Stumble
from csm_emulator.services.cfs.components.filters import Tags, read_tags


class NoAge(Exception):
    """What is wrong with it, in Python's words."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    youngest: datetime | None = None
    oldest: datetime | None = None
    status: str = ""
    part_of_name: str = ""
    succeeded: str = ""
    tags: Tags = ()

    def fits(self, record: Record) -> bool:
        session = record["status"]["session"]
        if self.part_of_name not in record["name"]:
            return False
        if self.status and session.get("status") != self.status:
            return False
        if self.succeeded and session.get("succeeded") != self.succeeded:
            return False
        tags = record.get("tags", {})
        return self._fits_age(session) and all(tags.get(key) == value for key, value in self.tags)

    def _fits_age(self, session: Record) -> bool:
        if self.youngest is None and self.oldest is None:
            return True
        start = begun(session)
        if self.oldest and start < self.oldest:
            return False
        return not (self.youngest and start > self.youngest)


def begun(session: Record) -> datetime:
    """Raises ``Stumble`` where a PATCH has left no time."""
    try:
        return datetime.fromisoformat(session["start_time"]).replace(tzinfo=None)
    except (TypeError, ValueError) as error:
        raise Stumble from error


def read_filter(said: Mapping[str, Any], now: float) -> SessionFilter:
    """Raises ``Refused`` for tags, and then ``NoAge``."""
    tags = read_tags(said.get("tags"))
    # What is called only ``age`` is the old name of ``min_age``.
    older_than = said.get("min_age") or said.get("age") or ""
    return SessionFilter(
        _before(older_than, now),
        _before(said.get("max_age") or "", now),
        said.get("status") or "",
        said.get("name_contains") or "",
        said.get("succeeded") or "",
        tags,
    )


def _before(age: str, now: float) -> datetime | None:
    if not age:
        return None
    try:
        return without_zone(now) - span(age)
    except OverflowError as error:
        raise NoAge(str(error)) from error
