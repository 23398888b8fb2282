"""Text filters: head, tail, wc, grep, cut, sort, uniq, tr, seq and yes."""

from __future__ import annotations

import re
from collections.abc import Callable
from getopt import gnu_getopt

from csm_emulator.shell.patterns import LONGEST_PATTERN, Pattern
from csm_emulator.shell.process import Process, Program, UsageProblem, lines_of

_SHORT_COUNT = re.compile("-([0-9]+)")
_COUNT = re.compile(r"[-+]?[0-9]{1,9}")
_KEY = re.compile(r"(?P<first>[1-9][0-9]{0,3})(?:,(?P<last>[1-9][0-9]{0,3}))?(?P<flags>[nr]*)")
_FIELDS = re.compile(r"([0-9]{0,4})(-?)([0-9]{0,4})")
_CLASSES = {
    "lower": "a-z",
    "upper": "A-Z",
    "digit": "0-9",
    "alpha": "A-Za-z",
    "alnum": "0-9A-Za-z",
    "blank": " \t",
    "space": " \t\n\v\f\r",
}
YES_CHARACTERS = 4096


async def head_or_tail(process: Process) -> int:
    """``head`` and ``tail``: ``-n 3``, ``-n3``, ``-3``, ``-c 3``; ``tail -n +3`` prints from the third line on."""
    words = process.argv[1:]
    if words and _SHORT_COUNT.fullmatch(words[0]):
        words[0] = _SHORT_COUNT.sub(r"-n\1", words[0])
    options, paths = gnu_getopt(words, "n:c:qf", ["lines=", "bytes="])
    if ("-f", "") in options:
        raise UsageProblem("-f is not supported by this shell: it reads only the current content")
    unit, count = next((option for option in reversed(options) if option[1]), ("-n", "10"))
    if not _COUNT.fullmatch(count):
        raise UsageProblem(f"invalid number of lines: '{count}'")
    texts = await process.texts(paths)
    for number, (path, text) in enumerate(texts):
        if len(paths) > 1 and ("-q", "") not in options:
            await process.out.write(("\n" if number else "") + f"==> {path} <==\n")
        pieces = list(text) if unit in ("-c", "--bytes") else [f"{line}\n" for line in lines_of(text)]
        await process.out.write("".join(_cut(pieces, count, last=process.name == "tail")))
    return int(len(texts) < len(paths))


def _cut(pieces: list[str], count: str, *, last: bool) -> list[str]:
    number = int(count.lstrip("+-"))
    if not last:
        return pieces[: len(pieces) - number if count.startswith("-") else number]
    if count.startswith("+"):
        return pieces[max(number - 1, 0) :]
    return pieces[max(len(pieces) - number, 0) :]


async def count(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "lwcm", ["lines", "words", "bytes", "chars"])
    units = {name.lstrip("-")[0] for name, _ in options} or {"l", "w", "c"}
    texts = await process.texts(paths)
    for path, text in texts:
        counts = {
            "l": text.count("\n"),
            "w": len(text.split()),
            "m": len(text),
            "c": len(text.encode("utf-8", "replace")),
        }
        numbers = " ".join(str(counts[name]) for name in "lwmc" if name in units)
        await process.out.write(f"{numbers} {path}\n" if paths else f"{numbers}\n")
    return int(len(texts) < len(paths))


async def grep(process: Process) -> int:
    options, words = gnu_getopt(process.argv[1:], "ivcnqEFGhHowe:", ["color=", "ignore-case", "quiet", "count"])
    long_names = {"--ignore-case": "i", "--quiet": "q", "--count": "c"}
    flags = {long_names.get(name, name[1]) for name, _ in options}
    patterns = [value for name, value in options if name == "-e"]
    if not patterns:
        if not words:
            raise UsageProblem("usage: grep [OPTION]... PATTERNS [FILE]...")
        patterns = words.pop(0).split("\n")
    texts = await process.texts(words)
    extended = process.name == "egrep" or "E" in flags
    plain = process.name == "fgrep" or "F" in flags
    if plain or "w" in flags:
        patterns = [_escape(text) if plain else text for text in patterns]
    ignore_case = "i" in flags
    compiled = [Pattern(text, process.budget, extended=extended, ignore_case=ignore_case) for text in patterns]
    total = 0
    for path, text in texts:
        matches = [
            (number, line)
            for number, line in enumerate(lines_of(text), 1)
            if any(_matches_line(pattern, line, flags) for pattern in compiled) != ("v" in flags)
        ]
        total += len(matches)
        name = f"{path}:" if ("H" in flags or len(words) > 1) and "h" not in flags else ""
        await process.out.write(_format_matches(matches, name, flags, compiled))
    if len(texts) < len(words) and "q" not in flags:
        return 2
    return int(not total)


