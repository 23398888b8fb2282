"""Request bodies as Go reads them into its structs: which fields there are, of which type, and its complaints.

Unknown fields are ignored, letter case in names does not matter, ``null`` leaves a field as it is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from canton.emulator.faces.smd.problems import undecodable
from canton.emulator.faces.smd.syntax import complaint
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.routes import Handler

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"')
_SURROGATES = re.compile("[\ud800-\udfff]")


class Undecodable(ValueError):
    """The text after "error decoding JSON "."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A Go type: ``go`` is its name in messages, ``zero`` what a field is that nobody mentions."""

    go: str
    zero: Json = None


STRING, BOOL, INT, INT64 = Kind("string", ""), Kind("bool", False), Kind("int", 0), Kind("int64", 0)
NUMBER = Kind("json.Number")
ANY = Kind("interface {}")


@dataclass(frozen=True, slots=True)
class Maybe(Kind):
    """A pointer: None when it was not said."""

    of: Kind = STRING


@dataclass(frozen=True, slots=True)
class Slice(Kind):
    of: Kind = STRING


@dataclass(frozen=True, slots=True)
class Struct(Kind):
    """``go`` is written with its package, ``sm.CompLockV2Filter``."""

    fields: Mapping[str, Kind] = field(default_factory=dict)
    embedded: Mapping[str, str] = field(default_factory=dict)
    """Field → the embedded struct that has it, which messages name."""
    omitted: frozenset[str] = frozenset()
    """Which fields are not written when they are empty."""


def maybe(of: Kind) -> Maybe:
    return Maybe("*" + of.go, None, of)


def slice_of(of: Kind) -> Slice:
    return Slice("[]" + of.go, None, of)


def struct(go: str, fields: Mapping[str, Kind], embedded: Mapping[str, str] | None = None, omitted: str = "") -> Struct:
    return Struct(go, None, fields, embedded or {}, frozenset(omitted.split()))


def texts(names: str) -> dict[str, Kind]:
    """Fields that are all strings."""
    return dict.fromkeys(names.split(), STRING)


STRINGS = slice_of(STRING)


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


class _Object(list[tuple[str, Any]]):
    """Fields in the order in which they were written."""


def decode(body: bytes, kind: Kind) -> Json:
    """Structs become dicts with every field; raises ``Undecodable``."""
    try:
        return _Reading(body).read(parse(body), kind)
    except RecursionError:
        raise Undecodable("exceeded max depth") from None


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


def with_body(kind: Kind, handler: Callable[[Call, Json], Reply]) -> Handler:
    """A handler that is given its body decoded."""

    def handle(call: Call) -> Reply:
        try:
            body = decode(call.body, kind)
        except Undecodable as error:
            return undecodable(error)
        return handler(call, body)

    return handle


def parse(body: bytes) -> Json:
    try:
        return json.loads(
            body.decode("utf-8", "replace"),
            object_pairs_hook=_Object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_no_constant,
        )
    except (RecursionError, ValueError):
        # Go reads 10,000 levels, Python about 1,000: those in between are refused here alone.
        raise Undecodable(complaint(body) or "exceeded max depth") from None


def _no_constant(name: str) -> Json:
    """Python knows NaN and Infinity, JSON does not."""
    raise ValueError(name)


def plain(value: Json) -> Json:
    """What was read into an ``interface{}``."""
    if isinstance(value, _Object):
        return {_whole(key): plain(each) for key, each in value}
    if isinstance(value, _Number):
        return number(value)
    if isinstance(value, list):
        return [plain(each) for each in value]
    return _whole(value) if isinstance(value, str) else value


def number(literal: str) -> int | float:
    # Python refuses to read whole numbers of more than 4300 digits.
    if _INTEGER.fullmatch(literal) and len(literal) < 400:
        return int(literal)
    # JSON has no infinity to write what is larger.
    return max(-sys.float_info.max, min(float(literal), sys.float_info.max))


