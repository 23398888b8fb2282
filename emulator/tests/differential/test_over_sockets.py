"""A sample of the sequences over real connections: the listener adds the same headers as Go's server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from differential.backends import Oracles, emulator
from differential.comparison import Tally, play
from differential.generators.sequences import AREAS, sequences
from differential.hand_written import hand_written_sequences
from differential.sequence import Sequence
from differential.socket_emulator import SocketEmulator

WIRE = {name: sequence for name, sequence in hand_written_sequences().items() if name.startswith("wire")}


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SocketEmulator]:
    side = SocketEmulator(emulator(str(tmp_path_factory.mktemp("machines"))))
    yield side
    side.close()


@pytest.mark.parametrize("name", WIRE)
def test_sequence(name: str, real: Oracles, listening: SocketEmulator, tally: Tally) -> None:
    play(WIRE[name], real, listening, tally)


@pytest.mark.parametrize("area", AREAS)
def test_random(area: str, real: Oracles, listening: SocketEmulator, tally: Tally) -> None:
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
