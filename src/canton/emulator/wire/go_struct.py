"""JSON as Go's ``encoding/json`` reads it into a struct: what it takes, what it leaves out, and what it complains of.

HPE's services hand Go's complaints to their clients, so the words are part of the wire. ``unmarshal`` is Go's
``json.Unmarshal`` (one value and nothing after it), ``decode`` its ``Decoder.Decode`` (the first value of a stream).
Both go on after a value of the wrong type, as Go does, and give the first complaint: a caller that ignores it has the
rest. Numbers become what a float64 keeps of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from canton.emulator.wire.call import Json
from canton.emulator.wire.go_syntax import END, complaint

LONGEST = 1 << 20
"""Longer text is not looked through for Go's exact words: it would hold up everybody else."""
DEEPEST = 400
"""Python's own limit is near 1000 on the whole stack; Go's is 10,000. No real body is deeper than a dozen."""
_EXACT = 1 << 53
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE = re.compile("[\ud800-\udfff]")
_KINDS = {dict: "object", list: "array", str: "string", bool: "bool"}


class _Literal(int):
    """A whole number that was not spelled as one: 1e2, 3.0."""

    text: str


class _Fraction(float):
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    go: str = "string"
    zero: Json = ""


@dataclass(frozen=True, slots=True)
class Whole:
    bits: int = 64
    zero: Json = 0

    @property
    def go(self) -> str:
        return f"int{self.bits}"


@dataclass(frozen=True, slots=True)
class Flag:
    go: str = "bool"
    zero: Json = False


@dataclass(frozen=True, slots=True)
class Anything:
    """``interface{}``."""

    go: str = "interface {}"
    zero: Json = None


@dataclass(frozen=True, slots=True)
class Maybe:
    """A pointer: absent is not the same as zero."""

    of: Text | Whole | Flag
    zero: Json = None

    @property
    def go(self) -> str:
        return self.of.go


@dataclass(frozen=True, slots=True)
class Many:
    of: Shape
    zero: Json = None

    @property
    def go(self) -> str:
        return f"[]{self.of.go}"


@dataclass(frozen=True, slots=True)
class Table:
    """A map; its keys are anybody's."""

    of: Shape
    go: str = "map[string]interface {}"
    zero: Json = None


@dataclass(frozen=True)
class Record:
    """A struct."""

    go: str
    fields: Mapping[str, Shape] = field(default_factory=dict)

    @property
    def zero(self) -> Json:
        return {name: shape.zero for name, shape in self.fields.items()}

    @cached_property
    def folded(self) -> Mapping[str, str]:
        return {fold(name): name for name in self.fields}


Shape = Text | Whole | Flag | Anything | Maybe | Many | Table | Record


def fold(name: str) -> str:
    """Go matches the names of fields without regard to case."""
    return name.lower().replace("\u017f", "s")


def unmarshal(data: bytes, shape: Shape) -> tuple[Json, str]:
    """The value, and Go's complaint: empty when there is none."""
    return _read(data, shape, whole=True)


def decode(data: bytes, shape: Shape) -> tuple[Json, str]:
    """As ``unmarshal``, of a stream: what follows the first value does not matter."""
    return _read(data, shape, whole=False)


def _read(data: bytes, shape: Shape, *, whole: bool) -> tuple[Json, str]:
    reading = _Reading()
    try:
        value = reading.parse(data, whole=whole)
    except (ValueError, RecursionError):
        return shape.zero, _complaint(data, whole=whole) or "exceeded max depth"
    if not whole and isinstance(value, int | float) and (mistake := _complaint(data, whole=False)):
        return shape.zero, mistake
    fitting = _Fitting(reading.overflowed)
    return fitting.fit(value, shape, shape.zero), fitting.mistake


def _complaint(data: bytes, *, whole: bool) -> str:
    if len(data) > LONGEST:
        return END if whole else "unexpected EOF"
    said = complaint(data)
    if whole or not said:
        return said
    if not data.strip(b" \t\r\n"):
        return "EOF"
    if said.endswith("after top-level value"):
        return ""
    # A Decoder has the same words for every text that is too short; a byte more tells which those are.
    return said if complaint(data + b"\0") == said else "unexpected EOF"