def _whole(text: str) -> str:
    """Go has no half pairs of surrogates."""
    return _SURROGATES.sub("\ufffd", text)


class _Reading:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._first = ""
        self._path: list[str] = []
        self._struct = ""

    def read(self, value: Json, kind: Kind) -> Json:
        result = self._value(value, kind)
        if self._first:
            raise Undecodable(self._first)
        return result

    def _value(self, value: Json, kind: Kind) -> Json:
        if value is None:
            return _empty(kind)
        if isinstance(kind, Maybe):
            return self._value(value, kind.of)
        if isinstance(kind, Struct):
            return self._fields(value, kind)
        if isinstance(kind, Slice):
            return self._elements(value, kind)
        return self._scalar(value, kind)

    def _fields(self, value: Json, kind: Struct) -> Json:
        result = _empty(kind)
        if not isinstance(value, _Object):
            self._mismatch(_word(value), kind)
            return result
        outer = self._struct
        for name, each in value:
            known = _known(name, kind.fields)
            if known is None or each is None:
                continue
            self._struct = kind.go.rpartition(".")[2]
            steps = [kind.embedded[known], known] if known in kind.embedded else [known]
            self._path += steps
            result[known] = self._value(each, kind.fields[known])
            del self._path[-len(steps) :]
        self._struct = outer
        return result

    def _elements(self, value: Json, kind: Slice) -> Json:
        if not isinstance(value, list) or isinstance(value, _Object):
            self._mismatch(_word(value), kind)
            return None
        outer, result = self._struct, []
        for each in value:
            self._struct = outer
            result.append(self._value(each, kind.of))
        self._struct = outer
        return result

    def _scalar(self, value: Json, kind: Kind) -> Json:
        if kind is ANY:
            return plain(value)
        if kind is NUMBER and isinstance(value, str):
            return self._json_number(value)
        if kind is STRING and isinstance(value, str) and not isinstance(value, _Number):
            return _whole(value)
        if kind is BOOL and isinstance(value, bool):
            return value
        if kind in (INT, INT64) and isinstance(value, _Number):
            return self._integer(value, kind)
        self._mismatch(_word(value), kind)
        return kind.zero

    def _json_number(self, value: str) -> int | float:
        if not _NUMBER.fullmatch(value):
            quoted = json.dumps(_as_written(self._body, value), ensure_ascii=False)
            raise Undecodable(f"json: invalid number literal, trying to unmarshal {quoted} into Number")
        return number(value)

    def _integer(self, value: _Number, kind: Kind) -> int:
        if _INTEGER.fullmatch(value) and len(value) <= 20 and -(1 << 63) <= int(value) < 1 << 63:
            return int(value)
        self._mismatch(f"number {value}", kind)
        return 0

    def _mismatch(self, found: str, kind: Kind) -> None:
        """The first one is told; Go reads on to the end."""
        if self._first:
            return
        place = "Go value"
        if self._path:
            place = f"Go struct field {self._struct}.{'.'.join(self._path)}"
        self._first = f"json: cannot unmarshal {found} into {place} of type {kind.go}"


def _as_written(body: bytes, value: str) -> str:
    """A text with its escapes, which Go repeats as they came."""
    for found in _TEXTS.finditer(body.decode("utf-8", "replace")):
        if json.loads(found[0], strict=False) == value:
            return found[0]
    return json.dumps(value, ensure_ascii=False)


def _empty(kind: Kind) -> Json:
    if isinstance(kind, Struct):
        return {name: _empty(each) for name, each in kind.fields.items()}
    return kind.zero


def _known(name: str, fields: Iterable[str]) -> str | None:
    if name in fields:
        return name
    lowered = name.lower()
    return next((each for each in fields if each.lower() == lowered), None)


def _word(value: Json) -> str:
    if isinstance(value, _Object):
        return "object"
    if isinstance(value, _Number):
        return "number"
    return {bool: "bool", str: "string", list: "array"}[type(value)]
