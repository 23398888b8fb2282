r"""From text to names: the grammar of nodesets, its limits and its error messages.

    nodeset  = [ operand *( operator operand ) ]     read from left to right, without precedence
    operator = "," union | "!" difference | "&" intersection | "^" symmetric difference | blanks: union
    operand  = names | "@" group
    names    = 1*( letter | digit | "-" | "_" | "." | ":" | "[" range *( "," range ) "]" )
    range    = number [ "-" number [ "/" step ] ]

It is ClusterShell's grammar, stricter where that guesses: a name starts with a letter or a digit, numbers have
ASCII digits only, and a range of mixed widths must not follow a digit (``x1[8-11]``: up to ``x111``, or ``x18``,
``x19``, ``x110``, ``x111``?). A text that would give too many names is refused by arithmetic, before any name is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import NamedTuple, TypeAlias

from canton.domain.errors import InvalidNodeset, NodesetTooLarge

Resolve: TypeAlias = Callable[[str], Iterable[str]]
Pattern: TypeAlias = "Sequence[str | Sequence[Span]]"

# The longest host name that DNS carries, as text (RFC 1035, section 2.3.4). It bounds a number's digits too.
LONGEST_NAME = 253
LONGEST_TEXT = 2**20

_BLANKS = "[ \t\r\n]*+"
_WORD = "[A-Za-z0-9][A-Za-z0-9_.:-]*+"
_NAMES = r"(?:[A-Za-z0-9]|\[[^][]*+\])(?:[A-Za-z0-9_.:-]++|\[[^][]*+\])*+"
_GROUP = f"@{_WORD}(?:/{_WORD})?+"
_NUMBER = f"{_BLANKS}([0-9]++){_BLANKS}"

is_name = re.compile(f"[A-Za-z0-9][A-Za-z0-9_.:-]{{0,{LONGEST_NAME - 1}}}").fullmatch
_match_term = re.compile(rf"{_BLANKS}([,!&^]?+){_BLANKS}({_NAMES}|{_GROUP})(?=[ \t\r\n,!&^]|\Z)").match
_match_range = re.compile(f"{_NUMBER}(?:-{_NUMBER}(?:/{_NUMBER})?+)?+").fullmatch
_split_brackets = re.compile(r"\[([^]]*)\]").split

_OPERATORS: dict[str, Callable[[set[str], Iterable[str]], None]] = {
    ",": set.update,
    "!": set.difference_update,
    "&": set.intersection_update,
    "^": set.symmetric_difference_update,
}
_FILL = "write a name or a group there, or remove the operator"
_FEWER = "name fewer at a time, or raise the limit"
_MISPLACED = {
    "]": ("this bracket closes nothing", 'write "[" before the first number, or remove it'),
    **dict.fromkeys("-_.:", ("a name cannot start like this", "start it with a letter or a digit")),
}


class Span(NamedTuple):
    """Numbers from first to last; ``digits`` is the width of the last, ``padded`` whether all have that width."""

    first: int
    last: int
    step: int
    digits: int
    padded: bool

    def size(self) -> int:
        return (self.last - self.first) // self.step + 1

    def numbers(self) -> Iterator[str]:
        width = self.digits if self.padded else 0
        return (f"{number:0{width}}" for number in range(self.first, self.last + 1, self.step))


class Term(NamedTuple):
    """A group or a pattern of names, and the operator that joins it to what stands before it."""

    operator: str
    at: int
    group: str
    pattern: Pattern

    def size(self) -> int:
        """The number of names in the pattern; 0 for a group, which is counted when it is resolved."""
        if self.group:
            return 0
        return prod(1 if isinstance(piece, str) else sum(map(Span.size, piece)) for piece in self.pattern)

    def names(self) -> list[str]:
        names = [""]
        for piece in self.pattern:
            ends = [piece] if isinstance(piece, str) else [end for span in piece for end in span.numbers()]
            names = [start + end for start in names for end in ends]
        return names


def names_in(text: str, resolve: Resolve | None, limit: int) -> tuple[set[str], int]:
    """The names that the text stands for, and the number of names in it before set operations.

    The limit counts each name as it is written, before set operations: it bounds the work, not only the result.
    """
    terms, total = _counted_terms(text, limit)
    names: set[str] = set()
    for term in terms:
        if term.group:
            operand = list(islice(_members(text, term, resolve), limit - total + 1))
            total += len(operand)
            _check_total(text, term, total, limit)
        else:
            operand = list(term.names())
        _OPERATORS[term.operator](names, operand)
    return names, total


def _members(text: str, term: Term, resolve: Resolve | None) -> Iterable[str]:
    if resolve is None:
        raise _mistake(text, term.at, f"the group @{term.group} cannot be looked up here", "name its nodes instead")
    return resolve(term.group)


def _counted_terms(text: str, limit: int) -> tuple[list[Term], int]:
    """All terms, none of them unfolded yet, and how many names they write."""
    if len(text) > LONGEST_TEXT:
        raise _too_large(text, 0, f"it has {len(text):,} characters", LONGEST_TEXT, "give it in parts")
    entries = text.count(",") + 1
    if entries > limit:  # each entry is at least one name or group, so a long list is refused without parsing it
        raise _too_large(text, 0, f"it lists {entries:,} names", limit, _FEWER)
    terms = []
    total = 0
    for term in _terms(text):
        total += term.size()
        _check_total(text, term, total, limit)
        terms.append(term)
    return terms, total


def _check_total(text: str, term: Term, total: int, limit: int) -> None:
    if total > limit:
        size = f"{total:,}" if total < 10**15 else "10^15"
        raise _too_large(text, term.at, f"up to here it names at least {size} nodes", limit, _FEWER)


def _terms(text: str) -> Iterator[Term]:
    at = 0
    while match := _match_term(text, at):
        operator, operand = match.groups()
        if operator and at == 0:
            raise _mistake(text, match.start(1), f"nothing stands before {operator!r}", _FILL)
        yield _term(text, operator or ",", match.start(2), operand)
        at = match.end()
    if text[at:].strip(" \t\r\n"):
        raise _mistake(text, *_explain(text, at))


def _term(text: str, operator: str, at: int, operand: str) -> Term:
    if operand[0] == "@":
        return Term(operator, at, operand[1:], ())
    return Term(operator, at, "", _pattern(text, at, operand))


def _pattern(text: str, start: int, operand: str) -> Pattern:
    pieces: list[str | Sequence[Span]] = []
    at, length = start, 0
    for index, piece in enumerate(_split_brackets(operand, maxsplit=LONGEST_NAME)):
        if index % 2 == 0:
            pieces.append(piece)
            at += len(piece)
            length += len(piece)
        else:
            after_digit = at > start and text[at - 1] in "0123456789]"
            spans = _spans(text, at + 1, piece, after_digit=after_digit)
            pieces.append(spans)
            at += len(piece) + 2
            length += max(span.digits for span in spans)
    if length > LONGEST_NAME:
        raise _too_large(text, start, f"a name has {length:,} characters", LONGEST_NAME, "shorten it")
    return pieces


def _spans(text: str, at: int, ranges: str, *, after_digit: bool) -> list[Span]:
    spans = []
    for item in ranges.split(","):
        spans.append(_span(text, at, item, after_digit=after_digit))
        at += len(item) + 1
    return spans


def _span(text: str, at: int, item: str, *, after_digit: bool) -> Span:
    match = _match_range(item)
    if not match:
        problem = "this is not a range" if item.strip() else "the range is empty"
        raise _mistake(text, at, problem, "write a number, first-last, or first-last/step")
    first, last, step = match[1], match[2] or match[1], match[3] or "1"
    digits = max(len(first), len(last), len(step))
    if digits > LONGEST_NAME:
        raise _too_large(text, at, f"a number has {digits:,} digits", LONGEST_NAME, "shorten it")
    span = Span(int(first), int(last), int(step), len(last), padded=_padded(first) or _padded(last))
    if len(first) != len(last) and (span.padded or after_digit):
        advice = "pad both to the same width" if span.padded else "write a range for each width"
        raise _mistake(text, at, "the ends of the range have different widths", advice)
    if span.last < span.first:
        raise _mistake(text, at, "the range runs backwards", "write the smaller number first")
    if span.step == 0:
        raise _mistake(text, at, "the step is 0", "write a step of 1 or more")
    return span


def _padded(number: str) -> bool:
    return number[0] == "0" and number != "0"


def _explain(text: str, at: int) -> tuple[int, str, str]:
    """Why no term could be read here: the position, the problem and the advice."""
    at = _skip(_BLANKS, text, at)
    if text[at] in _OPERATORS:
        following = _skip(_BLANKS, text, at + 1)
        if following == len(text) or text[following] in _OPERATORS:
            return at, f"nothing stands after {text[at]!r}", _FILL
        at = following
    at = _skip(f"{_NAMES}|{_GROUP}|", text, at)
    if text[at] == "[":
        return at, *_explain_bracket(text[at + 1 :])
    advice = "use letters, digits and -_.: in names, and @tenant or @tenant/site for the nodes of a tenant"
    return at, *_MISPLACED.get(text[at], (f"the character {text[at]!a} cannot stand here", advice))


def _skip(pattern: str, text: str, at: int) -> int:
    match = re.compile(pattern).match(text, at)
    return match.end() if match else at


def _explain_bracket(following: str) -> tuple[str, str]:
    if re.match(r"[^][]*\]", following):
        return "a group has no ranges", "name each group, with a comma between"
    return "this bracket is not closed", 'write "]" after the last number'


def _mistake(text: str, at: int, problem: str, advice: str) -> InvalidNodeset:
    return InvalidNodeset(f"invalid nodeset: {problem}; {advice}\n{_pointer(text, at)}", position=at)


def _too_large(text: str, at: int, size: str, limit: int, advice: str) -> NodesetTooLarge:
    message = f"the nodeset is too large: {size}, and the limit is {limit:,}; {advice}"
    return NodesetTooLarge(f"{message}\n{_pointer(text, at)}", position=at, limit=limit)


def _pointer(text: str, at: int) -> str:
    """The text around a place with a caret below it, safe to print on a terminal."""
    start = max(0, at - 40)
    excerpt = "".join(c if " " <= c <= "~" else " " if c in "\t\r\n" else "?" for c in text[start : at + 40])
    return f"  {excerpt}\n  {'^':>{at - start + 1}}"
