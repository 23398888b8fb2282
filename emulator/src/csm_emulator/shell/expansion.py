"""Words as values: quotes, variables, substitutions, and names of files that fit a pattern."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from csm_emulator.shell.budget import LONGEST_ARGUMENTS, MOST_WORDS, Budget, BudgetExceeded, joined
from csm_emulator.shell.files import Files
from csm_emulator.shell.syntax import part_end

_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9?#@*$!-]))")
_BRACED = re.compile(r"(#?)([A-Za-z_][A-Za-z0-9_]*|[0-9?#@*$]+)(?:(:?[-=+]|%%?|##?)(.*))?", re.DOTALL)
_ESCAPED_IN_QUOTES = '$`"\\\n'
_WILD = re.compile(r"[*?\[]")
_MOST_STARS, _LONGEST_PATTERN = 3, 200
ERREXIT, NOUNSET, XTRACE, PIPEFAIL = "errexit", "nounset", "xtrace", "pipefail"
LETTERS = {"e": ERREXIT, "u": NOUNSET, "x": XTRACE}
"""Of the options that have one."""
_LONGEST_SUM, _LONGEST_TRIMMED = 200, 4096


class BadSubstitution(Exception):
    """The text says of what."""


class UnsetVariable(Exception):
    """A variable without a value, in a shell with ``set -u``; the text is its name."""


@dataclass(slots=True)
class Variables:
    """Of one shell; a subshell has a copy."""

    values: dict[str, str]
    arguments: list[str] = field(default_factory=list)
    name: str = "sh"
    code: int = 0
    folder: str = "/"
    options: set[str] = field(default_factory=set)
    """That are on, by their long names."""

    def get(self, name: str) -> str | None:
        if name == "?":
            return str(self.code)
        if name in ("@", "*"):
            return (" " if name == "@" else self.separators[:1]).join(self.arguments)
        if name in ("#", "$", "-"):
            letters = "".join(letter for letter, option in LETTERS.items() if option in self.options)
            return {"#": str(len(self.arguments)), "$": "1"}.get(name, letters)
        if name.isdecimal():
            parameters = [self.name, *self.arguments]
            return parameters[int(name)] if len(name) < 4 and int(name) < len(parameters) else None
        return self.values.get(name)

    @property
    def separators(self) -> str:
        return self.values.get("IFS", " \t\n")

    def value(self, name: str) -> str:
        """Empty for a variable without one; raises ``UnsetVariable`` where that is an error."""
        value = self.get(name)
        if value is None and NOUNSET in self.options:
            raise UnsetVariable(name)
        return value or ""

    def copy(self) -> Variables:
        return Variables(dict(self.values), list(self.arguments), self.name, self.code, self.folder, set(self.options))

    def path(self, path: str) -> str:
        """From the root."""
        return posixpath.normpath(posixpath.join(self.folder, path)).replace("//", "/")


Piece = tuple[str, bool]
"""Text, and whether it was quoted."""


class Expansion:
    """``substitute`` runs a script and comes back with what it wrote."""

    def __init__(
        self, variables: Variables, files: Files, budget: Budget, substitute: Callable[[str], Awaitable[str]]
    ) -> None:
        self._variables = variables
        self._files = files
        self._budget = budget
        self._substitute = substitute

    async def words(self, raw: tuple[str, ...]) -> list[str]:
        """With fields split and patterns replaced by names of files."""
        result: list[str] = []
        size = 0
        for word in raw:
            for pieces in await self._fields(word):
                names = self._names(pieces)
                size += sum(map(len, names))
                result += names
                if len(result) > MOST_WORDS:
                    raise BudgetExceeded(f"a command has more than {MOST_WORDS} words")
                if size > LONGEST_ARGUMENTS:
                    raise BudgetExceeded(f"the words of a command are longer than {LONGEST_ARGUMENTS} characters")
        return result

    async def text(self, raw: str) -> str:
        """As one value: of an assignment, or of a file's name."""
        return self._value(text for text, _, _ in await self._parts(raw))

    async def _fields(self, raw: str) -> list[list[Piece]]:
        if raw in ('"$@"', '"${@}"'):
            return [[(argument, True)] for argument in self._variables.arguments]
        fields: list[list[Piece]] = [[]]
        for text, quoted, expanded in await self._parts(raw):
            if quoted or not expanded:
                fields[-1].append((text, quoted))
                continue
            for number, (part, mark) in enumerate(_split(text, self._variables.separators)):
                if number:
                    fields.append([])
                if part or mark:
                    fields[-1].append((part, False))
        return [pieces for pieces in fields if pieces]

    def _names(self, pieces: list[Piece]) -> list[str]:
        plain = self._value(text for text, _ in pieces)
        wild = [text for text, quoted in pieces if not quoted and _WILD.search(text)]
        if not wild:
            return [plain]
        pattern = "".join(_as_pattern(text) if quoted else text for text, quoted in pieces)
        return list(self._matching(pattern)) or [plain]

    def _matching(self, pattern: str) -> Iterator[str]:
        if len(pattern) > _LONGEST_PATTERN or pattern.count("*") > _MOST_STARS:
            raise BadSubstitution(f"{pattern[:40]}: a longer pattern than this shell looks for")
        folder, mark, last = pattern.rpartition("/")
        for start in self._matching(folder) if _WILD.search(folder) else [folder]:
            place = self._variables.path(start + mark or ".")
            if not self._files.is_folder(place):
                continue
            if not last:
                yield start + mark
            for name in self._files.entries(place):
                self._budget.spend(10)
                if fnmatchcase(name, last) and (not name.startswith(".") or last.startswith(".")):
                    yield start + mark + name

    def _value(self, parts: Iterable[str]) -> str:
        return self._budget.handle(joined(parts))

    async def _parts(self, raw: str) -> list[tuple[str, bool, bool]]:
        """Text, whether it was quoted, whether it came out of an expansion."""
        parts: list[tuple[str, bool, bool]] = []
        if raw == "~" or raw.startswith("~/"):
            parts.append((self._variables.get("HOME") or "/", True, True))
            raw = raw[1:]
        place = 0
        self._budget.spend(len(raw))
        while place < len(raw):
            sign = raw[place]
            end = part_end(raw, place) if sign in "'\"\\`" else place + 1
            if sign == "'":
                parts.append((raw[place + 1 : end - 1], True, False))
            elif sign == "\\":
                parts.append((raw[place + 1 : end].replace("\n", ""), True, False))
            elif sign == '"':
                parts.append((await self._in_quotes(raw[place + 1 : end - 1]), True, False))
            elif raw.startswith("$'", place):
                raise BadSubstitution("$'…' is more than this shell can do")
            elif sign in "$`":
                text, end = await self._dollar(raw, place)
                self._budget.handle(text)
                parts.append((text, False, True))
            else:
                parts.append((sign, False, False))
            place = end
        return parts

    async def _in_quotes(self, raw: str) -> str:
        parts: list[str] = []
        place = 0
        while place < len(raw):
            if raw[place] == "\\" and raw[place + 1 : place + 2] and raw[place + 1] in _ESCAPED_IN_QUOTES:
                parts.append(raw[place + 1].replace("\n", ""))
                place += 2
            elif raw[place] in "$`":
                text, place = await self._dollar(raw, place)
                self._budget.handle(text)
                parts.append(text)
            else:
                parts.append(raw[place])
                place += 1
        return self._value(parts)

    async def _dollar(self, raw: str, place: int) -> tuple[str, int]:
        """What stands for it, and where it ends."""
        if raw[place] == "`":
            end = part_end(raw, place)
            return await self._substitute(raw[place + 1 : end - 1].replace("\\`", "`")), end
        if raw.startswith("$((", place):
            end = part_end(raw, place)
            if raw[end - 2 : end] == "))":
                return await self._sum(raw[place + 3 : end - 2]), end
        if raw.startswith("$(", place):
            end = part_end(raw, place)
            return await self._substitute(raw[place + 2 : end - 1]), end
        if raw.startswith("${", place):
            end = part_end(raw, place)
            return await self._braced(raw[place + 2 : end - 1]), end
        variable = _VARIABLE.match(raw, place)
        if variable is None:
            return "$", place + 1
        return self._variables.value(variable[1] or variable[2]), variable.end()

    async def _braced(self, inner: str) -> str:
        match = _BRACED.fullmatch(inner)
        if match is None or (match[1] and match[3]):
            raise BadSubstitution(f"${{{inner}}}: bad substitution")
        count, name, mark, operand = match.groups()
        value = self._variables.get(name)
        if count:
            return str(len(self._variables.value(name)))
        if not mark:
            return self._variables.value(name)
        if mark[0] in "%#":
            value = self._variables.value(name)
            self._budget.spend(4 * len(value))
            pieces = await self._parts(operand)
            pattern = self._value(_as_pattern(text) if quoted else text for text, quoted, _ in pieces)
            return _trimmed(value, mark, pattern)
        missing = value is None or (mark[0] == ":" and not value)
        if mark[-1] == "+":
            return "" if missing else await self.text(operand)
        if not missing:
            return value or ""
        default = await self.text(operand)
        if mark[-1] == "=":
            self._variables.values[name] = default
        return default

    async def _sum(self, raw: str) -> str:
        text = (await self.text(raw)).strip()
        try:
            return str(calculate(text, self._variables))
        except (ValueError, SyntaxError, ArithmeticError, RecursionError, MemoryError):
            raise BadSubstitution(f"arithmetic: cannot calculate `{text[:40]}'") from None


