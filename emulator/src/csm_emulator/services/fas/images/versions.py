"""Semantic versions, as the library of FAS reads them: a ``v`` before, and missing numbers, are no matter."""

from __future__ import annotations

import re

_NUMBER = "(0|[1-9][0-9]*)"
_WORD = "(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"v?{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?(?:-({_WORD}(?:\.{_WORD})*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)
INVALID = "Invalid Semantic Version"
LONGEST = 256
_Word = tuple[int, int, str]
Order = tuple[int, int, int, int, tuple[_Word, ...]]


def canonical(text: str) -> str:
    """Raises ``ValueError``."""
    major, minor, patch, early, build = _parts(text)
    plain = f"{int(major)}.{int(minor or 0)}.{int(patch or 0)}"
    return plain + (f"-{early}" if early else "") + (f"+{build}" if build else "")


def order(text: str) -> Order:
    """For comparing: what comes before a release has words after its number, and numbers come before letters."""
    major, minor, patch, early, _ = _parts(text)
    words = tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in early.split(".")) if early else ()
    return int(major), int(minor or 0), int(patch or 0), 0 if early else 1, words


def _parts(text: str) -> tuple[str, str, str, str, str]:
    found = _VERSION.fullmatch(text) if len(text) <= LONGEST and text.isascii() else None
    if found is None:
        raise ValueError(INVALID)
    major, minor, patch, early, build = found.groups(default="")
    return major, minor, patch, early, build
