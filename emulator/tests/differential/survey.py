"""Plays many random sequences and lists every kind of difference once, with the shortest sequence that shows it.

PYTHONPATH=tests .venv/bin/python -m differential.survey "smd groups" 300 [SEED]
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, seed, settings

from differential.accepted_differences import ACCEPTED
from differential.backends import Emulator, Oracles, emulator, oracles
from differential.comparison import Difference, Tally, UnexplainedDifference, compared, play
from differential.generators.sequences import AREAS, sequences
from differential.hand_written import hand_written_sequences
from differential.sequence import Sequence


class Survey:
    """Counts of the differences, by kind."""

    def __init__(self, real: Oracles, ours: Emulator) -> None:
        self.real, self.ours = real, ours
        self.tally = Tally()
        self.counts: Counter[str] = Counter()
        self.shortest: dict[str, tuple[Sequence, list[Difference]]] = {}

    def play(self, sequence: Sequence) -> None:
        try:
            play(sequence, self.real, self.ours, self.tally)
        except UnexplainedDifference as error:
            for kind in {signature(difference) for difference in error.differences}:
                self.counts[kind] += 1
                shortest = self.shortest.get(kind)
                if shortest is None or len(shortest[0].steps) > len(error.sequence.steps):
                    self.shortest[kind] = (error.sequence, error.differences)

    def show(self) -> str:
        parts = [f"{dict(self.tally.requests)} requests compared, {len(self.counts)} kinds of difference"]
        for kind, count in self.counts.most_common():
            sequence, differences = self.shortest[kind]
            lines = "\n".join(f"  {difference}" for difference in differences[:6])
            parts.append(f"### {count}x {kind}\n{lines}\n{sequence!r}")
        return "\n\n".join(parts)


def signature(difference: Difference) -> str:
    """The text of the difference without names and numbers, so that cases of the same fault are equal."""
    step = difference.step
    path = re.sub(r"\?.*", "?", step.path)
    path = re.sub(r"/(x\d\w*|X0C\w*|foo|blue|red|green|Blue|p\d[.\d]*|\w*bf01\w*|10\.\S+|-?\d+)(?=[/?]|$)", "/…", path)
    place = re.sub(r"/\d+", "/*", difference.place)
    real = re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "…", f"{difference.real}")[:90]
    ours = re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "…", f"{difference.ours}")[:90]
    return f"{step.service} {step.method} {path} {place}: {real} | {ours}"


def by_random(area: str, examples: int, start: int) -> str:
    with TemporaryDirectory() as folder:
        survey = Survey(oracles(), emulator(folder))

        @seed(start)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(sequences(area))
        def run(sequence: Sequence) -> None:
            survey.play(sequence)

        run()
        survey.real.close()
        survey.ours.close()
        return survey.show()


def by_hand(files: str) -> str:
    """Every difference of the sequences in these files, including those that follow from an earlier one."""
    lines: list[str] = []
    with TemporaryDirectory() as folder:
        real, ours = oracles(), emulator(folder)
        for name, sequence in hand_written_sequences().items():
            if not name.startswith(files):
                continue
            for _, differences in compared(sequence, real, ours):
                texts = [str(difference) for difference in differences]
                lines += [f"{name}: {text}" for text in texts if not any(entry.fits(text) for entry in ACCEPTED)]
        real.close()
        ours.close()
    return "\n".join([*lines, f"{len(lines)} differences"])


def main(area: str, examples: str = "100", start: str = "1") -> str:
    return by_random(area, int(examples), int(start)) if area in AREAS else by_hand(area)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: python -m differential.survey AREA EXAMPLES [SEED]; areas: {', '.join(AREAS)}")
    sys.stdout.write(main(*sys.argv[1:]) + "\n")
