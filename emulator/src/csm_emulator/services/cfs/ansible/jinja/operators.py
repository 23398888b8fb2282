"""How expressions are put together. Logic has three values, and what is not known stays so unless a side decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from csm_emulator.services.cfs.ansible.jinja.filters import LONGEST
from csm_emulator.services.cfs.ansible.jinja.unknown import UNDEFINED, UNKNOWN, Unknown, known


class Variables(Protocol):
    """A name → its value, or ``UNDEFINED``."""

    def __call__(self, name: str, /) -> Any: ...

    @property
    def work(self) -> Callable[[int], None]:
        """Told of what takes time; raises ``TooMuch``."""


Expression = Callable[[Variables], Any]


def constant(value: Any) -> Expression:
    return lambda _: value


LONGEST_NUMBER = 4096
"""Bits: a fact that is multiplied with itself again and again comes to an end."""


def strict(combine: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    """Unknown when a side is, or when the sides do not fit."""

    def combined(variables: Variables) -> Any:
        one, other = left(variables), right(variables)
        if not known(one, other):
            return one if isinstance(one, Unknown) and not one.defined else UNKNOWN
        try:
            return combine(one, other)
        except (TypeError, ValueError, ArithmeticError):
            return UNKNOWN

    return combined


def any_of(parts: list[Expression]) -> Expression:
    return _decided_by(parts, control=True)


def all_of(parts: list[Expression]) -> Expression:
    return _decided_by(parts, control=False)


def _decided_by(parts: list[Expression], *, control: bool) -> Expression:
    """The first part that has this truth decides; without one, the last does."""

    def decide(variables: Variables) -> Any:
        value: Any = not control
        for part in parts:
            found = part(variables)
            if not isinstance(found, Unknown) and bool(found) is control:
                return found
            value = UNKNOWN if isinstance(found, Unknown) or isinstance(value, Unknown) else found
        return value

    return decide


def negate(value: Expression) -> Expression:
    def turned(variables: Variables) -> Any:
        found = value(variables)
        return UNKNOWN if isinstance(found, Unknown) else not found

    return turned


def choice(condition: Expression, value: Expression, other: Expression) -> Expression:
    def chosen(variables: Variables) -> Any:
        found = condition(variables)
        if isinstance(found, Unknown):
            return UNKNOWN
        return value(variables) if found else other(variables)

    return chosen


def contains(item: Any, container: Any) -> bool:
    return str(item) in container if isinstance(container, str) else item in container


def added(left: Any, right: Any) -> Any:
    """A list that is added to itself again and again comes to an end, and so does a text."""
    made = left + right
    return UNKNOWN if isinstance(made, list | str) and len(made) > LONGEST else made


def glue(left: Any, right: Any) -> Any:
    glued = f"{left}{right}"
    return glued if len(glued) <= LONGEST else UNKNOWN


def only_numbers(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def combined(left: Any, right: Any) -> Any:
        if isinstance(left, int | float) and isinstance(right, int | float):
            made = combine(left, right)
            return UNKNOWN if isinstance(made, int) and made.bit_length() > LONGEST_NUMBER else made
        return UNKNOWN

    return combined


def member(container: Any, key: Any) -> Any:
    if isinstance(container, Mapping):
        return container.get(key, UNDEFINED)
    if isinstance(container, list | str) and isinstance(key, int | str):
        try:
            return container[int(key)]
        except (ValueError, IndexError):
            return UNDEFINED
    return UNKNOWN


def cut_out(container: Any, ends: tuple[Any, Any]) -> Any:
    """``container[from:to]``."""
    return container[ends[0] : ends[1]] if isinstance(container, list | str) else UNKNOWN
