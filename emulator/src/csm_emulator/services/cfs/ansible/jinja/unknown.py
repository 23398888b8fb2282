"""Values that a playbook speaks of and nobody here can know."""

from __future__ import annotations

from typing import Any, Final


class Unknown:
    """Stands for a value; whatever is computed with it is unknown as well."""

    def __init__(self, *, defined: bool) -> None:
        self.defined = defined

    def __repr__(self) -> str:
        return "UNKNOWN" if self.defined else "UNDEFINED"


UNKNOWN: Final = Unknown(defined=True)
"""There is such a value, for instance what a command printed."""
UNDEFINED: Final = Unknown(defined=False)
"""No variable of this name is known."""


def known(*values: Any) -> bool:
    return not any(isinstance(value, Unknown) for value in values)


def plain(value: Any) -> Any:
    """For the log: what is not known prints as nothing."""
    if isinstance(value, Unknown):
        return ""
    if isinstance(value, dict):
        return {str(key): plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [plain(held) for held in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