def _matches_line(pattern: Pattern, line: str, flags: set[str]) -> bool:
    if "w" not in flags:
        return pattern.matches(line)
    start = 0
    while (match := pattern.search(line, start)) is not None:
        begin, end = match
        around = line[begin - 1 : begin] if begin else "", line[end : end + 1]
        if not any(char.isalnum() or char == "_" for char in around):
            return True
        start = begin + 1
    return False


def _format_matches(matches: list[tuple[int, str]], name: str, flags: set[str], patterns: list[Pattern]) -> str:
    if "q" in flags:
        return ""
    if "c" in flags:
        return f"{name}{len(matches)}\n"
    lines = []
    for number, line in matches:
        head = name + (f"{number}:" if "n" in flags else "")
        parts = list(_matching_parts(line, patterns)) if "o" in flags else [line]
        lines += [f"{head}{part}\n" for part in parts]
    return "".join(lines)


def _matching_parts(line: str, patterns: list[Pattern]) -> list[str]:
    parts, start = [], 0
    while matches := [match for pattern in patterns if (match := pattern.search(line, start)) and match[1] > match[0]]:
        begin, end = min(matches)
        parts.append(line[begin:end])
        start = end
    return parts


def _escape(text: str) -> str:
    return re.sub(r"([\\.*\[\]^$])", r"\\\1", text)


async def cut(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "d:f:c:s")
    flags = dict(options)
    ranges = flags.get("-f") or flags.get("-c")
    if not ranges:
        raise UsageProblem("you must specify a list of bytes, characters, or fields")
    delimiter = "" if "-c" in flags else flags.get("-d", "\t")
    if len(delimiter) > 1:
        raise UsageProblem("the delimiter must be a single character")
    is_selected = _selected_fields(ranges)
    texts = await process.texts(paths)
    for _, text in texts:
        for line in lines_of(text):
            parts = line.split(delimiter) if delimiter else list(line)
            process.budget.spend(len(parts) * (1 + ranges.count(",")))
            if delimiter and len(parts) == 1:
                if "-s" in flags:
                    continue
                output = line
            else:
                output = delimiter.join(part for number, part in enumerate(parts, 1) if is_selected(number))
            await process.out.write(f"{output}\n")
    return int(len(texts) < len(paths))


def _selected_fields(text: str) -> Callable[[int], bool]:
    ranges = []
    for part in text.split(","):
        match = _FIELDS.fullmatch(part)
        if match is None or not (match[1] or match[3]):
            raise UsageProblem(f"invalid field value '{part}'")
        low = int(match[1] or 1)
        ranges.append((low, int(match[3] or (99999 if match[2] else low))))
    return lambda number: any(low <= number <= high for low, high in ranges)


async def sort(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "rnuk:t:")
    keys = [value for name, value in options if name == "-k"]
    match = _KEY.fullmatch(keys[0] if keys else "1")
    if match is None or len(keys) > 1:
        raise UsageProblem("this shell's sort takes one -k, as 2 or 2,3, with n and r behind it")
    flags = {name[1] for name, _ in options} | set(match["flags"])
    first, last = int(match["first"]) - 1, int(match["last"] or 9999)
    delimiter = dict(options).get("-t")
    if delimiter == "":
        raise UsageProblem("empty tab")
    lines = [line for _, text in await process.texts(paths) for line in lines_of(text)]

    def key(line: str) -> tuple[float, str]:
        text = (delimiter or " ").join(line.split(delimiter)[first:last]) if keys else line
        number = _number(text) if "n" in flags else 0.0
        return (number, "") if "n" in flags else (number, text)

    if "u" in flags:
        lines = list({key(line): line for line in reversed(lines)}.values())
    lines.sort(key=lambda line: (key(line), line), reverse="r" in flags)
    await process.out.write("".join(f"{line}\n" for line in lines))
    return 0


