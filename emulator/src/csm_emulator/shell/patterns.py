"""Regular expressions of grep, sed and awk, in time that grows with the text only.

Python's ``re`` tries one way after the other, and a pattern such as ``(a*)*b`` keeps it busy for ever. Here all ways
are gone at once: sets of places in the pattern, each computed once and kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Union

from csm_emulator.shell.budget import Budget
from csm_emulator.shell.process import UsageProblem

LONGEST_PATTERN = 200
SIGN = 6
"""Ticks for one sign of the text."""
_MOST_PLACES, _MOST_KEPT = 2000, 500
_MOST_REPEATS, _MOST_GROUPS = 20, 10
Fits = Callable[[str], bool]
_CLASSES: dict[str, Fits] = {
    "alpha": str.isalpha,
    "digit": str.isdecimal,
    "alnum": str.isalnum,
    "space": str.isspace,
    "upper": str.isupper,
    "lower": str.islower,
    "punct": lambda sign: sign.isprintable() and not sign.isalnum() and not sign.isspace(),
}
_SHORT: dict[str, Fits] = {"w": lambda sign: sign.isalnum() or sign == "_", "s": str.isspace, "d": str.isdecimal}
_SPECIAL = re.compile(r"[\\.*+?\[\](){}|^$]")


@dataclass(slots=True)
class _Place:
    """Where a match can be: it goes on by a sign that fits, or without one to the places of ``free``."""

    fits: Fits | None = None
    next_place: int = -1
    free: list[int] = field(default_factory=list)
    anchor: str = ""
    """``^`` or ``$``: the free way is open at the beginning or the end of the line only."""


class Pattern:
    """``extended`` as with ``grep -E``; raises ``UsageProblem`` when it is none."""

    def __init__(self, text: str, budget: Budget, *, extended: bool, ignore_case: bool = False) -> None:
        if len(text) > LONGEST_PATTERN:
            raise UsageProblem(f"a pattern of more than {LONGEST_PATTERN} characters is more than this shell can do")
        self._budget = budget
        self._ignore_case = ignore_case
        text = text.lower() if ignore_case else text
        self._plain = None if _SPECIAL.search(text) else text
        self._places: list[_Place] = []
        self._last = self.add(_Place())
        self._first = _Reader(text, self, extended=extended).read(self._last)
        self._anywhere = self.add(_Place(lambda _: True, len(self._places), [self._first]))
        """Stays where it is, whatever comes, and is also at the beginning of the pattern."""
        budget.spend(10 * len(self._places))
        self._ways: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def add(self, place: _Place) -> int:
        """Raises ``UsageProblem`` when there are too many."""
        if len(self._places) >= _MOST_PLACES:
            raise UsageProblem("the pattern is more than this shell can do")
        self._places.append(place)
        return len(self._places) - 1

    def matches(self, line: str) -> bool:
        text = line.lower() if self._ignore_case else line
        if self._plain is not None:
            return self._plain in self._budget.handle(text)
        places = self._open({self._anywhere}, at_start=True, at_end=not text)
        for number, sign in enumerate(text, 1):
            if self._last in places:
                return True
            self._budget.spend(SIGN)
            places = self._step(places, sign, at_end=number == len(text))
        return self._last in places

    def search(self, line: str, start: int = 0) -> tuple[int, int] | None:
        """Where the first and longest match begins and ends."""
        text = line.lower() if self._ignore_case else line
        if self._plain is not None:
            place = self._budget.handle(text).find(self._plain, start)
            return None if place < 0 else (place, place + len(self._plain))
        if not self.matches(line):
            return None
        for begin in range(start, len(text) + 1):
            end = self._match(text, begin)
            if end >= 0:
                return begin, end
        return None

    def _match(self, text: str, begin: int) -> int:
        """Where the longest match ends that begins here; -1 without one."""
        places = self._open({self._first}, at_start=begin == 0, at_end=begin == len(text))
        end = begin if self._last in places else -1
        for place in range(begin, len(text)):
            self._budget.spend(SIGN)
            places = self._step(places, text[place], at_end=place + 1 == len(text))
            if not places:
                break
            if self._last in places:
                end = place + 1
        self._budget.spend(5)
        return end

    def _step(self, places: frozenset[int], sign: str, *, at_end: bool) -> frozenset[int]:
        key = (places, sign + "$" if at_end else sign)
        if key not in self._ways:
            self._budget.spend(10 * len(places))
            if len(self._ways) >= _MOST_KEPT:
                self._ways.clear()
            reached = {
                self._places[one].next_place for one in places if (fits := self._places[one].fits) and fits(sign)
            }
            self._ways[key] = self._open(reached, at_start=False, at_end=at_end)
        return self._ways[key]

    def _open(self, places: set[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        """With all that is reached from there without a sign."""
        waiting, reached = list(places), set(places)
        while waiting:
            place = self._places[waiting.pop()]
            if (place.anchor == "^" and not at_start) or (place.anchor == "$" and not at_end):
                continue
            new = [one for one in place.free if one not in reached]
            reached.update(new)
            waiting += new
        return frozenset(reached)


Part = Union[Fits, str, "Choice"]
"""What fits one sign, an anchor, or a group."""
Branch = list[tuple[Part, int, int | None]]
"""Parts, and how often each may stand there at least and at most."""
Choice = list[Branch]


class _Reader:
    """Builds the places from the end of the pattern's parts to their beginning."""

    def __init__(self, text: str, pattern: Pattern, *, extended: bool) -> None:
        self._text = text
        self._pattern = pattern
        self._extended = extended
        self._at = 0
        self._depth = 0

    def read(self, last: int) -> int:
        first = self._choice(self._parse_choice(), last)
        if self._at < len(self._text):
            raise UsageProblem("Unmatched ) or \\)")
        return first

    def _mark(self, sign: str) -> bool:
        """Whether this mark, ``(`` or ``\\(`` as the syntax has it, stands here; it is taken."""
        token = sign if self._extended else f"\\{sign}"
        if not self._text.startswith(token, self._at):
            return False
        self._at += len(token)
        return True

    def _parse_choice(self) -> Choice:
        self._depth += 1
        if self._depth > _MOST_GROUPS:
            raise UsageProblem(f"more than {_MOST_GROUPS} groups in one another are more than this shell can do")
        branches = [self._parse_branch()]
        while self._mark("|"):
            branches.append(self._parse_branch())
        self._depth -= 1
        return branches

    def _parse_branch(self) -> Branch:
        """Parts with how often each may stand there."""
        parts: Branch = []
        while self._at < len(self._text) and not self._ends():
            part = self._parse_part(first=not parts)
            parts.append((part, *self._parse_repeats()))
        return parts

    def _ends(self) -> bool:
        marks = ("|", ")") if self._extended else ("\\|", "\\)")
        return self._text.startswith(marks, self._at)

    def _parse_part(self, *, first: bool) -> Part:
        if self._mark("("):
            inner = self._parse_choice()
            if not self._mark(")"):
                raise UsageProblem("Unmatched ( or \\(")
            return inner
        sign = self._text[self._at]
        self._at += 1
        if sign == "^" and (first or self._extended):
            return "^"
        if sign == "$" and (self._extended or self._at == len(self._text) or self._ends()):
            return "$"
        if sign == "[":
            return self._parse_set()
        if sign == "\\" and self._at < len(self._text):
            return self._parse_escaped()
        return (lambda _: True) if sign == "." else sign.__eq__

    def _parse_escaped(self) -> Fits:
        sign = self._text[self._at]
        self._at += 1
        sign_class = _SHORT.get(sign.lower())
        if sign_class is None:
            return sign.__eq__
        return sign_class if sign.islower() else (lambda one: not sign_class(one))

    def _parse_repeats(self) -> tuple[int, int | None]:
        least, most = 1, 1
        bounds: tuple[int, int | None] = (least, most)
        while self._at < len(self._text):
            if self._text[self._at] == "*":
                self._at += 1
                bounds = (0, None)
            elif self._mark("+"):
                bounds = (bounds[0], None)
            elif self._mark("?"):
                bounds = (0, bounds[1])
            elif self._mark("{"):
                bounds = self._parse_bounds()
            else:
                break
        return bounds

    def _parse_bounds(self) -> tuple[int, int | None]:
        match = re.compile(r"([0-9]{1,2})(,?)([0-9]{0,2})").match(self._text, self._at)
        if match is None:
            raise UsageProblem("Invalid content of \\{\\}")
        self._at = match.end()
        most = int(match[3]) if match[3] else None if match[2] else int(match[1])
        if not self._mark("}") or max(int(match[1]), most or 0) > _MOST_REPEATS:
            raise UsageProblem("Invalid content of \\{\\}")
        return int(match[1]), most

    def _parse_set(self) -> Fits:
        end = self._text.find("]", self._at + 2 if self._text.startswith("^]", self._at) else self._at + 1)
        while end >= 0 and "[:" in self._text[self._at : end] and self._text[end - 1] == ":":
            end = self._text.find("]", end + 1)
            if end < 0 or self._text[end - 1] != ":":
                break
        if end < 0:
            raise UsageProblem("Unmatched [, [^, [:, [., or [=")
        inner, self._at = self._text[self._at : end], end + 1
        negated = inner.startswith("^")
        return _set(inner[negated:], negated=negated)

    def _choice(self, branches: Choice, last: int) -> int:
        firsts = [self._branch(parts, last) for parts in branches]
        return firsts[0] if len(firsts) == 1 else self._pattern.add(_Place(free=firsts))

    def _branch(self, parts: Branch, last: int) -> int:
        for part, least, most in reversed(parts):
            last = self._repeated(part, least, most, last)
        return last

    def _repeated(self, part: Part, least: int, most: int | None, last: int) -> int:
        if most is None:
            place = _Place()
            loop = self._pattern.add(place)
            place.free = [self._once(part, loop), last]
            last = loop
        else:
            for _ in range(most - least):
                last = self._pattern.add(_Place(free=[self._once(part, last), last]))
        for _ in range(least):
            last = self._once(part, last)
        return last

    def _once(self, part: Part, last: int) -> int:
        if isinstance(part, list):
            return self._choice(part, last)
        if isinstance(part, str):
            return self._pattern.add(_Place(free=[last], anchor=part))
        return self._pattern.add(_Place(fits=part, next_place=last))


def _set(inner: str, *, negated: bool) -> Fits:
    classes = [_CLASSES[name] for name in re.findall(r"\[:([a-z]+):\]", inner) if name in _CLASSES]
    inner = re.sub(r"\[:[a-z]+:\]", "", inner)
    ranges = re.findall(r"(.)-(.)", inner, re.DOTALL)
    singles = set(re.sub(r"(.)-(.)", "", inner, flags=re.DOTALL))

    def fits(sign: str) -> bool:
        inside = (
            sign in singles or any(low <= sign <= high for low, high in ranges) or any(one(sign) for one in classes)
        )
        return inside != negated

    return fits
