"""Combining expressions. Logic has three values: unknown operands give unknown results, unless another decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from csm_emulator.services.cfs.ansible.jinja.filters import MAX_LENGTH
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import (
    MAX_NUMBER_BITS,
    MAX_VALUES,
    count_values,
    has_too_many_values,
    is_too_large_number,
)
from csm_emulator.services.cfs.ansible.values import UNDEFINED, UNKNOWN, Unknown, Value, known


class Variables(Protocol):
    """The value of a name, or ``UNDEFINED``."""

    def __call__(self, name: str, /) -> Value: ...

    @property
    def work(self) -> Callable[[int], None]:
        """Counts units of work; raises ``LimitExceeded``."""

    def may_evaluate(self) -> bool:
        """Whether another expression may be evaluated; one task on one host has a bound on tokens."""

    def count(self, tokens: int, *, is_new: bool) -> None:
        """Counts the tokens of every evaluated expression; a new expression had to be parsed."""


Expression = Callable[[Variables], Value]


def constant(value: Value) -> Expression:
    return lambda _: value


_COMPARED_PER_UNIT = 100
"""Values in lists and mappings that are compared with one unit of work."""


def strict(combine: Callable[[Value, Value], Value], left: Expression, right: Expression) -> Expression:
    """An operation that gives ``UNKNOWN`` when an operand is unknown or the operation fails for these types."""

    def combined(variables: Variables) -> Value:
        first, second = left(variables), right(variables)
        if not known(first, second):
            return first if isinstance(first, Unknown) and not first.defined else UNKNOWN
        try:
            result = combine(first, second)
        except (TypeError, ValueError, ArithmeticError):
            return UNKNOWN
        return UNKNOWN if is_too_large_number(result) else result

    return combined


def comparison(combine: Callable[[Value, Value], Value], left: Expression, right: Expression) -> Expression:
    """As ``strict``, for comparisons; comparing two collections costs work for each value."""

    def compared(variables: Variables) -> Value:
        first, second = left(variables), right(variables)
        if isinstance(first, list | dict) and isinstance(second, list | dict):
            weight = count_values(first) + count_values(second)
            if weight > 2 * MAX_VALUES:
                return UNKNOWN
            variables.work(weight // _COMPARED_PER_UNIT)
        return strict(combine, constant(first), constant(second))(variables)

    return compared


def any_of(parts: list[Expression]) -> Expression:
    return _decide_by(parts, control=True)


def all_of(parts: list[Expression]) -> Expression:
    return _decide_by(parts, control=False)


def _decide_by(parts: list[Expression], *, control: bool) -> Expression:
    """The first part with this truth value decides; if there is none, the last part does."""

    def decide(variables: Variables) -> Value:
        value: Value = not control
        for part in parts:
            part_value = part(variables)
            if not isinstance(part_value, Unknown) and bool(part_value) is control:
                return part_value
            value = UNKNOWN if isinstance(part_value, Unknown) or isinstance(value, Unknown) else part_value
        return value

    return decide


def negate(value: Expression) -> Expression:
    def turned(variables: Variables) -> Value:
        operand = value(variables)
        return UNKNOWN if isinstance(operand, Unknown) else not operand

    return turned


def conditional(condition: Expression, value: Expression, alternative: Expression) -> Expression:
    def chosen(variables: Variables) -> Value:
        outcome = condition(variables)
        if isinstance(outcome, Unknown):
            return UNKNOWN
        return value(variables) if outcome else alternative(variables)

    return chosen


def contains(item: Value, container: Value) -> bool:
    return str(item) in container if isinstance(container, str) else item in container


def add(left: Value, right: Value) -> Value:
    """The sum; ``UNKNOWN`` for a list or text that grows beyond ``MAX_LENGTH``."""
    total = left + right
    return UNKNOWN if isinstance(total, list | str) and len(total) > MAX_LENGTH else total


def concatenate(left: Value, right: Value) -> Value:
    if has_too_many_values(left) or has_too_many_values(right):
        return UNKNOWN
    text = f"{left}{right}"
    return text if len(text) <= MAX_LENGTH else UNKNOWN


def only_numbers(combine: Callable[[Value, Value], Value]) -> Callable[[Value, Value], Value]:
    def combined(left: Value, right: Value) -> Value:
        if isinstance(left, int | float) and isinstance(right, int | float):
            result = combine(left, right)
            return result if isinstance(result, int | float) else UNKNOWN
        return UNKNOWN

    return combined


def power(base: Value, exponent: Value) -> Value:
    """The size is checked before computing: ``10 ** 10 ** 8`` has more digits than memory can hold."""
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > MAX_NUMBER_BITS:
        return UNKNOWN
    return base**exponent


def member(container: Value, key: Value) -> Value:
    if isinstance(container, Mapping):
        return container.get(key, UNDEFINED)
    if isinstance(container, list | str) and isinstance(key, int | str):
        try:
            return container[int(key)]
        except (ValueError, IndexError):
            return UNDEFINED
    return UNKNOWN


def take_slice(container: Value, ends: list[Value]) -> Value:
    """``container[from:to:step]``."""
    return container[slice(*ends)] if isinstance(container, list | str) and known(*ends) else UNKNOWN
