"""Plays a sequence to the real services and to the emulator, and compares the answers."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from differential.accepted_differences import ACCEPTED, AcceptedDifference
from differential.answers import Answer, Json, Mask, MaskedAnswer, differences, masked
from differential.backends import Backend
from differential.sequence import NO_BODY, Sequence, Step
from differential.unordered_arrays import unordered_arrays


@dataclass(slots=True)
class Tally:
    """Counts of one run."""

    requests: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    """Counts by pattern."""
    unexplained: dict[str, list[str]] = field(default_factory=dict)
    """By the name of the sequence; Hypothesis repeats a failing one, and the last is the shortest."""
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


class UnexplainedDifference(AssertionError):
    """The answers differ, and the difference is not accepted."""

    def __init__(self, sequence: Sequence, differences: list[Difference]) -> None:
        self.sequence = sequence
        self.differences = differences
        lines = "\n".join(f"  {difference}" for difference in differences)
        super().__init__(f"the real service and the emulator differ:\n{lines}\nat the end of\n{sequence!r}")


def play(
    sequence: Sequence, real: Backend, ours: Backend, tally: Tally, accepted: Iterable[AcceptedDifference] = ACCEPTED
) -> None:
    """Raises ``UnexplainedDifference`` at the first step whose answers differ."""
    for count, step_differences in compared(sequence, real, ours):
        tally.requests[sequence.steps[count - 1].service] += 1
        unexplained = [difference for difference in step_differences if not _accept(difference, tally, accepted)]
        if unexplained:
            tally.unexplained[sequence.name] = [str(difference) for difference in unexplained]
            raise UnexplainedDifference(
                Sequence(sequence.name, *sequence.steps[:count], prerequisites=sequence.prerequisites), unexplained
            )


def compared(sequence: Sequence, real: Backend, ours: Backend) -> Iterator[tuple[int, list[Difference]]]:
    """The number of steps played, and the differences between the answers to the last one."""
    answers = zip(sequence.steps, perform(sequence, real), perform(sequence, ours), strict=True)
    for count, (step, real_answer, our_answer) in enumerate(answers, start=1):
        if real_answer is not None and our_answer is not None:
            yield count, [Difference(step, *difference) for difference in differences(real_answer, our_answer)]


def perform(sequence: Sequence, side: Backend) -> list[MaskedAnswer | None]:
    """The masked answer of one backend to each step; None for a pause."""
    mask = Mask(repr(sequence) + repr(sequence.prerequisites))
    values: dict[str, str] = {}
    if not side.reset(sequence):
        for step in sequence.prerequisites:
            answer = _send(step, side, values)
            # Other sequences compare the replies to these steps; here the records only have to exist.
            if answer is not None and not 200 <= answer.status < 300:
                raise RuntimeError(f"{step!r} is a prerequisite, but was answered {answer.status}: {answer.body!r}")
    side.mark_prepared()
    answers = ((step, _send(step, side, values)) for step in sequence.steps)
    return [None if answer is None else masked(answer, mask, unordered_arrays(step)) for step, answer in answers]


def _send(step: Step, side: Backend, values: dict[str, str]) -> Answer | None:
    if step.method == "WAIT":
        side.pause(step.seconds)
        return None
    try:
        answer = side.send(with_values(step, values))
    except Exception as error:
        error.add_note(f"while {side!r} answered {step!r}")
        raise
    for name, place in step.keep.items():
        value = pick(answer, place)
        if value is not None:
            values[name] = value
    return answer


def _accept(difference: Difference, tally: Tally, accepted: Iterable[AcceptedDifference]) -> bool:
    text = str(difference)
    for explanation in accepted:
        if explanation.fits(text):
            tally.explained[explanation.pattern] += 1
            return True
    return False


def with_values(step: Step, values: Mapping[str, str]) -> Step:
    """The step with ``<name>`` replaced by its value; a name without a value stays."""
    if not values:
        return step
    return replace(
        step,
        path=_fill(step.path, values),
        body=step.body if step.body is NO_BODY else _fill_json(step.body, values),
        headers={name: _fill(value, values) for name, value in step.headers.items()},
    )


def _fill(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"<(\w+)>", lambda match: values.get(match[1], match[0]), text)


def _fill_json(value: Json, values: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, list):
        return [_fill_json(item, values) for item in value]
    if isinstance(value, dict):
        return {name: _fill_json(inner, values) for name, inner in value.items()}
    return value


def pick(answer: Answer, place: str) -> str | None:
    """``body/Success/0/Key``, ``body/Success/ID=x0/Key``, ``header/location``; None if there is no such place."""
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
    """The item with this index, or the first with this value in this field: ``0`` or ``ID=x0``."""
    name, equals, expected = which.partition("=")
    if not equals:
        return items[int(which)]
    return next((item for item in items if isinstance(item, dict) and item.get(name) == expected), {})
