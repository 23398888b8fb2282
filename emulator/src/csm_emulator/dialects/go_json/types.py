"""Go's types, as far as JSON is read into them and written from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from csm_emulator.records import Json


@dataclass(frozen=True, slots=True)
class GoType:
    """A Go type: ``go`` is its name in messages, ``zero`` its zero value, for fields that are missing."""

    go: str
    zero: Json = None


@dataclass(frozen=True, slots=True)
class Integer(GoType):
    zero: Json = 0
    bits: int = 64


STRING, BOOL = GoType("string", ""), GoType("bool", False)
INT, INT32, INT64 = Integer("int"), Integer("int32", bits=32), Integer("int64")
NUMBER = GoType("json.Number")
ANY = GoType("interface {}")
RAW = GoType("json.RawMessage")
"""Numbers stay as written, while ``ANY`` converts every number to float64."""


@dataclass(frozen=True, slots=True)
class Pointer(GoType):
    """A pointer: None if the field is missing."""

    of: GoType = STRING


@dataclass(frozen=True, slots=True)
class Slice(GoType):
    of: GoType = STRING


@dataclass(frozen=True, slots=True)
class Map(GoType):
    """A map with string keys."""

    of: GoType = ANY


@dataclass(frozen=True, slots=True)
class Struct(GoType):
    """``go`` is written with its package, ``sm.CompLockV2Filter``."""

    fields: Mapping[str, GoType] = field(default_factory=dict)
    embedded: Mapping[str, str] = field(default_factory=dict)
    """Field → the embedded struct that has it, which messages name."""
    omitted: frozenset[str] = frozenset()
    """Fields that are not written when they are empty (``omitempty``)."""
    folded: Mapping[str, str] = field(default_factory=dict)
    """Case-folded names → names as spelled."""
    zeros: Mapping[str, Json] = field(default_factory=dict)
    """Zero values of its fields."""
    inner: Mapping[str, Struct] = field(default_factory=dict)
    """Those of its fields that are structs themselves."""


def pointer_to(of: GoType) -> Pointer:
    return Pointer("*" + of.go, None, of)


def slice_of(of: GoType) -> Slice:
    return Slice("[]" + of.go, None, of)


def map_of(of: GoType, go: str = "") -> Map:
    return Map(go or f"map[string]{of.go}", None, of)


def struct(
    go: str, fields: Mapping[str, GoType], embedded: Mapping[str, str] | None = None, omitted: str = ""
) -> Struct:
    # Of names that differ only in case the first counts.
    folded = {fold(name): name for name in reversed(list(fields))}
    zeros = {name: field_type.zero for name, field_type in fields.items()}
    inner = {name: field_type for name, field_type in fields.items() if isinstance(field_type, Struct)}
    return Struct(go, None, fields, embedded or {}, frozenset(omitted.split()), folded, zeros, inner)


def texts(names: str) -> dict[str, GoType]:
    """Fields that are all strings."""
    return dict.fromkeys(names.split(), STRING)


STRINGS = slice_of(STRING)
ANYTHING_BY_NAME = map_of(ANY)


def fold(name: str) -> str:
    """Go matches the names of fields without regard to case."""
    return name.lower().replace("\u017f", "s")


def empty(kind: GoType) -> Json:
    if isinstance(kind, Struct):
        return (
            {**kind.zeros, **{name: empty(field_type) for name, field_type in kind.inner.items()}}
            if kind.inner
            else {**kind.zeros}
        )
    return kind.zero


def encode(value: Json, kind: GoType) -> Json:
    """A decoded value as Go would write it."""
    if isinstance(kind, Pointer):
        return None if value is None else encode(value, kind.of)
    if isinstance(kind, Struct):
        fields = value or {}
        return {
            name: encode(fields.get(name, item.zero), item)
            for name, item in kind.fields.items()
            if not (name in kind.omitted and _is_empty(fields.get(name), item))
        }
    if isinstance(kind, Slice) and value is not None:
        return [encode(item, kind.of) for item in value]
    return 0 if kind is NUMBER and value is None else value


def _is_empty(value: Json, kind: GoType) -> bool:
    """Whether ``omitempty`` omits it; a pointer to false or to an empty string is not empty."""
    return value is None or (not isinstance(kind, Pointer) and (value is False or value == ""))
