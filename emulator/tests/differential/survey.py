"""Plays many random sequences and lists every kind of difference once, with the shortest sequence that shows it.

PYTHONPATH=tests .venv/bin/python -m differential.survey "smd groups" 300 [SEED]
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, seed, settings

from differential.collected import hand_written
from differential.explained import EXPLAINED
from differential.generators.sequences import AREAS, sequences
from differential.play import Difference, Tally, Unexplained, compared, play
from differential.sequence import Sequence
from differential.sides import Emulator, Oracles, emulator, oracles


class Survey:
    """What was found, by kind."""

    def __init__(self, real: Oracles, ours: Emulator) -> None:
        self.real, self.ours = real, ours
        self.tally = Tally()
        self.seen: Counter[str] = Counter()
        self.shortest: dict[str, tuple[Sequence, list[Difference]]] = {}

    def play(self, sequence: Sequence) -> None:
        try:
            play(sequence, self.real, self.ours, self.tally)
        except Unexplained as found:
            for kind in {signature(difference) for difference in found.found}:
                self.seen[kind] += 1
                known = self.shortest.get(kind)
                if known is None or len(known[0].steps) > len(found.sequence.steps):
                    self.shortest[kind] = (found.sequence, found.found)

    def show(self) -> str:
        parts = [f"{dict(self.tally.requests)} requests compared, {len(self.seen)} kinds of difference"]
        for kind, count in self.seen.most_common():
            sequence, found = self.shortest[kind]
            shown = "\n".join(f"  {difference}" for difference in found[:6])
            parts.append(f"### {count}x {kind}\n{shown}\n{sequence!r}")
        return "\n\n".join(parts)


def signature(difference: Difference) -> str:
    """Without what differs from one case of the same fault to the next."""
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
    """Every difference of the sequences in these files, also those that only follow from an earlier one."""
    lines: list[str] = []
    with TemporaryDirectory() as folder:
        real, ours = oracles(), emulator(folder)
        for name, sequence in hand_written().items():
            if not name.startswith(files):
                continue
            for _, found in compared(sequence, real, ours):
                shown = [str(difference) for difference in found]
                lines += [f"{name}: {line}" for line in shown if not any(known.fits(line) for known in EXPLAINED)]
        real.close()
        ours.close()
    return "\n".join([*lines, f"{len(lines)} differences"])


def main(area: str, examples: str = "100", start: str = "1") -> str:
    return by_random(area, int(examples), int(start)) if area in AREAS else by_hand(area)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"say: python -m differential.survey AREA EXAMPLES [SEED]; areas: {', '.join(AREAS)}")
    sys.stdout.write(main(*sys.argv[1:]) + "\n")
