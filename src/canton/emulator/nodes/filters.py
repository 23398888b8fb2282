"""What may stand behind a pipe: head, tail, grep of a plain word, and wc -l."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from getopt import GetoptError, gnu_getopt

Filter = Callable[[str], tuple[str, int]]
"""From text to what is left of it, and a status."""
_NUMBER = re.compile("[0-9]{1,9}")
_FROM = re.compile(r"\+([0-9]{1,9})")
_SHORT = re.compile("-([0-9]+)")
_REGULAR = frozenset("\\[]*^$")


class NotUnderstood(Exception):
    """More than this shell can do, or no sense at all; the text says which."""


def read_filter(words: Sequence[str]) -> Filter:
    """Raises ``NotUnderstood``."""
    reader = _READERS.get(words[0].rpartition("/")[2])
    if reader is None:
        raise NotUnderstood(_beyond(words, "it has | head, | tail, | grep WORD and | wc -l"))
    try:
        return reader(words)
    except GetoptError as error:
        raise NotUnderstood(_beyond(words, f"{words[0]}: {error}")) from None


def _beyond(words: Sequence[str], why: str) -> str:
    return f"-bash: `| {' '.join(words)}' is more than this console's shell can do: {why}\n"


def _head(words: Sequence[str]) -> Filter:
    count = _lines(words)
    if not _NUMBER.fullmatch(count):
        raise NotUnderstood(_beyond(words, f"{words[0]} takes a number of lines, not `{count}'"))
    return lambda text: ("".join(text.splitlines(keepends=True)[: int(count)]), 0)


def _tail(words: Sequence[str]) -> Filter:
    """``-n 3`` the last three, ``-n +3`` all from the third on."""
    count = _lines(words)
    first = _FROM.fullmatch(count)
    if not first and not _NUMBER.fullmatch(count):
        raise NotUnderstood(_beyond(words, f"{words[0]} takes a number of lines, not `{count}'"))

    def cut(text: str) -> tuple[str, int]:
        lines = text.splitlines(keepends=True)
        start = max(int(first[1]) - 1, 0) if first else max(len(lines) - int(count), 0)
        return "".join(lines[start:]), 0

    return cut


def _lines(words: Sequence[str]) -> str:
    """``-n 5``, ``-n5``, ``-5`` or ``--lines=5``; ten when nothing is said."""
    plain = [_SHORT.sub(r"-n\1", word) if _SHORT.fullmatch(word) else word for word in words[1:]]
    options, others = gnu_getopt(plain, "n:", ["lines="])
    if others:
        raise NotUnderstood(_beyond(words, "a filter takes no files"))
    return options[-1][1] if options else "10"


def _grep(words: Sequence[str]) -> Filter:
    """A word is looked for as it stands: a dot is a dot."""
    options, others = gnu_getopt(list(words[1:]), "ivcF")
    flags = {name for name, _ in options}
    if len(others) != 1 or ("-F" not in flags and _REGULAR & set(others[0])):
        raise NotUnderstood(_beyond(words, "grep takes one plain word, and -i, -v, -c"))
    wanted = others[0].lower() if "-i" in flags else others[0]

    def select(text: str) -> tuple[str, int]:
        lines = text.splitlines(keepends=True)
        found = [line for line in lines if (wanted in (line.lower() if "-i" in flags else line)) == ("-v" not in flags)]
        return f"{len(found)}\n" if "-c" in flags else "".join(found), 0 if found else 1

    return select


def _wc(words: Sequence[str]) -> Filter:
    if list(words[1:]) not in (["-l"], ["--lines"]):
        raise NotUnderstood(_beyond(words, "of wc it has wc -l"))
    return lambda text: (f"{text.count(chr(10))}\n", 0)


_READERS: dict[str, Callable[[Sequence[str]], Filter]] = {"head": _head, "tail": _tail, "grep": _grep, "wc": _wc}
