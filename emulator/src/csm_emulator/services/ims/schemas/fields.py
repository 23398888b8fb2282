"""How marshmallow 3 reads a body: what it takes for what, and its words for what it does not take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from csm_emulator.transport.call import Json

MISSING = object()
_YES = frozenset({"t", "T", "true", "True", "TRUE", "on", "On", "ON", "y", "Y", "yes", "Yes", "YES", "1", 1})
_NO = frozenset({"f", "F", "false", "False", "FALSE", "off", "Off", "OFF", "n", "N", "no", "No", "NO", "0", 0})

Read = Callable[[Json], Json]
Check = Callable[[Any], str]
"""What is wrong with a value; empty when nothing is."""


class Invalid(Exception):
    """``errors`` is a list of texts, or a mapping to such lists by name or by place."""

    def __init__(self, errors: Json) -> None:
        super().__init__(errors)
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Field:
    read: Read
    required: bool = False
    default: Any = MISSING
    nullable: bool = False
    checks: Sequence[Check] = ()

    def load(self, value: Json) -> Json:
        if value is None:
            if not self.nullable:
                raise Invalid(["Field may not be null."])
            return None
        found = self.read(value)
        errors = [wrong for check in self.checks if (wrong := check(found))]
        if errors:
            raise Invalid(errors)
        return found


@dataclass(frozen=True, slots=True)
class Schema:
    fields: Mapping[str, Field] = field(default_factory=dict)

    def load(self, value: Json) -> dict[str, Json]:
        if not isinstance(value, dict):
            raise Invalid({"_schema": ["Invalid input type."]})
        errors: dict[str, Json] = {}
        found: dict[str, Json] = {}
        for name, of in self.fields.items():
            try:
                loaded = _load(of, value.get(name, MISSING))
            except Invalid as invalid:
                errors[name] = invalid.errors
            else:
                if loaded is not MISSING:
                    found[name] = loaded
        errors.update({name: ["Unknown field."] for name in value if name not in self.fields})
        if errors:
            raise Invalid(errors)
        return found


def _load(of: Field, value: Json) -> Json:
    if value is not MISSING:
        return of.load(value)
    if of.required:
        raise Invalid(["Missing data for required field."])
    return of.default


def text(value: Json) -> str:
    if not isinstance(value, str):
        raise Invalid(["Not a valid string."])
    return value


def uuid(value: Json) -> str:
    try:
        return str(UUID(value))
    except (ValueError, AttributeError, TypeError):
        raise Invalid(["Not a valid UUID."]) from None


def integer(value: Json) -> int:
    """Not strict: what Python's ``int`` takes, but no booleans."""
    if isinstance(value, bool):
        raise Invalid(["Not a valid integer."])
    try:
        return int(value)
    except OverflowError:
        raise Invalid(["Number too large."]) from None
    except (TypeError, ValueError):
        raise Invalid(["Not a valid integer."]) from None


def boolean(value: Json) -> bool:
    try:
        if value in _YES:
            return True
        if value in _NO:
            return False
    except TypeError:  # a list or an object
        pass
    raise Invalid(["Not a valid boolean."])


def listed(read: Read) -> Read:
    def load(value: Json) -> list[Json]:
        if not isinstance(value, list):
            raise Invalid(["Not a valid list."])
        return _each(read, enumerate(value))

    return load


def _each(read: Read, pairs: enumerate[Json]) -> list[Json]:
    found, errors = [], {}
    for place, value in pairs:
        try:
            found.append(Field(read).load(value))
        except Invalid as invalid:
            errors[place] = invalid.errors
    if errors:
        raise Invalid(errors)
    return found


def mapped(read: Read) -> Read:
    """By name; what is wrong with a name is told under ``key``, with a value under ``value``."""

    def load(value: Json) -> dict[str, Json]:
        if not isinstance(value, dict):
            raise Invalid(["Not a valid mapping type."])
        found, errors = {}, {}
        for name, each in value.items():
            wrong = {}
            for part, of, what in (("key", text, name), ("value", read, each)):
                try:
                    found[name] = Field(of).load(what)
                except Invalid as invalid:
                    wrong[part] = invalid.errors
            if wrong:
                errors[name] = wrong
        if errors:
            raise Invalid(errors)
        return found

    return load


def one_of(choices: Sequence[str], error: str = "Must be one of: {choices}.") -> Check:
    told = error.format(choices=", ".join(choices))
    return lambda value: "" if value in choices else told


def not_blank(error: str) -> Check:
    return lambda value: "" if value else error


def at_least(least: int, error: str) -> Check:
    return lambda value: "" if value >= least else error
