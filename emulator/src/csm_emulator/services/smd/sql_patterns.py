"""SQL patterns, which SMD takes from the caller as they are: ``%`` matches any text, ``_`` any character."""

from __future__ import annotations

import re
from fnmatch import translate

_AS_GLOB = str.maketrans({"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"})


def is_pattern(text: str) -> bool:
    return "%" in text or "_" in text


def like(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """A regular expression to use with ``fullmatch``; translated from a shell pattern, which does not backtrack."""
    return re.compile(translate(text.translate(_AS_GLOB)), flags)
