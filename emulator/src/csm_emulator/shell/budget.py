"""What one line may cost: work, output, and what is held in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import thread_time

TICKS = 2_000_000
"""Of work for one line. A tick is about 100 ns on a slow machine."""
SECONDS = 0.5
"""Of processor time for one line, while other clients wait: the bound on work that costs more than its ticks say."""
TICKS_BETWEEN_LOOKS = 2000
"""After which the processor time is read, as that costs about ten ticks."""
COMMAND = 400
"""Ticks for each command that runs."""
CHARACTERS = 20
"""Of text that a plain command handles in a tick."""
OUTPUT = 1 << 20
"""Characters that one line writes in all, to its caller and into pipes."""
LAST_WORDS = 200
"""Room for the message that the line was ended."""
LONGEST_VALUE = 64 << 10
MOST_VARIABLES, LONGEST_VARIABLES = 256, 1 << 20
"""Of a shell, which may stay open for long."""
LONGEST_ARGUMENTS = 1 << 20
"""Characters of all words of one command."""
LONGEST_INPUT = 512 << 10
"""Characters that one command holds of all its files together."""
MOST_WORDS = 10_000
DEEPEST = 32
"""Of scripts within scripts: subshells, substitutions, loops."""
KILLED = 137


class BudgetExceeded(Exception):
    """The line cost too much and is ended; the text says what there was too much of."""


class Budget:
    def __init__(self) -> None:
        self._ticks = TICKS
        self._next_look = TICKS
        self._end = thread_time() + SECONDS
        self._output = OUTPUT

    def spend(self, ticks: int) -> None:
        """Raises ``BudgetExceeded``."""
        self._ticks -= ticks
        if self._ticks >= self._next_look:
            return
        self._next_look = self._ticks - TICKS_BETWEEN_LOOKS
        if self._ticks < 0 or thread_time() > self._end:
            raise BudgetExceeded("the line does more work than this shell allows")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """What the processor does meanwhile is not this line's work."""
        began = thread_time()
        try:
            yield
        finally:
            self._end += thread_time() - began

    def handle(self, text: str) -> str:
        """The text, after its cost was taken; raises ``BudgetExceeded``."""
        self.spend(1 + len(text) // CHARACTERS)
        return text

    def write(self, text: str) -> None:
        """Raises ``BudgetExceeded``."""
        self._output -= len(text)
        if self._output < 0:
            self._output = LAST_WORDS
            raise BudgetExceeded("the line writes more than this shell allows")


def joined(parts: Iterable[str]) -> str:
    """One value of them; raises ``BudgetExceeded`` before it is made when it would be too long."""
    pieces = list(parts)
    if sum(map(len, pieces)) > LONGEST_VALUE:
        raise BudgetExceeded(f"a word is longer than {LONGEST_VALUE} characters")
    return "".join(pieces)