class _Reading:
    """Numbers become what Go's float64 makes of them; what does not fit is noticed."""

    def __init__(self) -> None:
        self.overflowed = False

    def parse(self, data: bytes, *, whole: bool) -> Json:
        text = _LONE.sub("\ufffd", data.decode("utf-8", "surrogateescape"))
        _check_depth(text)
        decoder = json.JSONDecoder(parse_int=self._whole, parse_float=self._fraction, parse_constant=_refuse)
        value = decoder.decode(text) if whole else decoder.raw_decode(text.lstrip(" \t\r\n"))[0]
        return _without_lone_surrogates(value) if _SURROGATE.search(text) else value

    def _whole(self, text: str) -> int | float:
        if len(text) < 16:
            return int(text)
        return self._fraction(text) if len(text) > 400 or abs(int(text)) > _EXACT else int(text)

    def _fraction(self, text: str) -> int | float:
        number = float(text)
        if number in (float("inf"), float("-inf")):
            self.overflowed = True
        elif abs(number) < 1e21 and number.is_integer():
            literal = _Literal(_digits(number))
            literal.text = text
            return literal
        fraction = _Fraction(number)
        fraction.text = text
        return fraction


def _digits(number: float) -> int:
    """The shortest digits that mean this float, with zeros behind, as Go prints it."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, rest = mantissa.partition(".")
    rest = rest.rstrip("0")
    return int(f"{whole}{rest}" + "0" * (int(exponent or 0) - len(rest)))


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= DEEPEST:
        return
    depth = 0
    for piece in _BRACKETS.findall(text):
        if piece in "[{":
            depth += 1
        elif piece in "]}":
            depth -= 1
        if depth > DEEPEST:
            raise ValueError("too deep")


def _without_lone_surrogates(value: Json) -> Json:
    """Go puts U+FFFD in the place of half a pair."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {_LONE.sub("\ufffd", key): _without_lone_surrogates(item) for key, item in value.items()}
    return value


class _Fitting:
    """Puts a value into a shape, and keeps the first complaint."""

    def __init__(self, overflowed: bool) -> None:
        self.mistake = ""
        self._overflowed = overflowed
        self._path: list[str] = []
        self._record = ""

    def fit(self, value: Json, shape: Shape, before: Json) -> Json:
        """``before`` is what was there: null leaves it, and so does a value of the wrong type."""
        if isinstance(shape, Maybe):
            return None if value is None else self.fit(value, shape.of, before)
        if value is None:
            return before if isinstance(shape, Text | Whole | Flag | Record) else None
        if isinstance(shape, Anything):
            return self._anything(value)
        if isinstance(shape, Text | Flag):
            return self._plain(value, shape, before)
        if isinstance(shape, Whole):
            return self._whole(value, shape, before)
        return self._holding(value, shape, before)

    def _holding(self, value: Json, shape: Many | Table | Record, before: Json) -> Json:
        if isinstance(shape, Many) and isinstance(value, list):
            return [self.fit(item, shape.of, shape.of.zero) for item in value]
        if isinstance(shape, Table) and isinstance(value, dict):
            return {key: self.fit(item, shape.of, shape.of.zero) for key, item in value.items()}
        if isinstance(shape, Record) and isinstance(value, dict):
            return self._fields(value, shape, before)
        self._complain(_kind(value), shape.go)
        return before

    def _fields(self, value: dict[str, Json], shape: Record, before: Json) -> Json:
        filled = dict(before)
        outer, self._record = self._record, shape.go.rpartition(".")[2]
        for key, item in value.items():
            name = key if key in shape.fields else shape.folded.get(fold(key))
            if name is not None:
                self._path.append(name)
                filled[name] = self.fit(item, shape.fields[name], filled[name])
                self._path.pop()
                self._record = shape.go.rpartition(".")[2]
        self._record = outer
        return filled

    def _plain(self, value: Json, shape: Text | Flag, before: Json) -> Json:
        if isinstance(value, str if isinstance(shape, Text) else bool):
            return value
        self._complain(_kind(value), shape.go)
        return before

    def _whole(self, value: Json, shape: Whole, before: Json) -> Json:
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._complain(_kind(value), shape.go)
            return before
        limit = 1 << (shape.bits - 1)
        if isinstance(value, _Literal | _Fraction) or not -limit <= value < limit:
            self._complain(f"number {getattr(value, 'text', value)}", shape.go)
            return before
        return value

    def _anything(self, value: Json) -> Json:
        if self._overflowed:
            self._look_for_overflow(value)
        return value

    def _look_for_overflow(self, value: Json) -> None:
        if isinstance(value, _Fraction) and value in (float("inf"), float("-inf")):
            self._complain(f"number {value.text}", "float64")
        elif isinstance(value, list | dict):
            for item in value.values() if isinstance(value, dict) else value:
                self._look_for_overflow(item)

    def _complain(self, found: str, wanted: str) -> None:
        place = f"Go struct field {self._record}.{'.'.join(self._path)}" if self._path else "Go value"
        self.mistake = self.mistake or f"json: cannot unmarshal {found} into {place} of type {wanted}"


def _kind(value: Json) -> str:
    return _KINDS.get(type(value), "number")
