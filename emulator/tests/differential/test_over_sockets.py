"""A sample over real connections: what the listener adds is as Go's server adds it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from differential.collected import hand_written
from differential.generators.sequences import AREAS, sequences
from differential.listening import Listening
from differential.play import Tally, play
from differential.sequence import Sequence
from differential.sides import Oracles, emulator

WIRE = {name: sequence for name, sequence in hand_written().items() if name.startswith("wire")}


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    side = Listening(emulator(str(tmp_path_factory.mktemp("machines"))))
    yield side
    side.close()


@pytest.mark.parametrize("name", WIRE)
def test_sequence(name: str, real: Oracles, listening: Listening, tally: Tally) -> None:
    play(WIRE[name], real, listening, tally)


@pytest.mark.parametrize("area", AREAS)
def test_random(area: str, real: Oracles, listening: Listening, tally: Tally) -> None:
    @settings(
        max_examples=10,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(sequences(area))
    def alike(sequence: Sequence) -> None:
        play(sequence, real, listening, tally)

    alike()
