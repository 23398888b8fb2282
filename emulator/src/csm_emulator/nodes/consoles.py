"""The output of each node's serial console, in order, with moments.

A boot is stored as the moments of its stages, and its text is generated when it is read: 10,000 booting nodes need
10,000 short lists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from csm_emulator.machine import boot
from csm_emulator.machine.context import Event
from csm_emulator.machine.machine import Machine
from csm_emulator.nodes.boot_output import NO_IPXE, Timed, stage_output
from csm_emulator.nodes.description import describe
from csm_emulator.records import Json
from csm_emulator.state.clock import Clock
from csm_emulator.state.tables import RecordTable, RecordTables

MOST_PIECES = 48
"""Pieces of each console; older ones are dropped, as in a rotated log."""
PIECE = 2048
"""Characters of input and output in one piece."""
MOMENT = 16
"""Characters that the moment of each text counts for, which bounds a piece of single keys."""
TEXT = "text"
Position = tuple[int, int]
"""The number of a piece, and the number of its texts that were read."""
START: Position = (0, 0)

Piece = Sequence[Json]
"""Moment, kind (a boot stage, ``no-ipxe`` or ``text``), and details: for the stage ``kernel`` its URL and parameters,
for ``text`` the texts with the seconds after which they appear.
"""


class Consoles:
    def __init__(self, machine: Machine, clock: Clock, tables: RecordTables) -> None:
        self._machine = machine
        self._clock = clock
        self._table: RecordTable[Piece] = tables.open("nodes.consoles")
        """One record per piece, so that a key press does not rewrite older output."""
        self._numbers: dict[str, range] = {}
        """The numbers of each node's pieces."""
        for place in self._table:
            node, _, text = place.rpartition("/")
            number, numbers = int(text), self._numbers.get(node, range(int(text), 0))
            self._numbers[node] = range(min(number, numbers.start), max(number + 1, numbers.stop))
        machine.watch(self._on_event)

    def _on_event(self, event: Event) -> None:
        if event.kind != "stage" or event.value == boot.OFF:
            return
        detail: Json = ""
        if event.value == boot.KERNEL:
            record = self._machine.boot.record(event.xname)
            detail = [record["kernel"], record["parameters"]]
        timed_out = event.value == boot.PXE and not self._machine.boot.tftp_answers()
        self._add(event.xname, NO_IPXE if timed_out else event.value, detail)

    def write(self, node: str, text: str) -> None:
        """Writes text, with its own line ends; of a very long text only the end is stored."""
        text_end = text[-PIECE * MOST_PIECES :]
        for start in range(0, len(text_end), PIECE):
            self._write(node, text_end[start : start + PIECE])

    def _write(self, node: str, text: str) -> None:
        numbers = self._numbers.get(node, range(0))
        moment, kind, texts = self._piece(node, numbers[-1]) if numbers else (0.0, "", ())
        if kind == TEXT and sum(len(one) + MOMENT for _, one in texts) + len(text) <= 2 * PIECE:
            self._table[f"{node}/{numbers[-1]}"] = [moment, kind, [*texts, [self._clock.now() - moment, text]]]
        else:
            self._add(node, TEXT, [[0.0, text]])

    def _add(self, node: str, kind: str, detail: Json) -> None:
        previous = self._numbers.get(node, range(0))
        numbers = range(max(previous.start, previous.stop + 1 - MOST_PIECES), previous.stop + 1)
        self._table[f"{node}/{previous.stop}"] = [self._clock.now(), kind, detail]
        self._numbers[node] = numbers
        for old in range(previous.start, numbers.start):
            del self._table[f"{node}/{old}"]

    def _piece(self, node: str, number: int) -> Piece:
        piece: Piece = self._table[f"{node}/{number}"]
        return piece

    def end(self, node: str) -> Position:
        """The current end, for clients that read new output only."""
        return self.read(node, START)[1]

    def read(self, node: str, position: Position) -> tuple[list[str], Position]:
        """The texts after a position, and the next position."""
        result: list[str] = []
        now = self._clock.now()
        numbers = self._numbers.get(node, range(0))
        number, read_count = position if position[0] >= numbers.start else (numbers.start, 0)
        while number in numbers:
            over = self._piece(node, number + 1)[0] if number + 1 in numbers else None
            texts = list(self._texts(node, self._piece(node, number), over))
            ready = [text for when, text in texts if when <= now]
            result += ready[read_count:]
            if over is None or len(ready) < len(texts):
                return result, (number, max(read_count, len(ready)))
            number, read_count = number + 1, 0
        return result, (number, read_count)

    def _texts(self, node: str, piece: Piece, over: float | None) -> Iterator[tuple[float, str]]:
        """The texts of a piece until the next one begins: an interrupted stage writes nothing more."""
        moment, kind, detail = piece
        for seconds, text in self._output(node, kind, detail):
            if over is None or moment + seconds <= over:
                yield moment + seconds, text

    def _output(self, node: str, kind: str, detail: Json) -> Iterator[Timed]:
        if kind == TEXT:
            return ((seconds, text) for seconds, text in detail)
        described = describe(self._machine, node, *(detail or ()))
        return ((seconds, f"{line}\r\n") for seconds, line in stage_output(kind, described))

    def tail(self, node: str, lines: int) -> tuple[str, Position]:
        """The last lines and the position after them; an unfinished line counts as one."""
        texts, position = self.read(node, START)
        last_lines = "".join(texts).splitlines(keepends=True)[-lines:] if lines > 0 else []
        return "".join(last_lines), position
