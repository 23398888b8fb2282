"""Expands the words of a command: quotes, variables, substitutions and file name patterns."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from csm_emulator.shell.budget import LONGEST_ARGUMENTS, MOST_WORDS, Budget, BudgetExceeded, join_parts
from csm_emulator.shell.files import Files
from csm_emulator.shell.syntax import part_end

_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9?#@*$!-]))")
_BRACED = re.compile(r"(#?)([A-Za-z_][A-Za-z0-9_]*|[0-9?#@*$]+)(?:(:?[-=+]|%%?|##?)(.*))?", re.DOTALL)
_ESCAPED_IN_QUOTES = '$`"\\\n'
_WILD = re.compile(r"[*?\[]")
_MOST_STARS, _LONGEST_PATTERN = 3, 200
ERREXIT, NOUNSET, XTRACE, PIPEFAIL = "errexit", "nounset", "xtrace", "pipefail"
LETTERS = {"e": ERREXIT, "u": NOUNSET, "x": XTRACE}
"""The one-letter names of shell options."""
_LONGEST_ARITHMETIC, _LONGEST_TRIMMED = 200, 4096


class BadSubstitution(Exception):
    """A substitution is invalid or not supported; the message names it."""


class UnsetVariable(Exception):
    """A variable has no value in a shell with ``set -u``; the message is its name."""


@dataclass(slots=True)
class Variables:
    """Variables, arguments, options and working directory of one shell; a subshell has a copy."""

    values: dict[str, str]
    arguments: list[str] = field(default_factory=list)
    name: str = "sh"
    code: int = 0
    folder: str = "/"
    options: set[str] = field(default_factory=set)
    """The long names of the options that are on."""

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
        """The value, or an empty string; with ``set -u`` an unset variable raises ``UnsetVariable``."""
        value = self.get(name)
        if value is None and NOUNSET in self.options:
            raise UnsetVariable(name)
        return value or ""

    def copy(self) -> Variables:
        return Variables(dict(self.values), list(self.arguments), self.name, self.code, self.folder, set(self.options))

    def absolute_path(self, path: str) -> str:
        """The absolute path, resolved against the working directory."""
        return posixpath.normpath(posixpath.join(self.folder, path)).replace("//", "/")


Piece = tuple[str, bool]
"""Text, and whether it was quoted."""


class Expansion:
    """Expands words; ``substitute`` runs a script and returns its output."""

    def __init__(
        self, variables: Variables, files: Files, budget: Budget, substitute: Callable[[str], Awaitable[str]]
    ) -> None:
        self._variables = variables
        self._files = files
        self._budget = budget
        self._substitute = substitute

    async def words(self, raw: tuple[str, ...]) -> list[str]:
        """The words, split into fields, with patterns replaced by the names of matching files."""
        result: list[str] = []
        size = 0
        for word in raw:
            for pieces in await self._fields(word):
                names = self._file_names(pieces)
                size += sum(map(len, names))
                result += names
                if len(result) > MOST_WORDS:
                    raise BudgetExceeded(f"a command has more than {MOST_WORDS} words")
                if size > LONGEST_ARGUMENTS:
                    raise BudgetExceeded(f"the words of a command are longer than {LONGEST_ARGUMENTS} characters")
        return result

    async def text(self, raw: str) -> str:
        """The word as a single value, as in an assignment or a redirection: without splitting or file name patterns."""
        return self._value(text for text, _, _ in await self._parts(raw))

    async def _fields(self, raw: str) -> list[list[Piece]]:
        if raw in ('"$@"', '"${@}"'):
            return [[(argument, True)] for argument in self._variables.arguments]
        fields: list[list[Piece]] = [[]]
        for text, quoted, expanded in await self._parts(raw):
            if quoted or not expanded:
                fields[-1].append((text, quoted))
                continue
            for number, (part, delimited) in enumerate(_split(text, self._variables.separators)):
                if number:
                    fields.append([])
                if part or delimited:
                    fields[-1].append((part, False))
        return [pieces for pieces in fields if pieces]

    def _file_names(self, pieces: list[Piece]) -> list[str]:
        plain = self._value(text for text, _ in pieces)
        wild = [text for text, quoted in pieces if not quoted and _WILD.search(text)]
        if not wild:
            return [plain]
        pattern = "".join(_escape_wildcards(text) if quoted else text for text, quoted in pieces)
        return list(self._matching_paths(pattern)) or [plain]

    def _matching_paths(self, pattern: str) -> Iterator[str]:
        if len(pattern) > _LONGEST_PATTERN or pattern.count("*") > _MOST_STARS:
            limits = f"more than {_LONGEST_PATTERN} characters or {_MOST_STARS} stars"
            raise BadSubstitution(f"{pattern[:40]}: a pattern of {limits} is not supported by this shell")
        folder, slash, last = pattern.rpartition("/")
        for start in self._matching_paths(folder) if _WILD.search(folder) else [folder]:
            path = self._variables.absolute_path(start + slash or ".")
            if not self._files.is_folder(path):
                continue
            if not last:
                yield start + slash
            for name in self._files.entries(path):
                self._budget.spend(10)
                if fnmatchcase(name, last) and (not name.startswith(".") or last.startswith(".")):
                    yield start + slash + name

    def _value(self, parts: Iterable[str]) -> str:
        return self._budget.handle(join_parts(parts))

    async def _parts(self, raw: str) -> list[tuple[str, bool, bool]]:
        """The parts of a word: text, whether it was quoted, and whether it is the result of an expansion."""
        parts: list[tuple[str, bool, bool]] = []
        if raw == "~" or raw.startswith("~/"):
            parts.append((self._variables.get("HOME") or "/", True, True))
            raw = raw[1:]
        index = 0
        self._budget.spend(len(raw))
        while index < len(raw):
            char = raw[index]
            end = part_end(raw, index) if char in "'\"\\`" else index + 1
            if char == "'":
                parts.append((raw[index + 1 : end - 1], True, False))
            elif char == "\\":
                parts.append((raw[index + 1 : end].replace("\n", ""), True, False))
            elif char == '"':
                parts.append((await self._in_quotes(raw[index + 1 : end - 1]), True, False))
            elif raw.startswith("$'", index):
                raise BadSubstitution("$'…' is not supported by this shell")
            elif char in "$`":
                text, end = await self._expand_at(raw, index)
                self._budget.handle(text)
                parts.append((text, False, True))
            else:
                parts.append((char, False, False))
            index = end
        return parts

    async def _in_quotes(self, raw: str) -> str:
        parts: list[str] = []
        index = 0
        while index < len(raw):
            if raw[index] == "\\" and raw[index + 1 : index + 2] and raw[index + 1] in _ESCAPED_IN_QUOTES:
                parts.append(raw[index + 1].replace("\n", ""))
                index += 2
            elif raw[index] in "$`":
                text, index = await self._expand_at(raw, index)
                self._budget.handle(text)
                parts.append(text)
            else:
                parts.append(raw[index])
                index += 1
        return self._value(parts)

    async def _expand_at(self, raw: str, index: int) -> tuple[str, int]:
        """The value of the expansion that starts at this index, and the index after it."""
        if raw[index] == "`":
            end = part_end(raw, index)
            return await self._substitute(raw[index + 1 : end - 1].replace("\\`", "`")), end
        if raw.startswith("$((", index):
            end = part_end(raw, index)
            if raw[end - 2 : end] == "))":
                return await self._arithmetic(raw[index + 3 : end - 2]), end
        if raw.startswith("$(", index):
            end = part_end(raw, index)
            return await self._substitute(raw[index + 2 : end - 1]), end
        if raw.startswith("${", index):
            end = part_end(raw, index)
            return await self._expand_braced(raw[index + 2 : end - 1]), end
        variable = _VARIABLE.match(raw, index)
        if variable is None:
            return "$", index + 1
        return self._variables.value(variable[1] or variable[2]), variable.end()

    async def _expand_braced(self, inner: str) -> str:
        match = _BRACED.fullmatch(inner)
        if match is None or (match[1] and match[3]):
            raise BadSubstitution(f"${{{inner}}}: bad substitution")
        length_mark, name, operation, operand = match.groups()
        value = self._variables.get(name)
        if length_mark:
            return str(len(self._variables.value(name)))
        if not operation:
            return self._variables.value(name)
        if operation[0] in "%#":
            value = self._variables.value(name)
            self._budget.spend(4 * len(value))
            pieces = await self._parts(operand)
            pattern = self._value(_escape_wildcards(text) if quoted else text for text, quoted, _ in pieces)
            return _trim(value, operation, pattern)
        missing = value is None or (operation[0] == ":" and not value)
        if operation[-1] == "+":
            return "" if missing else await self.text(operand)
        if not missing:
            return value or ""
        default = await self.text(operand)
        if operation[-1] == "=":
            self._variables.values[name] = default
        return default

    async def _arithmetic(self, raw: str) -> str:
        text = (await self.text(raw)).strip()
        try:
            return str(calculate(text, self._variables))
        except (ValueError, SyntaxError, ArithmeticError, RecursionError, MemoryError):
            raise BadSubstitution(f"arithmetic: cannot calculate `{text[:40]}'") from None


def split_first_field(text: str, separators: str) -> tuple[str, str]:
    """The first field, and the text after its separator."""
    separator = _separator_pattern(separators).search(text)
    if separator is None or not separator.end():
        return text, ""
    return text[: separator.start()], text[separator.end() :]


def _split(text: str, separators: str) -> list[tuple[str, bool]]:
    """The fields, each with whether a separator other than white space ends it; such a field counts even if empty."""
    fields: list[tuple[str, bool]] = []
    start = 0
    for separator in _separator_pattern(separators).finditer(text) if separators else ():
        fields.append((text[start : separator.start()], bool(separator[0].strip(" \t\n"))))
        start = separator.end()
    return [*fields, (text[start:], False)]


def _separator_pattern(separators: str) -> re.Pattern[str]:
    """Matches one separator that is not white space, with white space around it, or white space alone."""
    spaces = "".join(char for char in separators if char in " \t\n")
    non_spaces = "".join(char for char in separators if char not in " \t\n")
    around = f"[{spaces}]*" if spaces else ""
    alternatives = [f"{around}[{re.escape(non_spaces)}]{around}"] if non_spaces else []
    return re.compile("|".join([*alternatives, f"[{spaces}]+"] if spaces else alternatives) or "(?!)")


def _escape_wildcards(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def _trim(value: str, operation: str, pattern: str) -> str:
    """The value without the shortest (``#``, ``%``) or longest (``##``, ``%%``) start or end that matches."""
    if pattern.count("*") > _MOST_STARS or len(pattern) > _LONGEST_PATTERN or len(value) > _LONGEST_TRIMMED:
        raise BadSubstitution("a pattern or a value is too long for this shell")
    cuts = range(len(value) + 1)
    if (operation[0] == "#") == (len(operation) == 2):
        cuts = range(len(value), -1, -1)
    for cut in cuts:
        part, remainder = (value[:cut], value[cut:]) if operation[0] == "#" else (value[cut:], value[:cut])
        if fnmatchcase(part, pattern):
            return remainder
    return value


_OPERATIONS: dict[type[ast.AST], Callable[..., object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda dividend, divisor: _divide(dividend, divisor)[0],
    ast.Mod: lambda dividend, divisor: _divide(dividend, divisor)[1],
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
    """The value of an arithmetic expression: a signed integer of 64 bits, as in a shell.

    Raises ``ValueError``, ``SyntaxError`` or ``ArithmeticError``.
    """
    if len(text) > _LONGEST_ARITHMETIC:
        raise ValueError(text)
    return _evaluate(ast.parse(text or "0", mode="eval").body, variables)


def _evaluate(node: ast.AST, variables: Variables) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return _wrap(node.value)
    if isinstance(node, ast.Name):
        return _wrap(int(variables.value(node.id) or "0"))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        return _apply(node.op, _evaluate(node.operand, variables))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _apply(node.op, _evaluate(node.left, variables), _evaluate(node.right, variables))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATIONS:
        return _apply(node.ops[0], _evaluate(node.left, variables), _evaluate(node.comparators[0], variables))
    raise ValueError(ast.dump(node))


def _apply(operation: ast.AST, *numbers: int) -> int:
    return _wrap(int(_OPERATIONS[type(operation)](*numbers)))  # type: ignore[call-overload]


def _divide(dividend: int, divisor: int) -> tuple[int, int]:
    """Quotient and remainder; the quotient is rounded towards zero, as in C."""
    quotient = abs(dividend) // abs(divisor)
    quotient = -quotient if (dividend < 0) != (divisor < 0) else quotient
    return quotient, dividend - quotient * divisor


def _wrap(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
