"""Future actions: a moment, a kind and arguments, as data, so that they survive a restart.

The owner of a kind registers its action once (``register``); any code may schedule it (``at``, ``after``).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from csm_emulator.records import Json
from csm_emulator.state.clock import Clock
from csm_emulator.state.tables import RecordTable, RecordTables

Action = Callable[..., None]
ErrorHandler = Callable[[str, list[Any]], None]


class ActionNotReady(Exception):
    """An action waits for an external server: it stays first in the queue, and virtual time waits."""


class Scheduler:
    def __init__(self, tables: RecordTables, clock: Clock) -> None:
        self._clock = clock
        self._table: RecordTable[list[Json]] = tables.open("scheduler")
        self._actions: dict[str, Action] = {}
        self.on_error: ErrorHandler | None = None
        """Called in the handler of an exception that an action raised; if None, the exception propagates."""
        self._heap = [(value[0], int(key)) for key, value in self._table.items()]
        heapq.heapify(self._heap)
        self._next = max((number for _, number in self._heap), default=0) + 1

    def register(self, kind: str, action: Action) -> None:
        """Registers the action of a kind; raises ``ValueError`` if it has one."""
        if kind in self._actions:
            raise ValueError(f"{kind} already has an action")
        self._actions[kind] = action

    def at(self, moment: float, kind: str, *args: Any) -> None:
        """Schedules an action; a moment in the past means as soon as possible.

        Entries are never removed: when its moment comes, an action checks whether it is still needed.
        """
        if kind not in self._actions:
            raise ValueError(f"{kind} has no action")
        number, self._next = self._next, self._next + 1
        self._table[str(number)] = [moment, kind, list(args)]
        heapq.heappush(self._heap, (moment, number))

    def after(self, seconds: float, kind: str, *args: Any) -> None:
        self.at(self._clock.now() + seconds, kind, *args)

    def next_moment(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def run(self, until: float, most: int) -> int:
        """Runs the actions that are due until then, in order, at most ``most``; returns their number."""
        count = 0
        while count < most and (moment := self.next_moment()) is not None and moment <= until:
            _, number = heapq.heappop(self._heap)
            entry = self._table.pop(str(number))
            _, kind, args = entry
            try:
                self._do(moment, kind, args)
            except ActionNotReady:
                self._table[str(number)] = entry
                heapq.heappush(self._heap, (moment, number))
                break
            count += 1
        return count

    def _do(self, moment: float, kind: str, args: list[Any]) -> None:
        self._clock.hold(moment)
        try:
            self._actions[kind](*args)
        except ActionNotReady:
            raise
        except Exception:
            if self.on_error is None:
                raise
            self.on_error(kind, args)
        finally:
            self._clock.hold(None)
