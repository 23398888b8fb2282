"""The real cabling of the high-speed network, with the faults that swap cables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from csm_emulator.machine.faults.faults import Faults
from csm_emulator.machine.parts import Cable


class Cabling:
    def __init__(self, cables: Sequence[Cable], faults: Faults) -> None:
        self._cables = cables
        self._faults = faults

    def end(self, port: str) -> str | None:
        """The other end of the cable at this port or NIC; None without a cable."""
        swaps = list(self._swaps())
        planned = self._ends.get(_apply_swaps(port, reversed(swaps)))
        return None if planned is None else _apply_swaps(planned, swaps)

    @cached_property
    def _ends(self) -> dict[str, str]:
        ends = {cable.port: cable.end for cable in self._cables}
        return ends | {end: port for port, end in ends.items()}

    def _swaps(self) -> Iterator[tuple[str, str]]:
        """Pairs of ports whose cables are swapped, in the order of the faults."""
        for fault in self._faults:
            if fault.kind == "wrong-cabling" and "with" in fault.facts:
                yield fault.targets, str(fault.facts["with"])


def _apply_swaps(port: str, swaps: Iterator[tuple[str, str]] | Sequence[tuple[str, str]]) -> str:
    for first, second in swaps:
        port = {first: second, second: first}.get(port, port)
    return port
