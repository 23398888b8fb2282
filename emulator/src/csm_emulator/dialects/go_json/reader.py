"""JSON as Go's ``encoding/json`` reads it: what it takes, what it leaves out, what it complains of.

HPE's services hand Go's complaints to their clients, so the words are part of the wire. Unknown fields are ignored,
letter case in names does not matter, ``null`` leaves a text, a number, a flag or a struct as it is.
"""

from __future__ import annotations

import json
import re
import sys

from csm_emulator.dialects.go_json.types import (
    ANY,
    BOOL,
    NUMBER,
    RAW,
    STRING,
    Integer,
    Kind,
    Maybe,
    Slice,
    Struct,
    Table,
    empty,
    fold,
)
from csm_emulator.dialects.go_json.values import (
    BLANK,
    Number,
    Object,
    complaint_of,
    paired,
    parsed,
    text_of,
    word,
)
from csm_emulator.records import Json

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_TEXTS = re.compile(r'"(?:[^"\\]++|\\.)*+"')


class Undecodable(ValueError):
    """What Go says of the body; ``value`` is what it has read all the same."""

    def __init__(self, said: str, value: Json = None) -> None:
        super().__init__(said)
        self.value = value


class NothingSaid(Undecodable):
    """A stream without a value."""


def decode(body: bytes, kind: Kind) -> Json:
    """``json.Unmarshal``: one value and nothing after it. Structs become dicts with every field.

    Raises ``Undecodable`` with Go's first complaint; Go reads on after a value of the wrong type.
    """
    return _read(body, kind, whole=True)


def decode_first(body: bytes, kind: Kind) -> Json:
    """``Decoder.Decode``: the first value of a stream, whatever follows it. Raises ``Undecodable``."""
    if not body.strip(BLANK.encode()):
        raise NothingSaid("EOF", empty(kind))
    return _read(body, kind, whole=False)


def mentions(body: bytes, kind: Struct) -> bool:
    """Whether an object has one of these fields, be it ``null``."""
    found = parsed(text_of(body), whole=True)
    return isinstance(found, Object) and any(_known(name, kind) is not None for name, _ in found)


def _read(body: bytes, kind: Kind, *, whole: bool) -> Json:
    text = text_of(body)
    try:
        found = parsed(text, whole=whole)
    except (RecursionError, ValueError):
        raise Undecodable(complaint_of(body, whole=whole) or "exceeded max depth", empty(kind)) from None
    if not whole and isinstance(found, Number) and (said := complaint_of(body, whole=False)):
        # Python stops before a point without digits, where Go complains.
        raise Undecodable(said, empty(kind))
    fitting = _Fitting(text)
    value = fitting.fit(found, kind, empty(kind))
    if fitting.mistake:
        raise Undecodable(fitting.mistake, value)
    return value


