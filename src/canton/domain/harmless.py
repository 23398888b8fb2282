"""Text from elsewhere, made fit for a terminal.

A tenant's description could hold an escape sequence that moves the cursor, or a mark that turns the direction of
writing, and so show an operator something that is not there.
"""

from __future__ import annotations

import re

# C0 but for tab and newline, DEL, C1, line and paragraph separators, marks and overrides of direction, the BOM.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_WHITE = re.compile(r"\s+")


def harmless(text: str) -> str:
    """The text with whatever a terminal would act on written out as ``\\x1b``."""
    return _UNSAFE.sub(_written, text)


def one_line(text: str) -> str:
    """The same, on one line: a cell of a table."""
    return harmless(_WHITE.sub(" ", text) if "\n" in text or "\t" in text else text)


def json_escaped(text: str) -> str:
    """JSON text with the same characters escaped in JSON's own way, so that it means the same."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def is_harmless(text: str) -> bool:
    return _UNSAFE.search(text) is None


def _written(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"
