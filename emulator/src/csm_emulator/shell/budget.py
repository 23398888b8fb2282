"""The limits of one command line: work, processor time, output and memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import thread_time

TICKS = 2_000_000
"""The work that one line may do; a tick is about 100 ns on a slow machine."""
SECONDS = 0.5
"""The processor time that one line may use, while other clients wait: some work takes longer than its ticks."""
TICKS_BETWEEN_CLOCK_READS = 2000
"""The processor time is not read at every step, since reading it costs about ten ticks."""
TICKS_PER_COMMAND = 400
"""The ticks of starting one command."""
CHARACTERS_PER_TICK = 20
"""The text that a simple command processes in one tick."""
OUTPUT = 1 << 20
"""The characters that one line may write to its caller and into pipes together."""
FINAL_MESSAGE_ROOM = 200
"""Characters that may still be written when the output is exhausted: the message that the line was killed."""
LONGEST_VALUE = 64 << 10
MOST_VARIABLES, LONGEST_VARIABLES = 256, 1 << 20
"""The number of variables of one shell, and their characters together; a shell may stay open for a long time."""
LONGEST_ARGUMENTS = 1 << 20
"""The characters of all words of one command together."""
LONGEST_INPUT = 512 << 10
"""The characters of all files that one command holds in memory."""
MOST_WORDS = 10_000
MAX_DEPTH = 32
"""The depth of nested scripts: subshells, substitutions and loops."""
KILLED = 137


class BudgetExceeded(Exception):
    """The line exceeded a limit and ends; the message names the limit."""


class Budget:
    """The remaining work, processor time and output of one line."""

    def __init__(self) -> None:
        self._ticks = TICKS
        self._next_clock_read = TICKS
        self._end = thread_time() + SECONDS
        self._output = OUTPUT

    def spend(self, ticks: int) -> None:
        """Count this work; raises ``BudgetExceeded`` when the work or the processor time is exhausted."""
        self._ticks -= ticks
        if self._ticks >= self._next_clock_read:
            return
        self._next_clock_read = self._ticks - TICKS_BETWEEN_CLOCK_READS
        if self._ticks < 0 or thread_time() > self._end:
            raise BudgetExceeded("the line does more work than this shell allows")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Do not count the processor time of this block: it serves other clients."""
        start = thread_time()
        try:
            yield
        finally:
            self._end += thread_time() - start

    def handle(self, text: str) -> str:
        """Count the work of processing this text and return it; raises ``BudgetExceeded``."""
        self.spend(1 + len(text) // CHARACTERS_PER_TICK)
        return text

    def write(self, text: str) -> None:
        """Count this output; raises ``BudgetExceeded`` when the output is exhausted."""
        self._output -= len(text)
        if self._output < 0:
            self._output = FINAL_MESSAGE_ROOM
            raise BudgetExceeded("the line writes more than this shell allows")


def join_parts(parts: Iterable[str]) -> str:
    """The concatenated parts; raises ``BudgetExceeded`` before concatenating if the word would be too long."""
    pieces = list(parts)
    if sum(map(len, pieces)) > LONGEST_VALUE:
        raise BudgetExceeded(f"a word is longer than {LONGEST_VALUE} characters")
    return "".join(pieces)
