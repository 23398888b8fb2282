"""Values of playbooks, also those that the emulator cannot know."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Value: TypeAlias = Any
"""What YAML can express, what an expression returns, or ``Unknown``: only the task that uses it knows its type."""


class Unknown:
    """Represents an unknown value; the result of a computation with it is unknown as well."""

    def __init__(self, *, defined: bool) -> None:
        self.defined = defined

    def __repr__(self) -> str:
        return "UNKNOWN" if self.defined else "UNDEFINED"


UNKNOWN: Final = Unknown(defined=True)
"""A value exists but is unknown, for instance the output of a command."""
UNDEFINED: Final = Unknown(defined=False)
"""No variable has this name."""


def known(*values: Value) -> bool:
    return not any(isinstance(value, Unknown) for value in values)


def plain(value: Value) -> Value:
    """The value as plain data for the log; an unknown value is an empty text."""
    if isinstance(value, Unknown):
        return ""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
