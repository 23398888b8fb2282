"""Filters of sessions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from csm_emulator.dialects.python_times import span, without_zone
from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.components.filters import Tags, read_tags


class InvalidAge(Exception):
    """The age is out of range; the message is Python's."""


@dataclass(frozen=True, slots=True)
class SessionFilter:
    youngest: datetime | None = None
    oldest: datetime | None = None
    status: str = ""
    part_of_name: str = ""
    succeeded: str = ""
    tags: Tags = ()

    def matches(self, record: Record) -> bool:
        session = record["status"]["session"]
        if self.part_of_name not in record["name"]:
            return False
        if self.status and session.get("status") != self.status:
            return False
        if self.succeeded and session.get("succeeded") != self.succeeded:
            return False
        tags = record.get("tags", {})
        return self._matches_age(session) and all(tags.get(key) == value for key, value in self.tags)

    def _matches_age(self, session: Record) -> bool:
        if self.youngest is None and self.oldest is None:
            return True
        start = start_of(session)
        if self.oldest and start < self.oldest:
            return False
        return not (self.youngest and start > self.youngest)


def start_of(session: Record) -> datetime:
    """The session's start; raises ``UncaughtError`` when a PATCH has replaced it with an invalid time."""
    try:
        return datetime.fromisoformat(session["start_time"]).replace(tzinfo=None)
    except (TypeError, ValueError) as error:
        raise UncaughtError from error


def read_filter(query: Mapping[str, Json], now: float) -> SessionFilter:
    """The filter in query parameters; raises ``Refused`` for invalid tags, then ``InvalidAge``."""
    tags = read_tags(query.get("tags"))
    # ``age`` is the former name of ``min_age``.
    older_than = query.get("min_age") or query.get("age") or ""
    return SessionFilter(
        _time_before(older_than, now),
        _time_before(query.get("max_age") or "", now),
        query.get("status") or "",
        query.get("name_contains") or "",
        query.get("succeeded") or "",
        tags,
    )


def _time_before(age: str, now: float) -> datetime | None:
    if not age:
        return None
    try:
        return without_zone(now) - span(age)
    except OverflowError as error:
        raise InvalidAge(str(error)) from error
