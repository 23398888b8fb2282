"""Basic sed and awk: they select lines, and print, delete or change them."""

from __future__ import annotations

import re
from collections.abc import Callable
from getopt import gnu_getopt

from csm_emulator.shell.budget import LONGEST_VALUE, Budget, BudgetExceeded
from csm_emulator.shell.builtins import unescape
from csm_emulator.shell.patterns import Pattern
from csm_emulator.shell.process import Process, Program, UsageProblem, lines_of

LineFilter = Callable[[int, int, str], bool]
"""Whether a command applies to a line: (line number, number of the last line, text)."""
_ADDRESS = re.compile(r"([0-9]{1,9}|\$|/(?:\\.|[^/\\])*/)?(?:,([0-9]{1,9}|\$))?\s*")
_SUBSTITUTE = re.compile(
    r"s(?P<mark>[^\w\s\\])(?P<old>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)(?P<new>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)(?P<flags>[gip]*)"
)
_LIMITS = "this shell's sed has p, d, q and s/…/…/, with a line, a range or /pattern/ before them"
_AWK = re.compile(
    r"(?:/(?P<pattern>(?:\\.|[^/\\])*)/|NR\s*(?P<test>==|>=|<=|>|<)\s*(?P<line>[0-9]{1,9}))?\s*(?:\{\s*print(?P<items>[^{}]*)\})?"
)
_SPECIAL = re.compile(r"[\[\]\\.*+?^$|(){}]")
_REPLACEMENT_ESCAPE = re.compile(r"\\(.)|&", re.DOTALL)
_MOST_ITEMS = 100
_AWK_LIMITS = "this shell's awk has '{print $1, $NF}', with /pattern/ or NR==1 before it"
_ITEM = re.compile(r'\s*(?:\$(?P<field>[0-9]{1,4}|NF)|"(?P<text>(?:\\.|[^"\\])*)"|(?P<name>NR|NF))\s*')


async def sed(process: Process) -> int:
    options, words = gnu_getopt(process.argv[1:], "nErse:")
    scripts = [value for name, value in options if name == "-e"] or words[:1]
    paths = words if any(name == "-e" for name, _ in options) else words[1:]
    flags = {name for name, _ in options}
    if not scripts:
        raise UsageProblem("usage: sed [OPTION]... {script} [FILE]...")
    extended = bool({"-E", "-r"} & flags)
    commands = [
        _parse_sed_command(part, process.budget, extended=extended)
        for part in "\n".join(scripts).split("\n")
        if part.strip()
    ]
    texts = await process.texts(paths)
    lines = [line for _, text in texts for line in lines_of(text)]
    for number, line in enumerate(lines, 1):
        output, quit_now = _edit_line(commands, number, len(lines), line, quiet="-n" in flags)
        await process.out.write(output)
        if quit_now:
            break
    return int(len(texts) < len(paths))


def _edit_line(
    commands: list[tuple[LineFilter, Callable[[str], tuple[str, str]]]],
    number: int,
    last: int,
    line: str,
    *,
    quiet: bool,
) -> tuple[str, bool]:
    """The output for this line, and whether sed ends after it."""
    printed = ""
    for applies, command in commands:
        if not applies(number, last, line):
            continue
        line, effect = command(line)
        if effect == "d":
            return printed, False
        printed += f"{line}\n" if effect == "p" else ""
        if effect == "q":
            return printed + ("" if quiet else f"{line}\n"), True
    return printed + ("" if quiet else f"{line}\n"), False


def _parse_sed_command(
    part: str, budget: Budget, *, extended: bool
) -> tuple[LineFilter, Callable[[str], tuple[str, str]]]:
    part = part.strip().rstrip(";")
    address = _ADDRESS.match(part)
    if address is None:
        raise UsageProblem(_LIMITS)
    line_filter = _line_filter(address[1], address[2], budget, extended=extended)
    command = part[address.end() :]
    if command in ("p", "d", "q"):
        return line_filter, lambda line: (line, command)
    match = _SUBSTITUTE.fullmatch(command)
    if match is None:
        raise UsageProblem(_LIMITS)
    return line_filter, _substitution(match, budget, extended=extended)


def _line_filter(first: str | None, second: str | None, budget: Budget, *, extended: bool) -> LineFilter:
    if first is None:
        return lambda *_: True
    if first.startswith("/"):
        if second:
            raise UsageProblem(_LIMITS)
        pattern = Pattern(first[1:-1].replace("\\/", "/"), budget, extended=extended)
        return lambda _, __, line: pattern.matches(line)

    def is_in_range(number: int, last: int, _: str) -> bool:
        low = last if first == "$" else int(first)
        high = low if second is None else last if second == "$" else int(second)
        return low <= number <= max(low, high)

    return is_in_range


