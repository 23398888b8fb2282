"""Cron schedules such as ``*/3 * * * *``, and the times at which they are due, in UTC."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_WORDS = {
    3: {
        name: number
        for number, name in enumerate(
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
        )
    },
    4: {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])},
}
_PART = re.compile(r"(\*|\?|[a-z0-9]+(?:-[a-z0-9]+)?)(?:/([0-9]{1,2}))?")
_LONGEST_SEARCH = 366
"""Days that are searched; a schedule that was not due within them counts as never due."""


class ScheduleError(Exception):
    """The schedule is invalid; the message is that of the parser that Kubernetes uses."""


@dataclass(frozen=True, slots=True)
class Schedule:
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    """When the day of the month and the day of the week are both restricted, either one is enough."""
    any_weekday: bool

    def latest(self, since: float, until: float, limit: int) -> list[float]:
        """The last due times after ``since`` and up to ``until``, in order, at most ``limit``."""
        moments: list[float] = []
        day = datetime.fromtimestamp(until, UTC).date()
        for _ in range(_LONGEST_SEARCH):
            midnight = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
            if len(moments) >= limit or midnight + 86_400 <= since:
                break
            if self._is_on(day):
                times = (midnight + 3600 * hour + 60 * minute for hour in self.hours for minute in self.minutes)
                moments += sorted((moment for moment in times if since < moment <= until), reverse=True)
            day -= timedelta(days=1)
        return sorted(moments[:limit])

    def _is_on(self, day: date) -> bool:
        by_month, by_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        day_matches = by_month and by_week if self.any_day or self.any_weekday else by_month or by_week
        return day.month in self.months and day_matches


def read_schedule(text: str) -> Schedule:
    """Raises ``ScheduleError``."""
    fields = _MACROS.get(text, text).lower().split()
    if len(fields) != len(_RANGES):
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    minutes, hours, days, months, weekdays = (_numbers(field, field_index) for field_index, field in enumerate(fields))
    return Schedule(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        fields[2].startswith(("*", "?")),
        fields[4].startswith(("*", "?")),
    )


def _numbers(field: str, field_index: int) -> frozenset[int]:
    low, high = _RANGES[field_index]
    numbers: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ScheduleError(f"failed to parse int from {part}: strconv.Atoi: parsing {part!r}: invalid syntax")
        step = int(match[2] or 1)
        first, _, last = match[1].partition("-")
        start = low if first in "*?" else _number(first, field_index)
        end = high if first in "*?" or (match[2] and not last) else _number(last or first, field_index)
        if start < low or end > high or start > end or step < 1:
            raise ScheduleError(f"end of range ({end}) or beginning ({start}) out of [{low}, {high}]: {part}")
        numbers.update(range(start, end + 1, step))
    return frozenset(numbers)


def _number(text: str, field_index: int) -> int:
    number = _WORDS.get(field_index, {}).get(text)
    if number is None and not (text.isdecimal() and len(text) < 3):
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {text!r}: invalid syntax")
    return int(text) if number is None else number
