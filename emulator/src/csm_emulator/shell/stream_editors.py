"""The plain parts of sed and awk: which lines, and what of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from getopt import gnu_getopt

from csm_emulator.shell.budget import LONGEST_VALUE, Budget, BudgetExceeded
from csm_emulator.shell.builtins import unescaped
from csm_emulator.shell.patterns import Pattern
from csm_emulator.shell.process import Process, Program, UsageProblem, lines_of

LineFilter = Callable[[int, int, str], bool]
"""Whether a line is meant, by its number, the number of the last, and its text."""
_ADDRESS = re.compile(r"([0-9]{1,9}|\$|/(?:\\.|[^/\\])*/)?(?:,([0-9]{1,9}|\$))?\s*")
_SUBSTITUTE = re.compile(
    r"s(?P<mark>[^\w\s\\])(?P<old>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)(?P<new>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)(?P<flags>[gip]*)"
)
_LIMITS = "this shell's sed has p, d, q and s/…/…/, with a line, a range or /pattern/ before them"
_AWK = re.compile(
    r"(?:/(?P<pattern>(?:\\.|[^/\\])*)/|NR\s*(?P<test>==|>=|<=|>|<)\s*(?P<line>[0-9]{1,9}))?\s*(?:\{\s*print(?P<shown>[^{}]*)\})?"
)
_SPECIAL = re.compile(r"[\[\]\\.*+?^$|(){}]")
_INSERTED = re.compile(r"\\(.)|&", re.DOTALL)
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
    orders = [_read(part, process.budget, extended=extended) for part in "\n".join(scripts).split("\n") if part.strip()]
    texts = await process.texts(paths)
    lines = [line for _, text in texts for line in lines_of(text)]
    for number, line in enumerate(lines, 1):
        output, quit_now = _edited(orders, number, len(lines), line, quiet="-n" in flags)
        await process.out.write(output)
        if quit_now:
            break
    return int(len(texts) < len(paths))


def _edited(
    orders: list[tuple[LineFilter, Callable[[str], tuple[str, str]]]], number: int, last: int, line: str, *, quiet: bool
) -> tuple[str, bool]:
    """What is printed for this line, and whether it is the last."""
    printed = ""
    for applies, order in orders:
        if not applies(number, last, line):
            continue
        line, effect = order(line)
        if effect == "d":
            return printed, False
        printed += f"{line}\n" if effect == "p" else ""
        if effect == "q":
            return printed + ("" if quiet else f"{line}\n"), True
    return printed + ("" if quiet else f"{line}\n"), False


def _read(part: str, budget: Budget, *, extended: bool) -> tuple[LineFilter, Callable[[str], tuple[str, str]]]:
    part = part.strip().rstrip(";")
    address = _ADDRESS.match(part)
    if address is None:
        raise UsageProblem(_LIMITS)
    line_filter = _line_filter(address[1], address[2], budget, extended=extended)
    order = part[address.end() :]
    if order in ("p", "d", "q"):
        return line_filter, lambda line: (line, order)
    match = _SUBSTITUTE.fullmatch(order)
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

    def fits(number: int, last: int, _: str) -> bool:
        low = last if first == "$" else int(first)
        high = low if second is None else last if second == "$" else int(second)
        return low <= number <= max(low, high)

    return fits


def _substitution(match: re.Match[str], budget: Budget, *, extended: bool) -> Callable[[str], tuple[str, str]]:
    mark, flags = match["mark"], match["flags"]
    pattern = Pattern(match["old"].replace(f"\\{mark}", mark), budget, extended=extended, ignore_case="i" in flags)
    new = match["new"].replace(f"\\{mark}", mark)
    if re.search(r"\\[0-9]", new):
        raise UsageProblem("\\1 is more than this shell's sed can do: it has & for the whole match")

    def replace(line: str) -> tuple[str, str]:
        parts: list[str] = []
        place, last, room = 0, -1, LONGEST_VALUE
        while place <= len(line) and (match := pattern.search(line, place)) is not None:
            begin, end = match
            room -= begin - place + len(new) + new.count("&") * (end - begin)
            if room < 0:
                raise BudgetExceeded(f"a line is longer than {LONGEST_VALUE} characters")
            parts.append(line[place:begin])
            if end > begin or begin != last:
                parts.append(_inserted(new, line[begin:end]))
            if end == begin:
                parts.append(line[end : end + 1])
            place, last = max(end, begin + 1), end
            if "g" not in flags:
                break
        changed = "".join([*parts, line[place:]])
        if len(changed) > LONGEST_VALUE:
            raise BudgetExceeded(f"a line is longer than {LONGEST_VALUE} characters")
        return budget.handle(changed), "p" if "p" in flags and parts else ""

    return replace


def _inserted(new: str, match: str) -> str:
    def value(place: re.Match[str]) -> str:
        return match if place[0] == "&" else {"n": "\n", "t": "\t"}.get(place[1], place[1])

    return _INSERTED.sub(value, new)


async def awk(process: Process) -> int:
    options, words = gnu_getopt(process.argv[1:], "F:v:")
    if not words or any(name == "-v" for name, _ in options):
        raise UsageProblem(_AWK_LIMITS)
    program = _AWK.fullmatch(words[0].strip())
    if program is None or not words[0].strip():
        raise UsageProblem(_AWK_LIMITS)
    between = unescaped(dict(options)["-F"]) if options else None
    if between == "":
        raise UsageProblem("-F takes what is between fields")
    if between and len(between) > 1 and _SPECIAL.search(between):
        raise UsageProblem("-F: a regular expression is more than this shell's awk can do")
    pattern = None if program["pattern"] is None else Pattern(program["pattern"], process.budget, extended=True)
    items = _items((program["shown"] or "").strip().removesuffix(";").strip())
    texts = await process.texts(words[1:])
    lines = [line for _, text in texts for line in lines_of(text)]
    for number, line in enumerate(lines, 1):
        if (pattern is None or pattern.matches(line)) and _counts(program, number):
            fields = line.split(between) if between != " " else line.split()
            await process.out.write(process.budget.handle(_shown(items, line, fields, number)) + "\n")
    return int(len(texts) < len(words[1:]))


def _counts(program: re.Match[str], number: int) -> bool:
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


def _items(text: str) -> list[list[re.Match[str]]]:
    """What is printed: between commas a space, otherwise none."""
    groups: list[list[re.Match[str]]] = [[]]
    place = 0
    while place < len(text):
        if text[place] == ",":
            groups.append([])
            place += 1
            continue
        item = _ITEM.match(text, place)
        if item is None or sum(map(len, groups)) >= _MOST_ITEMS:
            raise UsageProblem(_AWK_LIMITS)
        groups[-1].append(item)
        place = item.end()
    return groups


def _shown(groups: list[list[re.Match[str]]], line: str, fields: list[str], number: int) -> str:
    if groups == [[]]:
        return line

    def value(item: re.Match[str]) -> str:
        if item["text"] is not None:
            return unescaped(item["text"].replace('\\"', '"'))
        if item["name"]:
            return str(number if item["name"] == "NR" else len(fields))
        place = len(fields) if item["field"] == "NF" else int(item["field"])
        return line if place == 0 else fields[place - 1] if place <= len(fields) else ""

    return " ".join("".join(map(value, group)) for group in groups)


EDITORS: dict[str, Program] = {"sed": sed, "awk": awk}
