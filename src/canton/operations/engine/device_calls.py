"""Calls to devices, with a time limit and checks of their answers.

A step kind may time out, raise or return a wrong type. Each of these is a failure of the steps that it was called for,
never of the worker: a defect in one kind must not stop the operations of others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from canton.domain.errors import CantonError, LeaseLost, PermanentFailure, StepFailure, TemporaryFailure
from canton.domain.json_types import storable
from canton.operations.engine.judge import Observation
from canton.operations.engine.step_kind import Call, StepKind


async def observe(kind: StepKind, calls: Sequence[Call]) -> Mapping[int, Observation]:
    answers = await _call(kind, calls, kind.observe)
    if isinstance(answers, StepFailure):
        return {call.step.n: answers for call in calls}
    return {call.step.n: _observation(kind, answers.get(call.step.n)) for call in calls}


def _observation(kind: StepKind, answer: object) -> Observation:
    if isinstance(answer, StepFailure):
        return answer
    try:
        evidence = storable(answer)
    except (TypeError, RecursionError):
        evidence = None
    return evidence if isinstance(evidence, Mapping) else _defect(kind, "observe() did not return a JSON object")


async def act(kind: StepKind, calls: Sequence[Call]) -> tuple[Mapping[int, StepFailure], bool]:
    """The refusals, by step, and whether they are certain: without an answer the act may still have happened."""
    answers = await _call(kind, calls, kind.act)
    if isinstance(answers, StepFailure):
        return {call.step.n: answers for call in calls}, False
    refusals = {n: answer for n, answer in answers.items() if isinstance(answer, StepFailure)}
    if len(refusals) < len(answers):
        return {call.step.n: _defect(kind, "act() returned a value that is not a StepFailure") for call in calls}, False
    return refusals, True


async def _call(
    kind: StepKind, calls: Sequence[Call], ask: Callable[[Sequence[Call]], Awaitable[object]]
) -> Mapping[int, object] | StepFailure:
    """Call a device with its time limit; every error is a failure of these steps only."""
    try:
        async with asyncio.timeout(kind.limits.timeout):
            answers = await ask(calls)
    except TimeoutError:
        return TemporaryFailure(f"{kind.name}: {calls[0].step.device} gave no answer within {kind.limits.timeout:g} s")
    except StepFailure as failure:
        return failure
    except LeaseLost:
        raise
    except CantonError as error:
        return TemporaryFailure(f"{kind.name}: {error.message}", cause=error.cause)
    except Exception as error:
        return _defect(kind, "it raised an error of its own", cause=f"{type(error).__name__}: {error}")
    return answers if isinstance(answers, Mapping) else _defect(kind, f"it answered with {type(answers).__name__}")


def _defect(kind: StepKind, what: str, cause: str = "") -> StepFailure:
    return PermanentFailure(f"step kind {kind.name} has a defect: {what}", cause=cause)
