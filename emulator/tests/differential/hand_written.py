"""The hand-written sequences of all areas."""

from __future__ import annotations

import importlib
from pathlib import Path

from differential.sequence import Sequence

FOLDER = Path(__file__).parent / "sequences"


def hand_written_sequences() -> dict[str, Sequence]:
    """By ``<file>: <name>``, in the order of files and lines."""
    sequences: dict[str, Sequence] = {}
    for path in sorted(FOLDER.glob("*.py")):
        for sequence in importlib.import_module(f"differential.sequences.{path.stem}").SEQUENCES:
            key = f"{path.stem}: {sequence.name}"
            if key in sequences:
                raise ValueError(f"two sequences are called {key!r}")
            sequences[key] = sequence
    return sequences
