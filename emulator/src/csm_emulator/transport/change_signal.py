"""A signal for waiting requests that something may have changed."""

from __future__ import annotations

import asyncio

SHORTEST = 0.02
"""Least seconds between two notifications: changes of a busy machine are bundled."""


class ChangeSignal:
    """Wakes waiters when something may have changed; without waiters it costs nothing."""

    def __init__(self) -> None:
        self._beat = asyncio.Event()
        self._waiting = 0
        self._due = False
        self._over = False

    def notify(self) -> None:
        if self._waiting and not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(SHORTEST, self._now)

    def _now(self) -> None:
        self._due = False
        beat, self._beat = self._beat, asyncio.Event()
        beat.set()

    def close(self) -> None:
        """Ends all waits, now and in future: another machine is loaded, or the emulator stops."""
        self._over = True
        self._beat.set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Waits for the next notification, or at most for these real seconds; returns False after ``close``."""
        if self._over:
            return False
        self._waiting += 1
        try:
            # Not wait_for, which in Python 3.11 may lose a cancellation.
            async with asyncio.timeout(seconds):
                await self._beat.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
        return not self._over
