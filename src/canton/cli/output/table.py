"""Tables for people: cells, widths, relative times."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from canton.cli.output.terminal import BOLD, COLOURS, paint
from canton.domain.terminal_text import one_line

Row = Sequence[str]
GAP = "  "
FRACTION = re.compile(r"(?<=:[0-9]{2})\.[0-9]+")
MIN_WIDTH = 10
"""A column that is cut to fit keeps at least this many characters."""


def draw(head: Row | None, rows: Sequence[Row], *, colour: bool) -> str:
    """Rows in columns as wide as their values; the last column is not padded."""
    everything = [*([head] if head else []), *rows]
    if not everything:
        return ""
    widths = [max(map(len, column)) for column in zip(*everything, strict=True)]
    lines = [_line(row, widths, COLOURS if colour else {}) for row in rows]
    if head:
        title = _line(head, widths, {})
        lines.insert(0, paint(title, BOLD) if colour else title)
    return "".join(f"{line}\n" for line in lines)


def fit(head: Row, rows: Sequence[Row], flexible: Sequence[int], room: int) -> list[list[str]]:
    """The rows with their flexible columns cut, the widest first, until a line fits into ``room``."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - room
    while excess > 0 and (cuttable := [n for n in flexible if widths[n] > max(MIN_WIDTH, len(head[n]))]):
        widths[max(cuttable, key=lambda n: widths[n])] -= 1
        excess -= 1
    return [[cut(text, widths[n]) if n in flexible else text for n, text in enumerate(row)] for row in rows]


def cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _line(row: Row, widths: Sequence[int], colours: dict[str, str]) -> str:
    padded = [*(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)), row[-1]]
    if not colours:
        return GAP.join(padded).rstrip()
    painted = [paint(text, colours[cell]) if cell in colours else text for cell, text in zip(row, padded, strict=True)]
    return GAP.join(painted).rstrip()


def cell(value: object) -> str:
    """The text of a value in a table; None and empty values are a dash."""
    if value is None or value in ("", []):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(map(cell, value))
    if isinstance(value, dict):
        return sentence(value) or " ".join(f"{name}={cell(item)}" for name, item in value.items())
    return one_line(str(value))


def sentence(value: dict[str, object]) -> str | None:
    """The message of a failure, or the reason why an operation needs attention; None for any other mapping."""
    text = value.get("message", value.get("reason") if "choices" in value else None)
    return one_line(text) if isinstance(text, str) and text else None


def to_the_second(instant: object) -> str:
    """An instant of the API without fractions of a second."""
    return FRACTION.sub("", cell(instant))


def ago(instant: object, now: float | None = None) -> str:
    """``3m ago`` or ``in 2h`` for an instant of the API."""
    if not isinstance(instant, str):
        return cell(instant)
    from datetime import datetime  # noqa: PLC0415 (a table without instants needs none of it)

    try:
        then = datetime.fromisoformat(instant).timestamp()
    except ValueError:
        return cell(instant)
    seconds = int((time.time() if now is None else now) - then)
    text = _span(abs(seconds))
    return "now" if seconds == 0 else f"in {text}" if seconds < 0 else f"{text} ago"


def _span(seconds: int) -> str:
    for unit, size, upto in (("s", 1, 120), ("m", 60, 7200), ("h", 3600, 172_800)):
        if seconds < upto:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86_400}d"
