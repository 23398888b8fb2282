"""How expressions are put together. Logic has three values, and what is not known stays so unless a side decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from csm_emulator.services.cfs.ansible.jinja.filters import LONGEST
from csm_emulator.services.cfs.ansible.jinja.unknown import UNDEFINED, UNKNOWN, Unknown, known
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import (
    HEAVIEST,
    LONGEST_NUMBER,
    is_too_heavy,
    is_too_long,
    weigh,
)


class Variables(Protocol):
    """A name → its value, or ``UNDEFINED``."""

    def __call__(self, name: str, /) -> Any: ...

    @property
    def work(self) -> Callable[[int], None]:
        """Told of what takes time; raises ``TooMuch``."""

    def may_evaluate(self) -> bool:
        """Whether another expression may be evaluated: one task on one host needs no more than the scope allows."""

    def count(self, tokens: int, *, is_new: bool) -> None:
        """Told of every expression; a new one had to be parsed."""


Expression = Callable[[Variables], Any]


def constant(value: Any) -> Expression:
    return lambda _: value


_COMPARED = 100
"""Values of lists and mappings that are compared with one unit of work."""


def strict(combine: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    """Unknown when a side is, or when the sides do not fit."""

    def combined(variables: Variables) -> Any:
        one, other = left(variables), right(variables)
        if not known(one, other):
            return one if isinstance(one, Unknown) and not one.defined else UNKNOWN
        try:
            result = combine(one, other)
        except (TypeError, ValueError, ArithmeticError):
            return UNKNOWN
        return UNKNOWN if is_too_long(result) else result

    return combined


def comparison(combine: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    """As ``strict``. Two collections are compared value by value, which is work."""

    def compared(variables: Variables) -> Any:
        one, other = left(variables), right(variables)
        if isinstance(one, list | dict) and isinstance(other, list | dict):
            weight = weigh(one) + weigh(other)
            if weight > 2 * HEAVIEST:
                return UNKNOWN
            variables.work(weight // _COMPARED)
        return strict(combine, constant(one), constant(other))(variables)

    return compared


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
    if is_too_heavy(left) or is_too_heavy(right):
        return UNKNOWN
    glued = f"{left}{right}"
    return glued if len(glued) <= LONGEST else UNKNOWN


def only_numbers(combine: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def combined(left: Any, right: Any) -> Any:
        if isinstance(left, int | float) and isinstance(right, int | float):
            made = combine(left, right)
            return made if isinstance(made, int | float) else UNKNOWN
        return UNKNOWN

    return combined


def power(base: Any, exponent: Any) -> Any:
    """Looked at before it is computed: ``10 ** 10 ** 8`` has more digits than there is memory."""
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > LONGEST_NUMBER:
        return UNKNOWN
    return base**exponent


def member(container: Any, key: Any) -> Any:
    if isinstance(container, Mapping):
        return container.get(key, UNDEFINED)
    if isinstance(container, list | str) and isinstance(key, int | str):
        try:
            return container[int(key)]
        except (ValueError, IndexError):
            return UNDEFINED
    return UNKNOWN


def cut_out(container: Any, ends: list[Any]) -> Any:
    """``container[from:to:step]``."""
    return container[slice(*ends)] if isinstance(container, list | str) and known(*ends) else UNKNOWN
