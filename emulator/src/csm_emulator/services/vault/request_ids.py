"""Every answer has a number of its own."""

from __future__ import annotations

from csm_emulator.state.random import SeededRandom


class Requests:
    """Told to clients, who write it into their logs, and never asked for: nothing of it has to survive."""

    def __init__(self, random: SeededRandom) -> None:
        self._random = random
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return self._random.uuid("vault.request", self._count)
