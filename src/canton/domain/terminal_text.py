"""Makes text from clients safe to print on a terminal.

A tenant's description could contain an escape sequence that moves the cursor, or a mark that reverses the direction of
writing, and so mislead an operator.
"""

from __future__ import annotations

import re

# By Unicode 16. Categories: Cc but for tab and newline, Cf, Cs, Zl, Zp. Then letters and marks that are
# invisible: the rest of Default_Ignorable_Code_Point (fillers, variation selectors, tags), and blank Braille.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
_FORMATS = (
    "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
)
_INVISIBLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff"
)
_UNSAFE = re.compile(f"[{_CONTROLS}{_FORMATS}{_INVISIBLE}]")
_WHITE = re.compile(r"\s+")


def harmless(text: str) -> str:
    """The text with the characters that a terminal would act on escaped, as in ``\\x1b``."""
    return _UNSAFE.sub(_escape, text)


def one_line(text: str) -> str:
    """The same, on one line: a cell of a table."""
    return harmless(_WHITE.sub(" ", text) if "\n" in text or "\t" in text else text)


def json_escaped(text: str) -> str:
    """JSON text with the same characters escaped in JSON's own way, so that it means the same."""
    return _UNSAFE.sub(lambda match: "".join(f"\\u{unit:04x}" for unit in _utf16(match[0])), text)


def is_blank(text: str) -> bool:
    """A terminal would show nothing of it."""
    return not _UNSAFE.sub("", text).strip()


def is_harmless(text: str) -> bool:
    return _UNSAFE.search(text) is None


def _escape(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _utf16(character: str) -> list[int]:
    """As JSON escapes it: beyond U+FFFF as two surrogates (RFC 8259 §7)."""
    number = ord(character) - 0x10000
    return [ord(character)] if number < 0 else [0xD800 + (number >> 10), 0xDC00 + (number & 0x3FF)]
