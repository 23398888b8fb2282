"""Plays a sequence to two sides and compares."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from differential.answers import Answer, Json, Mask, Seen, differences, see
from differential.explained import EXPLAINED, Explained
from differential.sequence import NO_BODY, Sequence, Step
from differential.sides import Side
from differential.unordered import unordered


@dataclass(slots=True)
class Tally:
    """What a run compared."""

    requests: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    """By pattern."""
    unexplained: dict[str, list[str]] = field(default_factory=dict)
    """By the name of the sequence; Hypothesis shows a failing one many times, in the end at its shortest."""
    played: set[str] = field(default_factory=set)
    """Names of sequences and areas."""


@dataclass(frozen=True, slots=True)
class Difference:
    step: Step
    place: str
    real: Json
    ours: Json

    def __str__(self) -> str:
        step = self.step
        return f"{step.service} {step.method} {step.path} {self.place}: real {self.real!r} ours {self.ours!r}"


class Unexplained(AssertionError):
    """The sides differ, and no explanation fits."""

    def __init__(self, sequence: Sequence, found: list[Difference]) -> None:
        self.sequence = sequence
        self.found = found
        shown = "\n".join(f"  {difference}" for difference in found)
        super().__init__(f"the real service and the emulator differ:\n{shown}\nat the end of\n{sequence!r}")


def play(sequence: Sequence, real: Side, ours: Side, tally: Tally, explained: Iterable[Explained] = EXPLAINED) -> None:
    """Raises ``Unexplained`` at the first step whose answers differ."""
    for done, found in compared(sequence, real, ours):
        tally.requests[sequence.steps[done - 1].service] += 1
        unexplained = [difference for difference in found if not _explain(difference, tally, explained)]
        if unexplained:
            tally.unexplained[sequence.name] = [str(difference) for difference in unexplained]
            raise Unexplained(Sequence(sequence.name, *sequence.steps[:done], given=sequence.given), unexplained)


def compared(sequence: Sequence, real: Side, ours: Side) -> Iterator[tuple[int, list[Difference]]]:
    """How many steps were done, and how the answers to the last one differ."""
    answers = zip(sequence.steps, perform(sequence, real), perform(sequence, ours), strict=True)
    for done, (step, one, other) in enumerate(answers, start=1):
        if one is not None and other is not None:
            yield done, [Difference(step, *difference) for difference in differences(one, other)]


def perform(sequence: Sequence, side: Side) -> list[Seen | None]:
    """What one side answers to each step; nothing to a pause."""
    mask = Mask(repr(sequence) + repr(sequence.given))
    kept: dict[str, str] = {}
    if not side.forget(sequence):
        for step in sequence.given:
            answer = _send(step, side, kept)
            # An inventory is compared where it is the subject; here it only has to be there.
            if answer is not None and not 200 <= answer.status < 300:
                raise RuntimeError(f"{step!r} is given, but was answered {answer.status}: {answer.body!r}")
    side.settle()
    answers = ((step, _send(step, side, kept)) for step in sequence.steps)
    return [None if answer is None else see(answer, mask, unordered(step)) for step, answer in answers]


def _send(step: Step, side: Side, kept: dict[str, str]) -> Answer | None:
    if step.method == "WAIT":
        side.pause(step.seconds)
        return None
    try:
        answer = side.send(filled(step, kept))
    except Exception as error:
        error.add_note(f"while {side!r} answered {step!r}")
        raise
    for name, place in step.keep.items():
        value = pick(answer, place)
        if value is not None:
            kept[name] = value
    return answer


def _explain(difference: Difference, tally: Tally, explained: Iterable[Explained]) -> bool:
    shown = str(difference)
    for explanation in explained:
        if explanation.fits(shown):
            tally.explained[explanation.pattern] += 1
            return True
    return False


def filled(step: Step, kept: Mapping[str, str]) -> Step:
    """With the values in place of their names; a name that nothing was kept for stays."""
    if not kept:
        return step
    return replace(
        step,
        path=_fill(step.path, kept),
        body=step.body if step.body is NO_BODY else _fill_json(step.body, kept),
        headers={name: _fill(value, kept) for name, value in step.headers.items()},
    )


def _fill(text: str, kept: Mapping[str, str]) -> str:
    return re.sub(r"<(\w+)>", lambda found: kept.get(found[1], found[0]), text)


def _fill_json(value: Json, kept: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        return _fill(value, kept)
    if isinstance(value, list):
        return [_fill_json(item, kept) for item in value]
    if isinstance(value, dict):
        return {name: _fill_json(inner, kept) for name, inner in value.items()}
    return value


def pick(answer: Answer, place: str) -> str | None:
    """``body/Success/0/Key``, ``body/Success/ID=x0/Key``, ``header/location``; None when there is no such thing."""
    kind, *names = place.split("/")
    if kind == "header":
        return answer.headers.get(names[0].lower())
    try:
        value = answer.json()
        for name in names:
            value = _item(value, name) if isinstance(value, list) else value[name]
    except (ValueError, LookupError, TypeError):
        return None
    return value if isinstance(value, str) else json.dumps(value)


def _item(items: list[Json], which: str) -> Json:
    """By number, or the first that has this value in this field."""
    name, given, wanted = which.partition("=")
    if not given:
        return items[int(which)]
    return next((item for item in items if isinstance(item, dict) and item.get(name) == wanted), {})
