"""Semantic versions, as FAS's library reads them: a leading ``v`` and missing numbers are allowed."""

from __future__ import annotations

import re

_NUMBER = "(0|[1-9][0-9]*)"
_WORD = "(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION = re.compile(
    rf"v?{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?(?:-({_WORD}(?:\.{_WORD})*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?"
)
INVALID = "Invalid Semantic Version"
MAX_LENGTH = 256
_Word = tuple[int, int, str]
Order = tuple[int, int, int, int, tuple[_Word, ...]]


def canonical(text: str) -> str:
    """The version with all its numbers and without ``v``. Raises ``ValueError``."""
    major, minor, patch, prerelease, build = _parts(text)
    number = f"{int(major)}.{int(minor or 0)}.{int(patch or 0)}"
    return number + (f"-{prerelease}" if prerelease else "") + (f"+{build}" if build else "")


def order(text: str) -> Order:
    """A key for sorting: a pre-release comes before its release, and in it numbers come before words."""
    major, minor, patch, prerelease, _ = _parts(text)
    words = (
        tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in prerelease.split("."))
        if prerelease
        else ()
    )
    return int(major), int(minor or 0), int(patch or 0), 0 if prerelease else 1, words


def _parts(text: str) -> tuple[str, str, str, str, str]:
    match = _VERSION.fullmatch(text) if len(text) <= MAX_LENGTH and text.isascii() else None
    if match is None:
        raise ValueError(INVALID)
    major, minor, patch, prerelease, build = match.groups(default="")
    return major, minor, patch, prerelease, build