def _substitution(match: re.Match[str], budget: Budget, *, extended: bool) -> Callable[[str], tuple[str, str]]:
    mark, flags = match["mark"], match["flags"]
    pattern = Pattern(match["old"].replace(f"\\{mark}", mark), budget, extended=extended, ignore_case="i" in flags)
    new = match["new"].replace(f"\\{mark}", mark)
    if re.search(r"\\[0-9]", new):
        raise UsageProblem("\\1 is not supported by this shell's sed: it supports & for the whole match")

    def replace(line: str) -> tuple[str, str]:
        parts: list[str] = []
        index, last, room = 0, -1, LONGEST_VALUE
        while index <= len(line) and (match := pattern.search(line, index)) is not None:
            begin, end = match
            room -= begin - index + len(new) + new.count("&") * (end - begin)
            if room < 0:
                raise BudgetExceeded(f"a line is longer than {LONGEST_VALUE} characters")
            parts.append(line[index:begin])
            if end > begin or begin != last:
                parts.append(_expand_replacement(new, line[begin:end]))
            if end == begin:
                parts.append(line[end : end + 1])
            index, last = max(end, begin + 1), end
            if "g" not in flags:
                break
        changed = "".join([*parts, line[index:]])
        if len(changed) > LONGEST_VALUE:
            raise BudgetExceeded(f"a line is longer than {LONGEST_VALUE} characters")
        return budget.handle(changed), "p" if "p" in flags and parts else ""

    return replace


def _expand_replacement(new: str, match: str) -> str:
    def value(escape: re.Match[str]) -> str:
        return match if escape[0] == "&" else {"n": "\n", "t": "\t"}.get(escape[1], escape[1])

    return _REPLACEMENT_ESCAPE.sub(value, new)


async def awk(process: Process) -> int:
    options, words = gnu_getopt(process.argv[1:], "F:v:")
    if not words or any(name == "-v" for name, _ in options):
        raise UsageProblem(_AWK_LIMITS)
    program = _AWK.fullmatch(words[0].strip())
    if program is None or not words[0].strip():
        raise UsageProblem(_AWK_LIMITS)
    separator = unescape(dict(options)["-F"]) if options else None
    if separator == "":
        raise UsageProblem("-F: the field separator is empty")
    if separator and len(separator) > 1 and _SPECIAL.search(separator):
        raise UsageProblem("-F: a regular expression is not supported by this shell's awk")
    pattern = None if program["pattern"] is None else Pattern(program["pattern"], process.budget, extended=True)
    items = _parse_items((program["items"] or "").strip().removesuffix(";").strip())
    texts = await process.texts(words[1:])
    lines = [line for _, text in texts for line in lines_of(text)]
    for number, line in enumerate(lines, 1):
        if (pattern is None or pattern.matches(line)) and _selects_line(program, number):
            fields = line.split(separator) if separator != " " else line.split()
            await process.out.write(process.budget.handle(_format_items(items, line, fields, number)) + "\n")
    return int(len(texts) < len(words[1:]))


def _selects_line(program: re.Match[str], number: int) -> bool:
    if not program["test"]:
        return True
    line = int(program["line"])
    return {
        "==": number == line,
        ">=": number >= line,
        "<=": number <= line,
        ">": number > line,
        "<": number < line,
    }[program["test"]]


def _parse_items(text: str) -> list[list[re.Match[str]]]:
    """The items to print, in groups that commas separate: a space is printed between groups, nothing within one."""
    groups: list[list[re.Match[str]]] = [[]]
    index = 0
    while index < len(text):
        if text[index] == ",":
            groups.append([])
            index += 1
            continue
        item = _ITEM.match(text, index)
        if item is None or sum(map(len, groups)) >= _MOST_ITEMS:
            raise UsageProblem(_AWK_LIMITS)
        groups[-1].append(item)
        index = item.end()
    return groups


def _format_items(groups: list[list[re.Match[str]]], line: str, fields: list[str], number: int) -> str:
    if groups == [[]]:
        return line

    def value(item: re.Match[str]) -> str:
        if item["text"] is not None:
            return unescape(item["text"].replace('\\"', '"'))
        if item["name"]:
            return str(number if item["name"] == "NR" else len(fields))
        field = len(fields) if item["field"] == "NF" else int(item["field"])
        return line if field == 0 else fields[field - 1] if field <= len(fields) else ""

    return " ".join("".join(map(value, group)) for group in groups)


EDITORS: dict[str, Program] = {"sed": sed, "awk": awk}
