"""Finds the mistakes in a text that is not an xname, and corrects them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from canton.domain.xname.types import BLANKS, BY_LETTERS, LONGEST, Shape, span

_PART = re.compile("(all_comp|all_svc|all|sms|[a-z.]?)([0-9]*)")
# str.lower() turns the Kelvin sign into the letter k, and can change the length of a text.
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake: its position, a description, and the text with this mistake corrected."""

    index: int
    problem: str
    repaired: str


def first_mistake(text: str) -> Mistake:
    """The leftmost mistake in a text that is not an xname. A text that is too long is not read at all."""
    if len(text) > LONGEST:
        # Half the length leaves room for the numbers that further repairs add.
        return Mistake(LONGEST, f"{len(text)} characters are more than {LONGEST}", text[: LONGEST // 2])
    start = len(text) - len(text.lstrip(BLANKS))
    end = start + len(text.strip(BLANKS))
    letters: tuple[str, ...] = ()
    for part in _PART.finditer(text.translate(_ASCII_LOWER), start, end):
        if letters and part.start() == end:
            break
        mistake = _wrong_letter(part, letters) or _wrong_number(part, BY_LETTERS[(*letters, part[1])])
        if mistake:
            return mistake
        letters = (*letters, part[1])
    raise ValueError(f"{text!r} is an xname: it has no mistake to find")


def _wrong_letter(part: re.Match[str], letters: tuple[str, ...]) -> Mistake | None:
    if (*letters, part[1]) in BY_LETTERS:
        return None
    text, depth = part.string, len(letters)
    valid = sorted(path[-1] for path in BY_LETTERS if len(path) == depth + 1 and path[:depth] == letters)
    letter, choices = json.dumps(text[part.start() : part.start() + 1]), ", ".join(valid) or "none"
    if letters:
        problem = f"{BY_LETTERS[letters].type} has no part {letter} (it has {choices})"
        return Mistake(part.start(), problem, text[: part.start()])
    if part.start() == part.endpos:
        return Mistake(part.start(), "it is empty", "x0")
    # Most xnames lie in a cabinet: keep the number and what follows it, if there is one.
    guess = f"x{part[2]}{text[part.end() :]}" if part[2] else "x0"
    return Mistake(part.start(), f"no xname begins with {letter} (they begin with {choices})", guess)


def _wrong_number(part: re.Match[str], shape: Shape) -> Mistake | None:
    text, (letter, digits), name = part.string, part.groups(), f"{shape.type} {part[1]}"
    if not shape.bounds:
        return Mistake(part.end(1), f"{name} takes no number", letter) if digits else None
    low, high = shape.bounds[-1]
    prefix, suffix = text[: part.start(2)], text[part.end() :]
    if not digits:
        return Mistake(part.end(), f"{name} needs a number {span(low, high)}", f"{prefix}{low}{suffix}")
    nearest = min(max(low, int(digits)), high)
    if nearest == int(digits):
        return None
    problem = f"{shape.type} {part[0]} is out of range {span(low, high)}"
    return Mistake(part.start(), problem, f"{prefix}{nearest}{suffix}")
