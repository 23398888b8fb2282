"""The emulator answers every sequence of ``sequences/`` like the real services."""

from __future__ import annotations

import pytest

from differential.backends import Emulator, Oracles
from differential.comparison import Tally, play
from differential.hand_written import hand_written_sequences
from differential.sequence import Sequence

ALL = hand_written_sequences()


@pytest.mark.parametrize("sequence", [pytest.param(sequence, id=name) for name, sequence in ALL.items()])
def test_sequence(sequence: Sequence, real: Oracles, ours: Emulator, tally: Tally) -> None:
    tally.played.add(sequence.name)
    play(sequence, real, ours, tally)