def _number(text: str) -> float:
    match = re.match(r"\s*(-?[0-9]{1,15}(?:\.[0-9]{1,15})?)", text)
    return float(match[1]) if match else 0.0


async def unique(process: Process) -> int:
    options, paths = gnu_getopt(process.argv[1:], "cd")
    flags = {name for name, _ in options}
    groups: list[list[str]] = []
    for _, text in await process.texts(paths):
        for line in lines_of(text):
            if groups and groups[-1][0] == line:
                groups[-1].append(line)
            else:
                groups.append([line])
    selected = [group for group in groups if "-d" not in flags or len(group) > 1]
    head = "{0:>7} " if "-c" in flags else ""
    await process.out.write("".join(f"{head.format(len(group))}{group[0]}\n" for group in selected))
    return 0


async def translate(process: Process) -> int:
    options, words = gnu_getopt(process.argv[1:], "ds")
    deleting, squeezing = ("-d", "") in options, ("-s", "") in options
    if deleting and squeezing:
        raise UsageProblem("-d and -s together are not supported by this shell")
    if len(words) not in ((1,) if deleting else (1, 2) if squeezing else (2,)):
        raise UsageProblem("missing operand")
    if max(map(len, words)) > LONGEST_PATTERN:
        raise UsageProblem(f"a set of more than {LONGEST_PATTERN} characters is not supported by this shell")
    first, last = _character_set(words[0]), _character_set(words[-1])
    text = await process.stdin.read_all(process.budget)
    if deleting:
        text = text.translate(dict.fromkeys(map(ord, first)))
    elif words[1:]:
        padded = last + last[-1:] * (len(first) - len(last))
        text = text.translate({ord(char): replacement for char, replacement in zip(first, padded, strict=False)})
    if squeezing:
        repeated = set(last)
        text = "".join(
            char for char, previous in zip(text, ["", *text], strict=False) if char not in repeated or char != previous
        )
    await process.out.write(text)
    return 0


def _character_set(text: str) -> str:
    text = text.replace("\\n", "\n").replace("\\t", "\t")
    for name, range_ in _CLASSES.items():
        text = text.replace(f"[:{name}:]", range_)
    if "[:" in text:
        raise UsageProblem(f"this shell's tr has the classes {', '.join(_CLASSES)}")

    def expand_range(match: re.Match[str]) -> str:
        low, high = ord(match[1]), ord(match[2])
        return "".join(map(chr, range(low, min(high, low + 256) + 1)))

    return re.sub(r"(.)-(.)", expand_range, text, flags=re.DOTALL)


async def sequence(process: Process) -> int:
    numbers = process.argv[1:]
    if not 1 <= len(numbers) <= 2 or not all(_COUNT.fullmatch(number) for number in numbers):
        raise UsageProblem("this shell's seq takes LAST, or FIRST and LAST")
    first, last = (1, int(numbers[0])) if len(numbers) == 1 else map(int, numbers)
    for number in range(first, last + 1):
        process.budget.spend(5)
        await process.out.write(f"{number}\n")
    return 0


async def repeat(process: Process) -> int:
    """``yes``: writes until its pipe is full or the budget of the line is exhausted."""
    line = " ".join(process.argv[1:] or ["y"]) + "\n"
    while True:
        await process.out.write(process.budget.handle(line * max(YES_CHARACTERS // len(line), 1)))


TEXT_TOOLS: dict[str, Program] = {
    "head": head_or_tail,
    "tail": head_or_tail,
    "wc": count,
    "grep": grep,
    "egrep": grep,
    "fgrep": grep,
    "cut": cut,
    "sort": sort,
    "uniq": unique,
    "tr": translate,
    "seq": sequence,
    "yes": repeat,
}
