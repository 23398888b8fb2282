"""Query parameters as SMD reads them: names in any letter case, several values for one name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from csm_emulator.transport.call import Call

ValueCheck = Callable[[str], str]
"""Returns the value as it is stored; empty when it is not allowed."""


def values(call: Call, name: str) -> list[str]:
    """The values of a parameter. Of two spellings of the name, the one that sorts last wins: SMD reads sorted JSON."""
    spellings = sorted({key for key, _ in call.query if key.lower() == name})
    return call.all(spellings[-1]) if spellings else []


class InvalidValue(ValueError):
    """The check refuses the value."""


class ValueFilter:
    """The values of one filter: ``a`` and ``b`` allow either value, ``!c`` excludes ``c``."""

    def __init__(self, texts: Sequence[str], check: ValueCheck | None = None) -> None:
        self.some = bool(texts)
        self._included = {_checked(text, check) for text in texts if not text.startswith("!")}
        self._excluded = {_checked(text.lstrip("!"), check) for text in texts if text.startswith("!")}

    def __call__(self, value: str) -> bool:
        return value not in self._excluded and (not self._included or value in self._included)


def lookup_values(texts: Sequence[str]) -> Sequence[str]:
    """The values by which records can be looked up; empty when one of them is empty or an exclusion."""
    return texts if all(text and not text.startswith("!") for text in texts) else ()


def _checked(text: str, check: ValueCheck | None) -> str:
    if check is None:
        return text
    value = check(text)
    if text and not value:
        raise InvalidValue(text)
    return value


def alphanumeric(text: str) -> str:
    return text if text.isascii() and text.isalnum() else ""
