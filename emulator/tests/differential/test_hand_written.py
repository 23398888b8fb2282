"""Every sequence of ``sequences/`` is answered alike."""

from __future__ import annotations

import pytest

from differential.collected import hand_written
from differential.play import Tally, play
from differential.sequence import Sequence
from differential.sides import Emulator, Oracles

ALL = hand_written()


@pytest.mark.parametrize("sequence", [pytest.param(sequence, id=name) for name, sequence in ALL.items()])
def test_sequence(sequence: Sequence, real: Oracles, ours: Emulator, tally: Tally) -> None:
    tally.played.add(sequence.name)
    play(sequence, real, ours, tally)
