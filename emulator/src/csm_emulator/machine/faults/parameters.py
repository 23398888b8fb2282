"""Types of the parameters ``NAME=VALUE`` of faults, given on the command line or in JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class ParameterType(Protocol):
    @property
    def takes(self) -> str:
        """The allowed values, for error messages."""

    def read(self, value: object) -> object:
        """The value as it is stored; raises ``ValueError`` for one that is not allowed."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number, also given as a text; whole numbers are stored as integers."""

    least: int
    most: int
    whole: bool = False

    @property
    def takes(self) -> str:
        return f"from {self.least} to {self.most}"

    def read(self, value: object) -> object:
        number = float(value) if isinstance(value, str) else value
        if isinstance(number, bool) or not isinstance(number, int | float) or not self.least <= number <= self.most:
            raise ValueError(value)
        if number == int(number):
            return int(number)
        if self.whole:
            raise ValueError(value)
        return number


@dataclass(frozen=True, slots=True)
class Choice:
    choices: tuple[str, ...]

    @property
    def takes(self) -> str:
        return " or ".join(self.choices)

    def read(self, value: object) -> object:
        if value not in self.choices:
            raise ValueError(value)
        return value


@dataclass(frozen=True, slots=True)
class Text:
    """A text, also one that looks like a number: the name of a layer may be 0 or 2026.10."""

    takes: str

    def read(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            raise ValueError(value)
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True, slots=True)
class AnyValue:
    """Any value; the action registered for the kind checks it."""

    takes: str = "anything"

    def read(self, value: object) -> object:
        return value
