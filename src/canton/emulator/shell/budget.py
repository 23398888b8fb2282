"""What one line may cost: work, output, and what is held in memory."""

from __future__ import annotations

TICKS = 2_000_000
"""Of work for one line. A tick is about 100 ns on a slow machine: other clients wait at most a fifth of a second."""
COMMAND = 400
"""Ticks for each command that runs."""
CHARACTERS = 20
"""Of text that a plain command handles in a tick."""
OUTPUT = 1 << 20
"""Characters that one line writes in all, to its caller and into pipes."""
LAST_WORDS = 200
"""Room for the message that the line was ended."""
LONGEST_VALUE = 64 << 10
MOST_VARIABLES = 256
MOST_WORDS = 10_000
DEEPEST = 32
"""Of scripts within scripts: subshells, substitutions, loops."""
KILLED = 137


class Exhausted(Exception):
    """The line cost too much and is ended; the text says what there was too much of."""


class Budget:
    def __init__(self) -> None:
        self._ticks = TICKS
        self._output = OUTPUT

    def spend(self, ticks: int) -> None:
        """Raises ``Exhausted``."""
        self._ticks -= ticks
        if self._ticks < 0:
            raise Exhausted("the line does more work than this shell allows")

    def handle(self, text: str) -> str:
        """The text, after its cost was taken; raises ``Exhausted``."""
        self.spend(1 + len(text) // CHARACTERS)
        return text

    def write(self, text: str) -> None:
        """Raises ``Exhausted``."""
        self._output -= len(text)
        if self._output < 0:
            self._output = LAST_WORDS
            raise Exhausted("the line writes more than this shell allows")
