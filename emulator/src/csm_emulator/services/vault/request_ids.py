"""The ids of requests in Vault's replies."""

from __future__ import annotations

from csm_emulator.state.random import SeededRandom


class RequestIds:
    """Clients only log the ids, so that they need not be stored."""

    def __init__(self, random: SeededRandom) -> None:
        self._random = random
        self._count = 0

    def next(self) -> str:
        self._count += 1
        return self._random.uuid("vault.request", self._count)
