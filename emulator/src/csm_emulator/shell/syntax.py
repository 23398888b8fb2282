"""Parses a script into commands and the operators between them.

Words keep their quotes; ``expansion`` expands them when the command runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.shell.budget import MAX_DEPTH

LONGEST_SCRIPT = 64 << 10
_OPERATOR = re.compile(r"\|\||&&|;;|<<<|<<|>>|>&|<&|&>|[;&|<>()\n]")
_SPACE = re.compile(r"(?:[ \t]|\\\n)+")
_PLAIN = re.compile(r"[^\s'\"\\`$;&|<>()]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_CLOSING = {"(": ")", "{": "}"}
_RESERVED = frozenset({"then", "elif", "else", "fi", "do", "done", "}"})
_BASH_OPERATORS = {
    "|&": "pipes of both streams",
    "<(": "process substitutions",
    ">(": "process substitutions",
    "=(": "arrays",
}
_UNSUPPORTED = {"case": "case is", "function": "functions are", "select": "select is", "[[": "[[ is"}


class SyntaxProblem(Exception):
    """A script is invalid, or uses syntax that this shell does not support; the message says which."""


class Incomplete(SyntaxProblem):
    """A script ends inside a quote, a substitution or a command; more lines may complete it."""


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    is_operator: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redirection:
    number: int
    """The redirected stream: 0, 1 or 2; 3 means both 1 and 2."""
    kind: str
    target: str


@dataclass(frozen=True, slots=True)
class Simple:
    assignments: tuple[str, ...]
    words: tuple[str, ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """``{ … }``, ``( … )``, ``if``, ``while``, ``until`` and ``for``."""

    kind: str
    parts: tuple[tuple[Step, ...], ...]
    """The inner scripts in order. For ``if``: conditions and branches alternate, and the branch of ``else`` is last."""
    name: str = ""
    """The variable of ``for``."""
    words: tuple[str, ...] | None = None
    """The words of ``for``; None means the arguments of the script."""
    redirections: tuple[Redirection, ...] = ()


Command = Simple | Block


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline, and the operator before it: ``;``, ``&&`` or ``||``."""

    operator: str
    commands: tuple[Command, ...]
    negated: bool
    source: str


def parse(script: str) -> tuple[Step, ...]:
    """The steps of a script; raises ``SyntaxProblem``."""
    if len(script) > LONGEST_SCRIPT:
        raise SyntaxProblem(f"a script of more than {LONGEST_SCRIPT} characters is not supported by this shell")
    parser = _Parser(script, tokens(script))
    steps = parser.steps(frozenset())
    if parser.token is not None:
        raise parser.unexpected()
    return steps


def tokens(script: str) -> list[Token]:
    result: list[Token] = []
    index = 0
    while index < len(script):
        if space := _SPACE.match(script, index):
            index = space.end()
        elif script[index] == "#":
            index = script.find("\n", index) if "\n" in script[index:] else len(script)
        elif operator := _OPERATOR.match(script, index):
            result.append(Token(operator[0], True, index, operator.end()))
            index = operator.end()
        else:
            end = word_end(script, index)
            result.append(Token(script[index:end], False, index, end))
            index = end
    return result


def word_end(script: str, index: int) -> int:
    """The index after the word that begins here, including its quotes and substitutions."""
    while index < len(script):
        if plain := _PLAIN.match(script, index):
            index = plain.end()
        elif script[index] in "'\"`$\\":
            index = part_end(script, index)
        else:
            break
    return index


def part_end(script: str, index: int) -> int:
    """The index after the quote, substitution or escaped character that begins here; raises ``Incomplete``."""
    char = script[index]
    if char == "'":
        return _index_after(script, index + 1, "'")
    if char == "\\":
        return min(index + 2, len(script))
    if char in '`"':
        return _skip_to_closing(script, index + 1, char)
    if script.startswith(("$(", "${"), index):
        return _skip_to_closing(script, index + 2, _CLOSING[script[index + 1]])
    return index + 1


def _index_after(script: str, index: int, char: str) -> int:
    end = script.find(char, index)
    if end < 0:
        raise Incomplete(f"unexpected EOF while looking for matching `{char}'")
    return end + 1


