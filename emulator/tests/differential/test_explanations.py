"""An explanation is there because a difference is."""

from __future__ import annotations

import pytest

from differential.collected import hand_written
from differential.explained import EXPLAINED
from differential.generators.sequences import AREAS
from differential.play import Tally


def test_every_explanation_was_needed(tally: Tally) -> None:
    everything = {sequence.name for sequence in hand_written().values()} | set(AREAS)
    if not everything <= tally.played:
        pytest.skip("not everything was played")
    assert [explanation for explanation in EXPLAINED if not tally.explained[explanation.pattern]] == []


def test_every_explanation_says_why() -> None:
    assert all(len(explanation.reason) > 20 for explanation in EXPLAINED)
