"""A line that somebody typed, as commands, what joins them, and the filters behind them.

Everything that this shell cannot do is refused here, before anything of the line runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from canton.emulator.nodes.filters import NotUnderstood, read_filter

Step = tuple[str, list[list[str]]]
"""What joins it to the command before (``;``, ``&&``, ``||``), the words of the command, and those of its filters."""
_JOINTS = (";", "&&", "||")
_REASONS = {">": ": it writes no files", "<": ": it reads no files", "&": ": one thing runs after the other"}
_ENDLESS = "ping"
_TOKEN = re.compile(
    r"""(?P<mark>\|\||&&|;;|>>|<<|[;&|<>()])|(?P<word>(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\;&|<>()])+)|\s+"""
)


def read_line(line: str) -> list[Step]:
    """Raises ``NotUnderstood``."""
    steps: list[Step] = [("", [[]])]
    for mark, word in _tokens(line):
        if word is not None:
            steps[-1][1][-1].append(word)
        elif mark == "|":
            steps[-1][1].append([])
        elif mark in _JOINTS:
            steps.append((mark, [[]]))
        elif mark == ";;":
            raise _unexpected(mark)
        else:
            raise NotUnderstood(
                f"-bash: `{mark}' is more than this console's shell can do{_REASONS.get(mark[0], '')}\n"
            )
    return list(_checked(steps))


def _tokens(line: str) -> Iterator[tuple[str, str | None]]:
    place = 0
    while place < len(line):
        found = _TOKEN.match(line, place)
        if found is None:
            raise NotUnderstood("-bash: unexpected EOF while looking for matching quote\n")
        if found["mark"]:
            yield found["mark"], None
        elif found["word"]:
            yield "", shlex.split(found["word"])[0]
        place = found.end()


def _checked(steps: list[Step]) -> Iterator[Step]:
    """Nothing stands between two joints, and only ``;`` may end a line."""
    for number, (joint, pipeline) in enumerate(steps):
        if not all(pipeline):
            if pipeline != [[]]:
                raise _unexpected("|")
            if number == len(steps) - 1 and joint in ("", ";"):
                return
            raise _unexpected(steps[number + 1][0] if number + 1 < len(steps) else "newline")
        _check_filters(pipeline)
        yield joint, pipeline


def _check_filters(pipeline: list[list[str]]) -> None:
    for words in pipeline[1:]:
        read_filter(words)
    if len(pipeline) > 1 and pipeline[0][0].rpartition("/")[2] == _ENDLESS:
        raise NotUnderstood("-bash: a ping in a pipe is more than this console's shell can do: ping -q says less\n")


def _unexpected(mark: str) -> NotUnderstood:
    return NotUnderstood(f"-bash: syntax error near unexpected token `{mark}'\n")
