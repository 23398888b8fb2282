"""Parses the arguments of a shell, and the options that ``set`` changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from csm_emulator.shell.expansion import ERREXIT, LETTERS, NOUNSET, PIPEFAIL, XTRACE
from csm_emulator.shell.process import UsageProblem

NAMES = (ERREXIT, NOUNSET, PIPEFAIL, XTRACE)
_AT_START = "csil"
"""-c and -s, and the ignored -i and -l: this shell reads no profile files."""
_LONG = ("--login", "--norc", "--noprofile")
"""Options of bash that are ignored for the same reason."""


@dataclass(slots=True)
class Invocation:
    """``sh -c SCRIPT [NAME ARGUMENT…]``, ``sh FILE [ARGUMENT…]``, or ``sh [-s ARGUMENT…]`` with a script as input."""

    name: str
    """The value of ``$0``."""
    script: str | None = None
    file: str | None = None
    arguments: list[str] = field(default_factory=list)
    options: set[str] = field(default_factory=set)


def read_arguments(argv: Sequence[str]) -> Invocation:
    """Parse the arguments of a shell; raises ``UsageProblem`` for an unsupported option."""
    options, letters, operands = change_options(set(), argv[1:], _AT_START, _LONG)
    if "c" in letters:
        if not operands:
            raise UsageProblem("-c: option requires an argument")
        script, *operands = operands
        return Invocation(operands[0] if operands else argv[0], script, arguments=operands[1:], options=options)
    if "s" in letters or not operands:
        return Invocation(argv[0], arguments=operands, options=options)
    return Invocation(operands[0], file=operands[0], arguments=operands[1:], options=options)


def change_options(
    options: set[str], words: Sequence[str], more: str = "", long: Sequence[str] = ()
) -> tuple[set[str], set[str], list[str]]:
    """The options after these words, the letters from ``more`` that the words contain, and the operands.

    Raises ``UsageProblem`` for an unknown option.
    """
    changed, letters, remaining = set(options), set[str](), list(words)
    while remaining and remaining[0][:1] in ("-", "+") and remaining[0] not in ("-", "+"):
        word = remaining.pop(0)
        if word == "--":
            break
        if word in long:
            continue
        for letter in word[1:]:
            if letter in more and word[0] == "-":
                letters.add(letter)
                continue
            name = _long_name(remaining) if letter == "o" else LETTERS.get(letter)
            if name is None:
                raise UsageProblem(f"{word if word.startswith('--') else word[0] + letter}: invalid option")
            changed = changed | {name} if word[0] == "-" else changed - {name}
    return changed, letters, remaining


def _long_name(remaining: list[str]) -> str:
    if not remaining:
        raise UsageProblem("-o: option requires an argument")
    name = remaining.pop(0)
    if name not in NAMES:
        raise UsageProblem(f"{name}: invalid option name")
    return name