def cut_field(text: str, separators: str) -> tuple[str, str]:
    """The first field, and what is left behind its separator."""
    place = _separation(separators).search(text)
    return (text[: place.start()], text[place.end() :]) if place and place.end() else (text, "")


def _split(text: str, separators: str) -> list[tuple[str, bool]]:
    """Fields, and whether one is ended by a sign that is no space, for which it counts although it is empty."""
    fields: list[tuple[str, bool]] = []
    start = 0
    for place in _separation(separators).finditer(text) if separators else ():
        fields.append((text[start : place.start()], bool(place[0].strip(" \t\n"))))
        start = place.end()
    return [*fields, (text[start:], False)]


def _separation(separators: str) -> re.Pattern[str]:
    """One sign that is no space with spaces around it, or spaces alone."""
    spaces = "".join(sign for sign in separators if sign in " \t\n")
    non_spaces = "".join(sign for sign in separators if sign not in " \t\n")
    around = f"[{spaces}]*" if spaces else ""
    ways = [f"{around}[{re.escape(non_spaces)}]{around}"] if non_spaces else []
    return re.compile("|".join([*ways, f"[{spaces}]+"] if spaces else ways) or "(?!)")


def _as_pattern(text: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in text)


def _trimmed(value: str, mark: str, pattern: str) -> str:
    """Without the shortest, or with a doubled mark the longest, beginning or end that fits."""
    if pattern.count("*") > _MOST_STARS or len(pattern) > _LONGEST_PATTERN or len(value) > _LONGEST_TRIMMED:
        raise BadSubstitution("a pattern or a value is too long for this shell")
    cuts = range(len(value) + 1)
    if (mark[0] == "#") == (len(mark) == 2):
        cuts = range(len(value), -1, -1)
    for cut in cuts:
        part, remainder = (value[:cut], value[cut:]) if mark[0] == "#" else (value[cut:], value[:cut])
        if fnmatchcase(part, pattern):
            return remainder
    return value


