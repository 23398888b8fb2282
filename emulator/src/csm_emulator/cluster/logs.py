"""Logs of containers: lines with moments; a line whose moment is in the future is not visible yet."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from csm_emulator.records import Record
from csm_emulator.state.clock import Clock
from csm_emulator.state.tables import RecordTable, RecordTables

Line = tuple[float, str]

MOST_BYTES = 10 << 20
"""Bytes of a log, as in a kubelet: the beginning of a longer one is dropped."""


class Logs:
    """A log is stored in pieces, one for each write."""

    def __init__(self, tables: RecordTables, clock: Clock) -> None:
        self._clock = clock
        self._table: RecordTable[Record] = tables.open("cluster.logs")
        self._pieces: dict[str, list[int]] = {}
        """Numbers of the pieces by log."""
        self._sizes: dict[str, int] = {}
        for key in self._table:
            log, _, number = key.rpartition("/")
            self._pieces.setdefault(log, []).append(int(number))
        for log, numbers in self._pieces.items():
            numbers.sort()
            self._sizes[log] = sum(_size(self._table[f"{log}/{number}"]["lines"]) for number in numbers)

    def append(self, log: str, lines: Iterable[str | Line]) -> None:
        """Appends lines; a moment earlier than the previous line's is replaced by that one."""
        numbers = self._pieces.setdefault(log, [])
        last = self._table[f"{log}/{numbers[-1]}"] if numbers else None
        moment = last["lines"][-1][0] if last else 0.0
        now = self._clock.now()
        piece: list[list[float | str]] = []
        for line in lines:
            at, text = (now, line) if isinstance(line, str) else line
            moment = max(moment, at)
            piece.append([moment, text])
        if not piece:
            return
        number = numbers[-1] + 1 if numbers else 0
        first_line = last["before"] + len(last["lines"]) if last else 0
        self._table[f"{log}/{number}"] = {"before": first_line, "lines": piece}
        numbers.append(number)
        self._sizes[log] = self._sizes.get(log, 0) + _size(piece)
        self._shorten(log)

    def _shorten(self, log: str) -> None:
        numbers = self._pieces[log]
        while self._sizes[log] > MOST_BYTES and len(numbers) > 1:
            oldest = self._table.pop(f"{log}/{numbers.pop(0)}")
            self._sizes[log] -= _size(oldest["lines"])

    def lines(self, log: str, position: int = 0, most: int | None = None) -> tuple[list[Line], int]:
        """The lines up to now from ``position`` on, counted from the first line ever, and the next position."""
        result: list[Line] = []
        now = self._clock.now()
        for number in self._pieces.get(log, ()):
            piece = self._table[f"{log}/{number}"]
            first_line, lines = piece["before"], piece["lines"]
            if first_line + len(lines) <= position:
                continue
            start, stop = max(position - first_line, 0), bisect_right(lines, now, key=_moment)
            if most is not None:
                stop = min(stop, start + most - len(result))
            result += [(moment, text) for moment, text in lines[start:stop]]
            position = first_line + max(start, stop)
            if stop < len(lines):
                break
        return result, position

    def cut(self, log: str) -> None:
        """Drops the lines whose moments are in the future."""
        now = self._clock.now()
        numbers = self._pieces.get(log, [])
        while numbers:
            key = f"{log}/{numbers[-1]}"
            piece = self._table[key]
            count = bisect_right(piece["lines"], now, key=_moment)
            if count == len(piece["lines"]):
                return
            self._sizes[log] -= _size(piece["lines"][count:])
            if count:
                self._table[key] = {**piece, "lines": piece["lines"][:count]}
                return
            del self._table[key]
            numbers.pop()

    def forget(self, log: str) -> None:
        for number in self._pieces.pop(log, ()):
            del self._table[f"{log}/{number}"]
        self._sizes.pop(log, None)


def _moment(line: Sequence[Any]) -> float:
    return float(line[0])


def _size(lines: Iterable[Sequence[Any]]) -> int:
    return sum(len(text) + 1 for _, text in lines)
