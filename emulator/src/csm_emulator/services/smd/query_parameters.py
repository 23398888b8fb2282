"""Query parameters as SMD reads them: any letter case, several of a name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from csm_emulator.transport.call import Call

ValueCheck = Callable[[str], str]
"""The value as it is stored; empty when it is not allowed."""


def values(call: Call, name: str) -> list[str]:
    """Of two spellings the one that sorts last wins: SMD turns the form into JSON, sorted, and reads that."""
    spellings = sorted({key for key, _ in call.query if key.lower() == name})
    return call.all(spellings[-1]) if spellings else []


class InvalidValue(ValueError):
    """A value that the check refuses."""


class ValueFilter:
    """``a``, ``b``: one of them; ``!c``: not that one."""

    def __init__(self, texts: Sequence[str], check: ValueCheck | None = None) -> None:
        self.some = bool(texts)
        self._included = {_checked(text, check) for text in texts if not text.startswith("!")}
        self._excluded = {_checked(text.lstrip("!"), check) for text in texts if text.startswith("!")}

    def __call__(self, value: str) -> bool:
        return value not in self._excluded and (not self._included or value in self._included)


def lookup_values(texts: Sequence[str]) -> Sequence[str]:
    """The values by which records can be looked up: none when one of them is empty, or says what is not wanted."""
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
