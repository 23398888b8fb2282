"""Regular expressions for grep, sed and awk that run in time linear in the text.

Python's ``re`` backtracks: ``(a*)*b`` can take exponential time. This module simulates a nondeterministic automaton
(NFA) and caches the transitions between its sets of states.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Union

from csm_emulator.shell.budget import Budget
from csm_emulator.shell.process import UsageProblem

LONGEST_PATTERN = 200
TICKS_PER_CHARACTER = 6
"""The ticks of matching one character of the text."""
_MAX_STATES, _MAX_CACHED_TRANSITIONS = 2000, 500
_MAX_REPEATS, _MAX_GROUP_DEPTH = 20, 10
CharacterTest = Callable[[str], bool]
_CLASSES: dict[str, CharacterTest] = {
    "alpha": str.isalpha,
    "digit": str.isdecimal,
    "alnum": str.isalnum,
    "space": str.isspace,
    "upper": str.isupper,
    "lower": str.islower,
    "punct": lambda char: char.isprintable() and not char.isalnum() and not char.isspace(),
}
_SHORTHANDS: dict[str, CharacterTest] = {
    "w": lambda char: char.isalnum() or char == "_",
    "s": str.isspace,
    "d": str.isdecimal,
}
_SPECIAL = re.compile(r"[\\.*+?\[\](){}|^$]")


@dataclass(slots=True)
class _State:
    """A state of the automaton.

    It consumes a character that ``accepts`` matches, or moves to the states in ``epsilon`` without one.
    """

    accepts: CharacterTest | None = None
    next_state: int = -1
    epsilon: list[int] = field(default_factory=list)
    anchor: str = ""
    """``^`` or ``$``: the moves without a character are possible only at the beginning or the end of the line."""


class Pattern:
    """A compiled regular expression.

    ``extended`` selects the syntax of ``grep -E``. Raises ``UsageProblem`` when the expression is invalid or too large.
    """

    def __init__(self, text: str, budget: Budget, *, extended: bool, ignore_case: bool = False) -> None:
        if len(text) > LONGEST_PATTERN:
            raise UsageProblem(f"a pattern of more than {LONGEST_PATTERN} characters is not supported by this shell")
        self._budget = budget
        self._ignore_case = ignore_case
        text = text.lower() if ignore_case else text
        self._literal = None if _SPECIAL.search(text) else text
        self._states: list[_State] = []
        self._final = self.add(_State())
        self._start = _Compiler(text, self, extended=extended).compile(self._final)
        self._search_start = self.add(_State(lambda _: True, len(self._states), [self._start]))
        """Accepts every character and stays active, so that a match can start anywhere."""
        budget.spend(10 * len(self._states))
        self._transitions: dict[tuple[frozenset[int], str], frozenset[int]] = {}

    def add(self, state: _State) -> int:
        """Add a state and return its number; raises ``UsageProblem`` when there are too many."""
        if len(self._states) >= _MAX_STATES:
            raise UsageProblem("the pattern is not supported by this shell")
        self._states.append(state)
        return len(self._states) - 1

    def matches(self, line: str) -> bool:
        text = line.lower() if self._ignore_case else line
        if self._literal is not None:
            return self._literal in self._budget.handle(text)
        states = self._epsilon_closure({self._search_start}, at_start=True, at_end=not text)
        for number, char in enumerate(text, 1):
            if self._final in states:
                return True
            self._budget.spend(TICKS_PER_CHARACTER)
            states = self._step(states, char, at_end=number == len(text))
        return self._final in states

    def search(self, line: str, start: int = 0) -> tuple[int, int] | None:
        """The start and end of the first match, which is the longest that starts there; None without a match."""
        text = line.lower() if self._ignore_case else line
        if self._literal is not None:
            index = self._budget.handle(text).find(self._literal, start)
            return None if index < 0 else (index, index + len(self._literal))
        if not self.matches(line):
            return None
        for begin in range(start, len(text) + 1):
            end = self._longest_end(text, begin)
            if end >= 0:
                return begin, end
        return None

    def _longest_end(self, text: str, begin: int) -> int:
        """The end of the longest match that begins at this index; -1 without one."""
        states = self._epsilon_closure({self._start}, at_start=begin == 0, at_end=begin == len(text))
        end = begin if self._final in states else -1
        for index in range(begin, len(text)):
            self._budget.spend(TICKS_PER_CHARACTER)
            states = self._step(states, text[index], at_end=index + 1 == len(text))
            if not states:
                break
            if self._final in states:
                end = index + 1
        self._budget.spend(5)
        return end

    def _step(self, states: frozenset[int], char: str, *, at_end: bool) -> frozenset[int]:
        key = (states, char + "$" if at_end else char)
        if key not in self._transitions:
            self._budget.spend(10 * len(states))
            if len(self._transitions) >= _MAX_CACHED_TRANSITIONS:
                self._transitions.clear()
            reached = {
                self._states[number].next_state
                for number in states
                if (accepts := self._states[number].accepts) and accepts(char)
            }
            self._transitions[key] = self._epsilon_closure(reached, at_start=False, at_end=at_end)
        return self._transitions[key]

    def _epsilon_closure(self, states: set[int], *, at_start: bool, at_end: bool) -> frozenset[int]:
        """The epsilon closure: these states and all that are reachable without consuming a character."""
        pending, reached = list(states), set(states)
        while pending:
            state = self._states[pending.pop()]
            if (state.anchor == "^" and not at_start) or (state.anchor == "$" and not at_end):
                continue
            new = [number for number in state.epsilon if number not in reached]
            reached.update(new)
            pending += new
        return frozenset(reached)


Part = Union[CharacterTest, str, "Choice"]
"""A test of one character, an anchor, or a group."""
Branch = list[tuple[Part, int, int | None]]
"""Parts, each with the minimum and the maximum number of repetitions; None means no maximum."""
Choice = list[Branch]


class _Compiler:
    """Parses an expression and adds its states, from the last part to the first."""

    def __init__(self, text: str, pattern: Pattern, *, extended: bool) -> None:
        self._text = text
        self._pattern = pattern
        self._extended = extended
        self._index = 0
        self._depth = 0

    def compile(self, following: int) -> int:
        first = self._add_choice(self._parse_choice(), following)
        if self._index < len(self._text):
            raise UsageProblem("Unmatched ) or \\)")
        return first

    def _take_operator(self, char: str) -> bool:
        """Consume this operator, written ``(`` or ``\\(`` according to the syntax; False if it does not follow."""
        token = char if self._extended else f"\\{char}"
        if not self._text.startswith(token, self._index):
            return False
        self._index += len(token)
        return True

    def _parse_choice(self) -> Choice:
        self._depth += 1
        if self._depth > _MAX_GROUP_DEPTH:
            raise UsageProblem(f"more than {_MAX_GROUP_DEPTH} nested groups are not supported by this shell")
        branches = [self._parse_branch()]
        while self._take_operator("|"):
            branches.append(self._parse_branch())
        self._depth -= 1
        return branches

    def _parse_branch(self) -> Branch:
        """Parse parts up to the end of the branch."""
        parts: Branch = []
        while self._index < len(self._text) and not self._at_branch_end():
            part = self._parse_part(first=not parts)
            parts.append((part, *self._parse_repeats()))
        return parts

    def _at_branch_end(self) -> bool:
        operators = ("|", ")") if self._extended else ("\\|", "\\)")
        return self._text.startswith(operators, self._index)

    def _parse_part(self, *, first: bool) -> Part:
        if self._take_operator("("):
            inner = self._parse_choice()
            if not self._take_operator(")"):
                raise UsageProblem("Unmatched ( or \\(")
            return inner
        char = self._text[self._index]
        self._index += 1
        if char == "^" and (first or self._extended):
            return "^"
        if char == "$" and (self._extended or self._index == len(self._text) or self._at_branch_end()):
            return "$"
        if char == "[":
            return self._parse_set()
        if char == "\\" and self._index < len(self._text):
            return self._parse_escaped()
        return (lambda _: True) if char == "." else char.__eq__

    def _parse_escaped(self) -> CharacterTest:
        char = self._text[self._index]
        self._index += 1
        char_class = _SHORTHANDS.get(char.lower())
        if char_class is None:
            return char.__eq__
        return char_class if char.islower() else (lambda candidate: not char_class(candidate))

    def _parse_repeats(self) -> tuple[int, int | None]:
        minimum, maximum = 1, 1
        bounds: tuple[int, int | None] = (minimum, maximum)
        while self._index < len(self._text):
            if self._text[self._index] == "*":
                self._index += 1
                bounds = (0, None)
            elif self._take_operator("+"):
                bounds = (bounds[0], None)
            elif self._take_operator("?"):
                bounds = (0, bounds[1])
            elif self._take_operator("{"):
                bounds = self._parse_bounds()
            else:
                break
        return bounds

    def _parse_bounds(self) -> tuple[int, int | None]:
        match = re.compile(r"([0-9]{1,2})(,?)([0-9]{0,2})").match(self._text, self._index)
        if match is None:
            raise UsageProblem("Invalid content of \\{\\}")
        self._index = match.end()
        maximum = int(match[3]) if match[3] else None if match[2] else int(match[1])
        if not self._take_operator("}") or max(int(match[1]), maximum or 0) > _MAX_REPEATS:
            raise UsageProblem("Invalid content of \\{\\}")
        return int(match[1]), maximum

    def _parse_set(self) -> CharacterTest:
        end = self._text.find("]", self._index + 2 if self._text.startswith("^]", self._index) else self._index + 1)
        while end >= 0 and "[:" in self._text[self._index : end] and self._text[end - 1] == ":":
            end = self._text.find("]", end + 1)
            if end < 0 or self._text[end - 1] != ":":
                break
        if end < 0:
            raise UsageProblem("Unmatched [, [^, [:, [., or [=")
        inner, self._index = self._text[self._index : end], end + 1
        negated = inner.startswith("^")
        return _bracket_test(inner[negated:], negated=negated)

    def _add_choice(self, branches: Choice, following: int) -> int:
        starts = [self._add_branch(parts, following) for parts in branches]
        return starts[0] if len(starts) == 1 else self._pattern.add(_State(epsilon=starts))

    def _add_branch(self, parts: Branch, following: int) -> int:
        for part, minimum, maximum in reversed(parts):
            following = self._add_repeated(part, minimum, maximum, following)
        return following

    def _add_repeated(self, part: Part, minimum: int, maximum: int | None, following: int) -> int:
        if maximum is None:
            state = _State()
            loop = self._pattern.add(state)
            state.epsilon = [self._add_once(part, loop), following]
            following = loop
        else:
            for _ in range(maximum - minimum):
                following = self._pattern.add(_State(epsilon=[self._add_once(part, following), following]))
        for _ in range(minimum):
            following = self._add_once(part, following)
        return following

    def _add_once(self, part: Part, following: int) -> int:
        if isinstance(part, list):
            return self._add_choice(part, following)
        if isinstance(part, str):
            return self._pattern.add(_State(epsilon=[following], anchor=part))
        return self._pattern.add(_State(accepts=part, next_state=following))


def _bracket_test(inner: str, *, negated: bool) -> CharacterTest:
    classes = [_CLASSES[name] for name in re.findall(r"\[:([a-z]+):\]", inner) if name in _CLASSES]
    inner = re.sub(r"\[:[a-z]+:\]", "", inner)
    ranges = re.findall(r"(.)-(.)", inner, re.DOTALL)
    singles = set(re.sub(r"(.)-(.)", "", inner, flags=re.DOTALL))

    def accepts(char: str) -> bool:
        inside = (
            char in singles
            or any(low <= char <= high for low, high in ranges)
            or any(is_member(char) for is_member in classes)
        )
        return inside != negated

    return accepts
