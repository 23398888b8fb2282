"""The emulator answers random sequences like the real services; a failing one is shrunk and shown as source."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from differential.backends import Emulator, Oracles
from differential.comparison import Tally, play
from differential.generators.sequences import AREAS, sequences
from differential.sequence import Sequence

TIMES = float(os.environ.get("CANTON_DIFFERENTIAL_TIMES") or (1 if os.environ.get("CANTON_TEST_EXPLORE") else 1 / 3))
"""A run of CI plays a third of the examples. CANTON_TEST_EXPLORE=1 plays all of them and draws new ones each time;
CANTON_DIFFERENTIAL_TIMES=10 plays ten times as many."""
DERANDOMIZED = TIMES <= 1 and not os.environ.get("CANTON_TEST_EXPLORE")

# These numbers take a minute or a little more for each service on two idle cores.
EXAMPLES = {
    "smd components": 300,
    "smd groups": 200,
    "smd locks": 300,
    "smd interfaces": 150,
    "smd endpoints": 200,
    "smd maps": 150,
    "smd hardware": 200,
    "smd everything": 200,
    "sls": 1200,
    "bss": 900,
}


@pytest.mark.parametrize("area", AREAS)
def test_random(area: str, real: Oracles, ours: Emulator, tally: Tally) -> None:
    @settings(
        max_examples=int(EXAMPLES[area] * TIMES),
        derandomize=DERANDOMIZED,
        phases=[Phase.generate, Phase.shrink],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(sequences(area))
    def alike(sequence: Sequence) -> None:
        play(sequence, real, ours, tally)

    tally.played.add(area)
    alike()
