"""JSON as Go's ``encoding/json`` reads it: accepted values, ignored ones, and error messages.

HPE's services return Go's error messages to their clients, so they must be exact. Unknown fields are ignored, names are
matched regardless of case, and ``null`` leaves a string, number, bool or struct unchanged.
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
    GoType,
    Integer,
    Map,
    Pointer,
    Slice,
    Struct,
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


class DecodeError(ValueError):
    """Go's error message for a body; ``value`` is what it has decoded nevertheless."""

    def __init__(self, message: str, value: Json = None) -> None:
        super().__init__(message)
        self.value = value


class EmptyBody(DecodeError):
    """A stream without a value: Go's EOF."""


def decode(body: bytes, kind: GoType) -> Json:
    """``json.Unmarshal``: one value and nothing after it. Structs become dicts with every field.

    Raises ``DecodeError`` with Go's first error; Go continues after a value of the wrong type.
    """
    return _read(body, kind, whole=True)


def decode_first(body: bytes, kind: GoType) -> Json:
    """``Decoder.Decode``: the first value of a stream, whatever follows it. Raises ``DecodeError``."""
    if not body.strip(BLANK.encode()):
        raise EmptyBody("EOF", empty(kind))
    return _read(body, kind, whole=False)


def mentions(body: bytes, kind: Struct) -> bool:
    """Whether an object has one of these fields, even with ``null``."""
    document = parsed(text_of(body), whole=True)
    return isinstance(document, Object) and any(_field_name(name, kind) is not None for name, _ in document)


def _read(body: bytes, kind: GoType, *, whole: bool) -> Json:
    text = text_of(body)
    try:
        document = parsed(text, whole=whole)
    except (RecursionError, ValueError):
        raise DecodeError(complaint_of(body, whole=whole) or "exceeded max depth", empty(kind)) from None
    if not whole and isinstance(document, Number) and (message := complaint_of(body, whole=False)):
        # Python stops before a decimal point without digits, where Go reports an error.
        raise DecodeError(message, empty(kind))
    decoder = _ValueDecoder(text)
    value = decoder.decode(document, kind, empty(kind))
    if decoder.mistake:
        raise DecodeError(decoder.mistake, value)
    return value


class _ValueDecoder:
    """Decodes parsed JSON into a Go type, and keeps the first error message."""

    def __init__(self, text: str) -> None:
        self.mistake = ""
        self._text = text
        self._path: list[str] = []
        self._struct = ""

    def decode(self, value: Json, kind: GoType, previous: Json) -> Json:
        """The decoded value; ``previous`` is returned for a value of the wrong type, and for ``null`` in some types."""
        if value is None:
            return None if isinstance(kind, Pointer | Slice | Map) or kind is ANY or kind is RAW else previous
        if isinstance(kind, Pointer):
            return self.decode(value, kind.of, empty(kind.of) if previous is None else previous)
        if isinstance(kind, Struct) and isinstance(value, Object):
            return self._fields(value, kind, previous)
        if isinstance(kind, Map) and isinstance(value, Object):
            entries = {paired(name): self.decode(item, kind.of, empty(kind.of)) for name, item in value}
            return (previous or {}) | entries
        if isinstance(kind, Slice) and isinstance(value, list) and not isinstance(value, Object):
            return [self.decode(item, kind.of, empty(kind.of)) for item in value]
        return self._scalar(value, kind, previous)

    def _fields(self, value: Object, kind: Struct, previous: Json) -> Json:
        result, outer = dict(previous), self._struct
        for name, item in value:
            field = _field_name(name, kind)
            if field is None:
                continue
            self._struct = kind.go.rpartition(".")[2]
            steps = [kind.embedded[field], field] if field in kind.embedded else [field]
            self._path += steps
            result[field] = self.decode(item, kind.fields[field], result[field])
            del self._path[-len(steps) :]
            self._struct = outer
        return result

    def _scalar(self, value: Json, kind: GoType, previous: Json) -> Json:
        if kind is ANY or kind is RAW:
            return self._plain(value, exact=kind is RAW)
        if kind is NUMBER and isinstance(value, str):
            return self._json_number(value)
        if kind is STRING and isinstance(value, str) and not isinstance(value, Number):
            return paired(value)
        if kind is BOOL and isinstance(value, bool):
            return value
        if isinstance(kind, Integer) and isinstance(value, Number):
            return self._integer(value, kind, previous)
        self._mismatch(word(value), kind.go)
        return previous

    def _plain(self, value: Json, *, exact: bool) -> Json:
        """A value for ``interface {}``. It has no comprehensions: in Python 3.11 they double the stack depth."""
        if isinstance(value, Object):
            result = {}
            for name, item in value:
                result[paired(name)] = self._plain(item, exact=exact)
            return result
        if isinstance(value, Number):
            return _number(value) if exact else self._float64(value)
        if isinstance(value, list):
            elements = []
            for item in value:
                elements.append(self._plain(item, exact=exact))  # noqa: PERF401
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
            raise DecodeError(f"json: invalid number literal, trying to unmarshal {quoted} into Number")
        return _number(value)

    def _integer(self, literal: Number, kind: Integer, previous: Json) -> Json:
        limit = 1 << (kind.bits - 1)
        if _INTEGER.fullmatch(literal) and len(literal) <= 20 and -limit <= int(literal) < limit:
            return int(literal)
        self._mismatch(f"number {literal}", kind.go)
        return previous

    def _mismatch(self, value_text: str, go_type: str) -> None:
        place = f"Go struct field {self._struct}.{'.'.join(self._path)}" if self._path else "Go value"
        self.mistake = self.mistake or f"json: cannot unmarshal {value_text} into {place} of type {go_type}"


def _field_name(name: str, kind: Struct) -> str | None:
    return name if name in kind.fields else kind.folded.get(fold(name))


def _number(literal: str) -> int | float:
    """The number as written; very long ones as floats, since Python refuses integers of more than 4300 digits."""
    if _INTEGER.fullmatch(literal) and len(literal) < 400:
        return int(literal)
    # JSON has no infinity.
    return max(-sys.float_info.max, min(float(literal), sys.float_info.max))


def _digits(number: float) -> int:
    """The float as Go prints it: its shortest digits, filled up with zeros."""
    mantissa, _, exponent = repr(number).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    return int(f"{whole}{fraction}" + "0" * (int(exponent or 0) - len(fraction)))


def _as_written(text: str, value: str) -> str:
    """A string with its escapes as received, which Go repeats in its messages."""
    for match in _TEXTS.finditer(text):
        if json.loads(match[0], strict=False) == value:
            return match[0]
    return json.dumps(value, ensure_ascii=False)