_OPERATIONS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: _divided(one, other)[0],
    ast.Mod: lambda one, other: _divided(one, other)[1],
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def calculate(text: str, variables: Variables) -> int:
    """Whole numbers of 64 bits, as the shell has them; raises ``ValueError``, ``SyntaxError``, ``ArithmeticError``."""
    if len(text) > _LONGEST_SUM:
        raise ValueError(text)
    return _value(ast.parse(text or "0", mode="eval").body, variables)


def _value(node: ast.AST, variables: Variables) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _wrapped(node.value)
    if isinstance(node, ast.Name):
        return _wrapped(int(variables.value(node.id) or "0"))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        return _applied(node.op, _value(node.operand, variables))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _applied(node.op, _value(node.left, variables), _value(node.right, variables))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATIONS:
        return _applied(node.ops[0], _value(node.left, variables), _value(node.comparators[0], variables))
    raise ValueError(ast.dump(node))


def _applied(operation: ast.AST, *numbers: int) -> int:
    return _wrapped(int(_OPERATIONS[type(operation)](*numbers)))  # type: ignore[call-overload]


def _divided(dividend: int, divisor: int) -> tuple[int, int]:
    """Towards zero, as in C."""
    whole = abs(dividend) // abs(divisor)
    whole = -whole if (dividend < 0) != (divisor < 0) else whole
    return whole, dividend - whole * divisor


def _wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
