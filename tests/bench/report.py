"""The report of a benchmark: its rows, as a table for a person and as a document for a program."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import ceil

from canton.domain.json_types import Json, JsonObject

HEADER = ("what", "value", "unit", "budget", "", "note")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value. A row without a budget is shown for information and never fails."""

    what: str
    value: float
    unit: str
    budget: float | None = None
    note: str = ""

    @property
    def over(self) -> bool:
        return self.budget is not None and self.value > self.budget


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least ``share`` of the values do not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def median(values: Sequence[float]) -> float:
    return quantile(values, 0.5)


def number(value: float) -> str:
    """The number with three significant digits, or with all digits before the point if it has more."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def table(rows: Sequence[Row]) -> str:
    cells = [HEADER, *map(_cells, rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADER))]
    return "\n".join(_line(line, widths) for line in cells)


def _cells(row: Row) -> tuple[str, ...]:
    budget = "" if row.budget is None else number(row.budget)
    verdict = "" if row.budget is None else "OVER" if row.over else "ok"
    return row.what, number(row.value), row.unit, budget, verdict, row.note


def _line(line: Sequence[str], widths: Sequence[int]) -> str:
    what, value, unit, budget, verdict, note = line
    figures = f"{value:>{widths[1]}} {unit:<{widths[2]}}  {budget:>{widths[3]}}  {verdict:<{widths[4]}}"
    return f"{what:<{widths[0]}}  {figures}  {note}".rstrip()


def load() -> float:
    """The load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def circumstances(postgresql: str | None) -> dict[str, Json]:
    """The machine and the time: values from two machines, or from a busy and an idle one, cannot be compared."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "postgresql": postgresql,
        "cpus": os.cpu_count(),
        "load_before": load(),
    }


def document(rows: Sequence[Row], around: Mapping[str, Json]) -> JsonObject:
    return {**around, "load_after": load(), "rows": [asdict(row) | {"over": row.over} for row in rows]}
