"""The error messages of Go's JSON scanner for invalid JSON, which clients see."""

from __future__ import annotations

import re

_BLANK = b" \t\r\n"
# Possessive: backtracking would need 100 bytes of memory per character.
_STRING = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}
_SHORT = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "'": "\\'",
    "\\": "\\\\",
}
DEEPEST = 10_000
END = "unexpected end of JSON input"

VALUE, KEY, FIRST_KEY, FIRST_ELEMENT, COLON, AFTER = range(6)


class _JsonSyntaxError(Exception):
    pass


def complaint(text: bytes) -> str:
    """Go's error message for ``text``; empty if it is valid."""
    # Go's scanner reads one more blank at the end; an incomplete value is an unexpected end.
    try:
        return _scan(text + b" ", len(text))
    except _JsonSyntaxError as wrong:
        return str(wrong)


def _scan(text: bytes, length: int) -> str:
    stack: list[bytes] = []
    at, state = _skip(text, 0), VALUE
    while at < length:
        at, state = _step(text, at, state, stack)
        at = _skip(text, at)
        if state == AFTER and not stack:
            return "" if at >= length else _invalid(text, at, "after top-level value")
    return END


def _step(text: bytes, at: int, state: int, stack: list[bytes]) -> tuple[int, int]:
    byte = text[at : at + 1]
    if state == AFTER:
        return _after(text, at, byte, stack)
    if state == COLON:
        if byte != b":":
            raise _JsonSyntaxError(_invalid(text, at, "after object key"))
        return at + 1, VALUE
    if state in (KEY, FIRST_KEY):
        return _key(text, at, byte, state, stack)
    if state == FIRST_ELEMENT and byte == b"]":
        stack.pop()
        return at + 1, AFTER
    return _value(text, at, byte, stack)


def _after(text: bytes, at: int, byte: bytes, stack: list[bytes]) -> tuple[int, int]:
    inside = stack[-1]
    if byte == b",":
        return at + 1, KEY if inside == b"{" else VALUE
    if byte == (b"}" if inside == b"{" else b"]"):
        stack.pop()
        return at + 1, AFTER
    raise _JsonSyntaxError(
        _invalid(text, at, "after object key:value pair" if inside == b"{" else "after array element")
    )


def _key(text: bytes, at: int, byte: bytes, state: int, stack: list[bytes]) -> tuple[int, int]:
    if byte == b"}" and state == FIRST_KEY:
        stack.pop()
        return at + 1, AFTER
    if byte != b'"':
        raise _JsonSyntaxError(_invalid(text, at, "looking for beginning of object key string"))
    return _string(text, at + 1), COLON


def _value(text: bytes, at: int, byte: bytes, stack: list[bytes]) -> tuple[int, int]:
    if byte in (b"{", b"["):
        if len(stack) == DEEPEST:
            raise _JsonSyntaxError(_invalid(text, at, "exceeded max depth"))
        stack.append(byte)
        return at + 1, FIRST_KEY if byte == b"{" else FIRST_ELEMENT
    if byte == b'"':
        return _string(text, at + 1), AFTER
    if byte in _LITERALS:
        return _literal(text, at, _LITERALS[byte]), AFTER
    if byte in b"-0123456789":
        return _number(text, at), AFTER
    raise _JsonSyntaxError(_invalid(text, at, "looking for beginning of value"))


def _string(text: bytes, at: int) -> int:
    match = _STRING.match(text, at)
    end = match.end() if match else at
    byte = text[end : end + 1]
    if byte == b'"':
        return end + 1
    if byte == b"\\":
        raise _JsonSyntaxError(_escape(text, end + 1))
    if end >= len(text):
        raise _JsonSyntaxError(END)
    raise _JsonSyntaxError(_invalid(text, end, "in string literal"))


def _escape(text: bytes, at: int) -> str:
    if text[at : at + 1] != b"u":
        return _invalid(text, at, "in string escape code")
    for place in range(at + 1, at + 5):
        if text[place : place + 1] not in tuple(bytes([digit]) for digit in b"0123456789abcdefABCDEF"):
            return _invalid(text, place, "in \\u hexadecimal character escape")
    return END


def _literal(text: bytes, at: int, literal: bytes) -> int:
    for offset, letter in enumerate(literal):
        if text[at + offset : at + offset + 1] != bytes([letter]):
            raise _JsonSyntaxError(
                _invalid(text, at + offset, f"in literal {literal.decode()} (expecting '{chr(letter)}')")
            )
    return at + len(literal)


def _number(text: bytes, at: int) -> int:
    match = _NUMBER.match(text, at)
    if match is None:
        raise _JsonSyntaxError(_invalid(text, at + 1, "in numeric literal"))
    end = match.end()
    byte = text[end : end + 1]
    whole = text[at:end]
    if byte == b"." and b"." not in whole and b"e" not in whole.lower():
        raise _JsonSyntaxError(_invalid(text, end + 1, "after decimal point in numeric literal"))
    if byte in (b"e", b"E") and b"e" not in whole.lower():
        signed = text[end + 1 : end + 2] in (b"+", b"-")
        raise _JsonSyntaxError(_invalid(text, end + 1 + signed, "in exponent of numeric literal"))
    return end


def _skip(text: bytes, at: int) -> int:
    while text[at : at + 1] and text[at] in _BLANK:
        at += 1
    return at


def _invalid(text: bytes, at: int, context: str) -> str:
    if at >= len(text):
        return END
    return f"invalid character {_quoted(chr(text[at]))} {context}"


def _quoted(character: str) -> str:
    if character in _SHORT:
        return f"'{_SHORT[character]}'"
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return f"'\\x{code:02x}'"
    if 0x80 <= code <= 0xA0 or code == 0xAD:
        return f"'\\u{code:04x}'"
    return f"'{character}'"
