"""How those who follow something hear that there may be news."""

from __future__ import annotations

import asyncio

SHORTEST = 0.02
"""Seconds between two beats: news of a busy machine comes in bundles."""


class ChangeSignal:
    """Beats when something may have changed; costs nothing while nobody waits."""

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
        """This machine is left: whoever waits is told so, now and from now on."""
        self._over = True
        self._beat.set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Until the next beat, or for so many real seconds; False when it is over."""
        if self._over:
            return False
        self._waiting += 1
        try:
            # Not wait_for, which in Python 3.11 may lose that it was cancelled.
            async with asyncio.timeout(seconds):
                await self._beat.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
        return not self._over