class _Fitting:
    """Puts what was read into a kind, and keeps the first complaint."""

    def __init__(self, text: str) -> None:
        self.mistake = ""
        self._text = text
        self._path: list[str] = []
        self._struct = ""

    def fit(self, value: Json, kind: Kind, before: Json) -> Json:
        """``before`` is what was there, which a value of the wrong type leaves, and ``null`` in some kinds."""
        if value is None:
            return None if isinstance(kind, Maybe | Slice | Table) or kind is ANY or kind is RAW else before
        if isinstance(kind, Maybe):
            return self.fit(value, kind.of, empty(kind.of) if before is None else before)
        if isinstance(kind, Struct) and isinstance(value, Object):
            return self._fields(value, kind, before)
        if isinstance(kind, Table) and isinstance(value, Object):
            news = {paired(name): self.fit(each, kind.of, empty(kind.of)) for name, each in value}
            return (before or {}) | news
        if isinstance(kind, Slice) and isinstance(value, list) and not isinstance(value, Object):
            return [self.fit(each, kind.of, empty(kind.of)) for each in value]
        return self._scalar(value, kind, before)

    def _fields(self, value: Object, kind: Struct, before: Json) -> Json:
        result, outer = dict(before), self._struct
        for name, each in value:
            known = _known(name, kind)
            if known is None:
                continue
            self._struct = kind.go.rpartition(".")[2]
            steps = [kind.embedded[known], known] if known in kind.embedded else [known]
            self._path += steps
            result[known] = self.fit(each, kind.fields[known], result[known])
            del self._path[-len(steps) :]
            self._struct = outer
        return result

    def _scalar(self, value: Json, kind: Kind, before: Json) -> Json:
        if kind is ANY or kind is RAW:
            return self._plain(value, exact=kind is RAW)
        if kind is NUMBER and isinstance(value, str):
            return self._json_number(value)
        if kind is STRING and isinstance(value, str) and not isinstance(value, Number):
            return paired(value)
        if kind is BOOL and isinstance(value, bool):
            return value
        if isinstance(kind, Integer) and isinstance(value, Number):
            return self._integer(value, kind, before)
        self._mismatch(word(value), kind.go)
        return before

    def _plain(self, value: Json, *, exact: bool) -> Json:
        """Without comprehensions, which in Python 3.11 cost a second frame of the stack for each level."""
        if isinstance(value, Object):
            found = {}
            for name, each in value:
                found[paired(name)] = self._plain(each, exact=exact)
            return found
        if isinstance(value, Number):
            return _number(value) if exact else self._float64(value)
        if isinstance(value, list):
            elements = []
            for each in value:
                elements.append(self._plain(each, exact=exact))  # noqa: PERF401
            return elements
        return paired(value) if isinstance(value, str) else value

    def _float64(self, literal: Number) -> int | float | None:
        if len(literal) < 16 and _INTEGER.fullmatch(literal):
            return int(literal)
        number = float(literal)
        if abs(number) == float("inf"):
            self._mismatch(f"number {literal}", "float64")
            return None
        return _digits(number) if abs(number) < 1e21 and number.is_integer() else number

    def _json_number(self, value: str) -> int | float:
        if not _NUMBER.fullmatch(value):
            quoted = json.dumps(_as_written(self._text, value), ensure_ascii=False)
            raise Undecodable(f"json: invalid number literal, trying to unmarshal {quoted} into Number")
        return _number(value)

    def _integer(self, literal: Number, kind: Integer, before: Json) -> Json:
        limit = 1 << (kind.bits - 1)
        if _INTEGER.fullmatch(literal) and len(literal) <= 20 and -limit <= int(literal) < limit:
            return int(literal)
        self._mismatch(f"number {literal}", kind.go)
        return before

    def _mismatch(self, found: str, wanted: str) -> None:
        place = f"Go struct field {self._struct}.{'.'.join(self._path)}" if self._path else "Go value"
        self.mistake = self.mistake or f"json: cannot unmarshal {found} into {place} of type {wanted}"


def _known(name: str, kind: Struct) -> str | None:
    return name if name in kind.fields else kind.folded.get(fold(name))


def _number(literal: str) -> int | float:
    """As it was written. Python refuses to read whole numbers of more than 4300 digits."""
    if _INTEGER.fullmatch(literal) and len(literal) < 400:
        return int(literal)
    # JSON has no infinity to write what is larger.
    return max(-sys.float_info.max, min(float(literal), sys.float_info.max))


def _digits(number: float) -> int:
    """The shortest digits that mean this float, with zeros behind, as Go prints it."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, rest = mantissa.partition(".")
    rest = rest.rstrip("0")
    return int(f"{whole}{rest}" + "0" * (int(exponent or 0) - len(rest)))


def _as_written(text: str, value: str) -> str:
    """A text with its escapes, which Go repeats as they came."""
    for found in _TEXTS.finditer(text):
        if json.loads(found[0], strict=False) == value:
            return found[0]
    return json.dumps(value, ensure_ascii=False)
