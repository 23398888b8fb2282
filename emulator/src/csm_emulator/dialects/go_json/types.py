"""Go's types, as far as JSON is read into them and written from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from csm_emulator.records import Json


@dataclass(frozen=True, slots=True)
class Kind:
    """A Go type: ``go`` is its name in messages, ``zero`` what a field is that nobody mentions."""

    go: str
    zero: Json = None


@dataclass(frozen=True, slots=True)
class Integer(Kind):
    zero: Json = 0
    bits: int = 64


STRING, BOOL = Kind("string", ""), Kind("bool", False)
INT, INT32, INT64 = Integer("int"), Integer("int32", bits=32), Integer("int64")
NUMBER = Kind("json.Number")
ANY = Kind("interface {}")
RAW = Kind("json.RawMessage")
"""Kept as it was written, where ``ANY`` makes a float64 of every number."""


@dataclass(frozen=True, slots=True)
class Maybe(Kind):
    """A pointer: None when it was not said."""

    of: Kind = STRING


@dataclass(frozen=True, slots=True)
class Slice(Kind):
    of: Kind = STRING


@dataclass(frozen=True, slots=True)
class Table(Kind):
    """A map; its keys are anybody's."""

    of: Kind = ANY


@dataclass(frozen=True, slots=True)
class Struct(Kind):
    """``go`` is written with its package, ``sm.CompLockV2Filter``."""

    fields: Mapping[str, Kind] = field(default_factory=dict)
    embedded: Mapping[str, str] = field(default_factory=dict)
    """Field → the embedded struct that has it, which messages name."""
    omitted: frozenset[str] = frozenset()
    """Which fields are not written when they are empty."""
    folded: Mapping[str, str] = field(default_factory=dict)
    """Names as they are compared → names as they are spelled."""
    zeros: Mapping[str, Json] = field(default_factory=dict)
    """What its fields are that nobody mentions."""
    inner: Mapping[str, Struct] = field(default_factory=dict)
    """Those of its fields that are structs themselves."""


def maybe(of: Kind) -> Maybe:
    return Maybe("*" + of.go, None, of)


def slice_of(of: Kind) -> Slice:
    return Slice("[]" + of.go, None, of)


def table_of(of: Kind, go: str = "") -> Table:
    return Table(go or f"map[string]{of.go}", None, of)


def struct(go: str, fields: Mapping[str, Kind], embedded: Mapping[str, str] | None = None, omitted: str = "") -> Struct:
    # Of names that differ in nothing but their letters the first counts.
    folded = {fold(name): name for name in reversed(list(fields))}
    zeros = {name: each.zero for name, each in fields.items()}
    inner = {name: each for name, each in fields.items() if isinstance(each, Struct)}
    return Struct(go, None, fields, embedded or {}, frozenset(omitted.split()), folded, zeros, inner)


def texts(names: str) -> dict[str, Kind]:
    """Fields that are all strings."""
    return dict.fromkeys(names.split(), STRING)


STRINGS = slice_of(STRING)
ANYTHING_BY_NAME = table_of(ANY)


def fold(name: str) -> str:
    """Go matches the names of fields without regard to case."""
    return name.lower().replace("\u017f", "s")


def empty(kind: Kind) -> Json:
    if isinstance(kind, Struct):
        return (
            {**kind.zeros, **{name: empty(each) for name, each in kind.inner.items()}} if kind.inner else {**kind.zeros}
        )
    return kind.zero


def encode(value: Json, kind: Kind) -> Json:
    """What was decoded, or the like of it, as Go writes it."""
    if isinstance(kind, Maybe):
        return None if value is None else encode(value, kind.of)
    if isinstance(kind, Struct):
        said = value or {}
        return {
            name: encode(said.get(name, each.zero), each)
            for name, each in kind.fields.items()
            if not (name in kind.omitted and _nothing(said.get(name), each))
        }
    if isinstance(kind, Slice) and value is not None:
        return [encode(each, kind.of) for each in value]
    return 0 if kind is NUMBER and value is None else value


def _nothing(value: Json, kind: Kind) -> bool:
    """A pointer to false or to an empty text is something."""
    return value is None or (not isinstance(kind, Maybe) and (value is False or value == ""))