def _skip_to_closing(script: str, index: int, closing: str) -> int:
    """The index after the closing delimiter; nested quotes and substitutions are skipped."""
    closings = [closing]
    while index < len(script):
        char, inner = script[index], closings[-1]
        if char == inner:
            closings.pop()
            if not closings:
                return index + 1
        elif char == "\\":
            index += 1
        elif char == "'" and inner != '"':
            index = _index_after(script, index + 1, "'") - 1
        elif inner_closing := _closing_of(script, index, inner):
            closings.append(inner_closing)
            index += char == "$"
        if len(closings) > MAX_DEPTH:
            raise SyntaxProblem(f"more than {MAX_DEPTH} nested substitutions")
        index += 1
    raise Incomplete(f"unexpected EOF while looking for matching `{closings[-1]}'")


def _closing_of(script: str, index: int, inner: str) -> str:
    """The closing delimiter of a quote or substitution that starts here; empty if none starts.

    ``inner`` is the closing delimiter of the innermost quote or substitution around it.
    """
    if script.startswith(("$(", "${"), index):
        return _CLOSING[script[index + 1]]
    if script[index] in '"`':
        return script[index]
    return ")" if script[index] == "(" and inner == ")" else ""


class _Parser:
    """Parses the tokens of one script by recursive descent."""

    def __init__(self, script: str, token_list: Sequence[Token]) -> None:
        self._script = script
        self._tokens = token_list
        self._index = 0
        self._depth = 0

    @property
    def token(self) -> Token | None:
        return self._tokens[self._index] if self._index < len(self._tokens) else None

    def unexpected(self) -> SyntaxProblem:
        if self.token is None:
            return Incomplete("syntax error: unexpected end of file")
        previous = self._tokens[self._index - 1] if self._index else None
        if previous is not None and previous.end == self.token.start:
            operator = (previous.text if previous.is_operator else previous.text[-1:]) + self.token.text
            if operator in _BASH_OPERATORS:
                return SyntaxProblem(f"`{operator}': {_BASH_OPERATORS[operator]} are not supported by this shell")
        token_text = "newline" if self.token.text == "\n" else self.token.text
        return SyntaxProblem(f"syntax error near unexpected token `{token_text}'")

    def _is(self, *texts: str) -> bool:
        return self.token is not None and self.token.text in texts

    def _take(self) -> Token:
        if self.token is None:
            raise self.unexpected()
        token = self.token
        self._index += 1
        return token

    def _skip_lines(self) -> None:
        while self._is("\n"):
            self._index += 1

    def steps(self, ends: frozenset[str]) -> tuple[Step, ...]:
        """Parse up to one of these words or a closing parenthesis, which is not consumed."""
        result: list[Step] = []
        operator = ";"
        self._skip_lines()
        while self.token is not None and not self._is(")", *ends):
            result.append(self._step(operator))
            if not self._is("&&", "||", ";", "\n"):
                break
            operator = self._take().text
            if operator in ("&&", "||"):
                self._skip_lines()
                if self.token is None:
                    raise self.unexpected()
            else:
                operator = ";"
                self._skip_lines()
        return tuple(result)

    def _step(self, operator: str) -> Step:
        start = self.token.start if self.token else 0
        negated = self._is("!")
        if negated:
            self._take()
        commands = [self._command()]
        while self._is("|"):
            self._take()
            self._skip_lines()
            commands.append(self._command())
        if self._is("&"):
            raise SyntaxProblem("`&' is not supported by this shell: one command runs after the other")
        end = self._tokens[self._index - 1].end
        return Step(operator, tuple(commands), negated, self._script[start:end])

    def _command(self) -> Command:
        if self.token is None or (self.token.is_operator and self.token.text not in ("(", *_REDIRECTION_OPERATORS)):
            raise self.unexpected()
        text = self.token.text
        if text in _UNSUPPORTED:
            raise SyntaxProblem(f"`{text}': {_UNSUPPORTED[text]} not supported by this shell")
        if text in _RESERVED:
            raise self.unexpected()
        if text not in ("(", "{", "if", "while", "until", "for"):
            return self._simple()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise SyntaxProblem(f"more than {MAX_DEPTH} nested commands")
        block = self._block(self._take().text)
        self._depth -= 1
        return block

    def _block(self, kind: str) -> Block:
        name, words = "", None
        if kind == "for":
            name, words = self._loop_head()
        if kind in ("(", "{"):
            parts = [self.steps(frozenset({"}"}))]
            self._expect(")" if kind == "(" else "}")
        elif kind == "if":
            parts = self._branches()
        else:
            parts = [] if kind == "for" else [self._script_until("do")]
            if kind == "for":
                self._expect("do")
            parts.append(self._script_until("done"))
        if not all(parts):
            raise self.unexpected()
        return Block(kind, tuple(parts), name, words, tuple(self._redirections()))

    def _branches(self) -> list[tuple[Step, ...]]:
        parts = [self._script_until("then")]
        while True:
            parts.append(self.steps(frozenset({"elif", "else", "fi"})))
            word = self._take().text
            if word == "elif":
                parts.append(self._script_until("then"))
            elif word == "else":
                parts.append(self._script_until("fi"))
                return parts
            elif word == "fi":
                return parts
            else:
                self._index -= 1
                raise self.unexpected()

    def _script_until(self, word: str) -> tuple[Step, ...]:
        steps = self.steps(frozenset({word}))
        self._expect(word)
        return steps

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise self.unexpected()
        self._index += 1

    def _loop_head(self) -> tuple[str, tuple[str, ...] | None]:
        name = self._take().text
        if not _NAME.fullmatch(name):
            raise SyntaxProblem(f"`{name}': not a valid identifier")
        words: list[str] | None = None
        if self._is("in"):
            self._take()
            words = []
            while self.token is not None and not self.token.is_operator:
                words.append(self._take().text)
        if self._is(";"):
            self._take()
        self._skip_lines()
        return name, None if words is None else tuple(words)

    def _simple(self) -> Simple:
        assignments: list[str] = []
        words: list[str] = []
        redirections: list[Redirection] = []
        while self.token is not None:
            if self.token.is_operator:
                if self.token.text not in _REDIRECTION_OPERATORS:
                    break
                redirections.append(self._redirection(1 if self.token.text in (">", ">>", ">&") else 0))
            elif self._is_stream_number():
                redirections.append(self._redirection(int(self._take().text)))
            elif not words and _ASSIGNMENT.match(self.token.text):
                assignments.append(self._take().text)
            else:
                words.append(self._take().text)
                if len(words) == 1 and self._is("("):
                    raise SyntaxProblem(f"`{words[0]}()': functions are not supported by this shell")
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def _redirections(self) -> list[Redirection]:
        redirections = []
        while self.token is not None:
            if self._is_stream_number():
                redirections.append(self._redirection(int(self._take().text)))
            elif self.token.is_operator and self.token.text in _REDIRECTION_OPERATORS:
                redirections.append(self._redirection(1 if self.token.text in (">", ">>", ">&") else 0))
            else:
                break
        return redirections

    def _is_stream_number(self) -> bool:
        """Whether a stream number follows, as in ``2>``: a number directly before a redirection operator."""
        if self.token is None or not self.token.text.isdecimal() or self._index + 1 >= len(self._tokens):
            return False
        operator = self._tokens[self._index + 1]
        if not (operator.is_operator and operator.text in _REDIRECTION_OPERATORS and operator.start == self.token.end):
            return False
        if self.token.text not in ("0", "1", "2"):
            token_text = self.token.text[:10] + operator.text
            raise SyntaxProblem(f"`{token_text}' is not supported by this shell: it has the streams 0, 1 and 2")
        return True

    def _redirection(self, number: int) -> Redirection:
        operator = self._take().text
        if operator in ("<<", "<<<", "<&"):
            raise SyntaxProblem(f"`{operator}' is not supported by this shell: it reads from files and pipes")
        if self.token is None or self.token.is_operator:
            raise self.unexpected()
        return Redirection(3 if operator == "&>" else number, operator, self._take().text)


_REDIRECTION_OPERATORS = (">", ">>", "<", ">&", "&>", "<<", "<<<", "<&")
