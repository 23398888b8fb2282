"""Every accepted difference still occurs."""

from __future__ import annotations

import pytest

from differential.accepted_differences import ACCEPTED
from differential.comparison import Tally
from differential.generators.sequences import AREAS
from differential.hand_written import hand_written_sequences


def test_every_explanation_was_needed(tally: Tally) -> None:
    everything = {sequence.name for sequence in hand_written_sequences().values()} | set(AREAS)
    if not everything <= tally.played:
        pytest.skip("not everything was played")
    assert [entry for entry in ACCEPTED if not entry.by_chance and not tally.explained[entry.pattern]] == []


def test_every_accepted_difference_has_a_reason() -> None:
    assert all(len(explanation.reason) > 20 for explanation in ACCEPTED)
