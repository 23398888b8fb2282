"""SQL's patterns, of which SMD passes on what a caller writes: ``%`` is any text, ``_`` any sign."""

from __future__ import annotations

import re
from fnmatch import translate

_AS_GLOB = str.maketrans({"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"})


def is_pattern(text: str) -> bool:
    return "%" in text or "_" in text


def like(text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """For ``fullmatch``. By way of the shell's patterns, which Python reads without going back and forth."""
    return re.compile(translate(text.translate(_AS_GLOB)), flags)
