"""A script as commands and what joins them.

Words stay as they were written, with their quotes: ``expansion`` makes values of them when the command runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from csm_emulator.shell.budget import DEEPEST

LONGEST_SCRIPT = 64 << 10
_OPERATOR = re.compile(r"\|\||&&|;;|<<<|<<|>>|>&|<&|&>|[;&|<>()\n]")
_SPACE = re.compile(r"(?:[ \t]|\\\n)+")
_PLAIN = re.compile(r"[^\s'\"\\`$;&|<>()]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_CLOSING = {"(": ")", "{": "}"}
_RESERVED = frozenset({"then", "elif", "else", "fi", "do", "done", "}"})
_BASH = {"|&": "pipes of both streams", "<(": "process substitutions", ">(": "process substitutions", "=(": "arrays"}
_BEYOND = {"case": "case is", "function": "functions are", "select": "select is", "[[": "[[ is"}


class SyntaxProblem(Exception):
    """No script, or more than this shell can do; the text says which."""


class Incomplete(SyntaxProblem):
    """More lines may complete it."""


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    operator: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Redirection:
    number: int
    """Of the stream: 0, 1, 2; or 3 for 1 and 2 together."""
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
    """The scripts in it, in order; of ``if`` conditions and branches by turns, at the end the one of ``else``."""
    name: str = ""
    words: tuple[str, ...] | None = None
    """Of ``for``; None stands for the arguments of the script."""
    redirections: tuple[Redirection, ...] = ()


Command = Simple | Block


@dataclass(frozen=True, slots=True)
class Step:
    """A pipeline, and what joins it to the one before: ``;``, ``&&``, ``||``."""

    joint: str
    commands: tuple[Command, ...]
    negated: bool
    source: str


def parse(script: str) -> tuple[Step, ...]:
    """Raises ``SyntaxProblem``."""
    if len(script) > LONGEST_SCRIPT:
        raise SyntaxProblem(f"a script of more than {LONGEST_SCRIPT} characters is more than this shell can do")
    reader = _Reader(script, tokens(script))
    steps = reader.steps(frozenset())
    if reader.token is not None:
        raise reader.unexpected()
    return steps


def tokens(script: str) -> list[Token]:
    result: list[Token] = []
    place = 0
    while place < len(script):
        if space := _SPACE.match(script, place):
            place = space.end()
        elif script[place] == "#":
            place = script.find("\n", place) if "\n" in script[place:] else len(script)
        elif operator := _OPERATOR.match(script, place):
            result.append(Token(operator[0], True, place, operator.end()))
            place = operator.end()
        else:
            end = word_end(script, place)
            result.append(Token(script[place:end], False, place, end))
            place = end
    return result


def word_end(script: str, place: int) -> int:
    """Where the word ends that begins here, with all its quotes and substitutions."""
    while place < len(script):
        if plain := _PLAIN.match(script, place):
            place = plain.end()
        elif script[place] in "'\"`$\\":
            place = part_end(script, place)
        else:
            break
    return place


def part_end(script: str, place: int) -> int:
    """Where the quotes, the substitution or the escaped character end that begin here; raises ``Incomplete``."""
    sign = script[place]
    if sign == "'":
        return _after(script, place + 1, "'")
    if sign == "\\":
        return min(place + 2, len(script))
    if sign in '`"':
        return _closing(script, place + 1, sign)
    if script.startswith(("$(", "${"), place):
        return _closing(script, place + 2, _CLOSING[script[place + 1]])
    return place + 1


def _after(script: str, place: int, sign: str) -> int:
    end = script.find(sign, place)
    if end < 0:
        raise Incomplete(f"unexpected EOF while looking for matching `{sign}'")
    return end + 1


def _closing(script: str, place: int, sign: str) -> int:
    """Behind the sign that closes; what is quoted or substituted inside is skipped."""
    waiting = [sign]
    while place < len(script):
        sign_here, inner = script[place], waiting[-1]
        if sign_here == inner:
            waiting.pop()
            if not waiting:
                return place + 1
        elif sign_here == "\\":
            place += 1
        elif sign_here == "'" and inner != '"':
            place = _after(script, place + 1, "'") - 1
        elif opened := _opened(script, place, inner):
            waiting.append(opened)
            place += sign_here == "$"
        if len(waiting) > DEEPEST:
            raise SyntaxProblem(f"more than {DEEPEST} substitutions in one another")
        place += 1
    raise Incomplete(f"unexpected EOF while looking for matching `{waiting[-1]}'")


def _opened(script: str, place: int, inner: str) -> str:
    """What closes that which opens here, inside of something that ``inner`` closes; empty when nothing opens."""
    if script.startswith(("$(", "${"), place):
        return _CLOSING[script[place + 1]]
    if script[place] in '"`':
        return script[place]
    return ")" if script[place] == "(" and inner == ")" else ""


class _Reader:
    """Tokens, one after the other."""

    def __init__(self, script: str, token_list: Sequence[Token]) -> None:
        self._script = script
        self._tokens = token_list
        self._place = 0
        self._depth = 0

    @property
    def token(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def unexpected(self) -> SyntaxProblem:
        if self.token is None:
            return Incomplete("syntax error: unexpected end of file")
        previous = self._tokens[self._place - 1] if self._place else None
        if previous is not None and previous.end == self.token.start:
            mark = (previous.text if previous.operator else previous.text[-1:]) + self.token.text
            if mark in _BASH:
                return SyntaxProblem(f"`{mark}': {_BASH[mark]} are more than this shell can do")
        token_text = "newline" if self.token.text == "\n" else self.token.text
        return SyntaxProblem(f"syntax error near unexpected token `{token_text}'")

    def _is(self, *texts: str) -> bool:
        return self.token is not None and self.token.text in texts

    def _take(self) -> Token:
        if self.token is None:
            raise self.unexpected()
        token = self.token
        self._place += 1
        return token

    def _skip_lines(self) -> None:
        while self._is("\n"):
            self._place += 1

    def steps(self, ends: frozenset[str]) -> tuple[Step, ...]:
        """Until one of these words, or what closes; the word is left."""
        result: list[Step] = []
        joint = ";"
        self._skip_lines()
        while self.token is not None and not self._is(")", *ends):
            result.append(self._step(joint))
            if not self._is("&&", "||", ";", "\n"):
                break
            joint = self._take().text
            if joint in ("&&", "||"):
                self._skip_lines()
                if self.token is None:
                    raise self.unexpected()
            else:
                joint = ";"
                self._skip_lines()
        return tuple(result)

    def _step(self, joint: str) -> Step:
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
            raise SyntaxProblem("`&' is more than this shell can do: one command runs after the other")
        end = self._tokens[self._place - 1].end
        return Step(joint, tuple(commands), negated, self._script[start:end])

    def _command(self) -> Command:
        if self.token is None or (self.token.operator and self.token.text not in ("(", *_MARKS)):
            raise self.unexpected()
        text = self.token.text
        if text in _BEYOND:
            raise SyntaxProblem(f"`{text}': {_BEYOND[text]} more than this shell can do")
        if text in _RESERVED:
            raise self.unexpected()
        if text not in ("(", "{", "if", "while", "until", "for"):
            return self._simple()
        self._depth += 1
        if self._depth > DEEPEST:
            raise SyntaxProblem(f"more than {DEEPEST} commands in one another")
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
                self._place -= 1
                raise self.unexpected()

    def _script_until(self, word: str) -> tuple[Step, ...]:
        steps = self.steps(frozenset({word}))
        self._expect(word)
        return steps

    def _expect(self, text: str) -> None:
        if not self._is(text):
            raise self.unexpected()
        self._place += 1

    def _loop_head(self) -> tuple[str, tuple[str, ...] | None]:
        name = self._take().text
        if not _NAME.fullmatch(name):
            raise SyntaxProblem(f"`{name}': not a valid identifier")
        words: list[str] | None = None
        if self._is("in"):
            self._take()
            words = []
            while self.token is not None and not self.token.operator:
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
            if self.token.operator:
                if self.token.text not in _MARKS:
                    break
                redirections.append(self._redirection(1 if self.token.text in (">", ">>", ">&") else 0))
            elif self._is_number_of_stream():
                redirections.append(self._redirection(int(self._take().text)))
            elif not words and _ASSIGNMENT.match(self.token.text):
                assignments.append(self._take().text)
            else:
                words.append(self._take().text)
                if len(words) == 1 and self._is("("):
                    raise SyntaxProblem(f"`{words[0]}()': functions are more than this shell can do")
        return Simple(tuple(assignments), tuple(words), tuple(redirections))

    def _redirections(self) -> list[Redirection]:
        redirections = []
        while self.token is not None:
            if self._is_number_of_stream():
                redirections.append(self._redirection(int(self._take().text)))
            elif self.token.operator and self.token.text in _MARKS:
                redirections.append(self._redirection(1 if self.token.text in (">", ">>", ">&") else 0))
            else:
                break
        return redirections

    def _is_number_of_stream(self) -> bool:
        """``2>``: a number with the mark right behind it."""
        if self.token is None or not self.token.text.isdecimal() or self._place + 1 >= len(self._tokens):
            return False
        mark = self._tokens[self._place + 1]
        if not (mark.operator and mark.text in _MARKS and mark.start == self.token.end):
            return False
        if self.token.text not in ("0", "1", "2"):
            token_text = self.token.text[:10] + mark.text
            raise SyntaxProblem(f"`{token_text}' is more than this shell can do: it has the streams 0, 1 and 2")
        return True

    def _redirection(self, number: int) -> Redirection:
        mark = self._take().text
        if mark in ("<<", "<<<", "<&"):
            raise SyntaxProblem(f"`{mark}' is more than this shell can do: it reads from files and pipes")
        if self.token is None or self.token.operator:
            raise self.unexpected()
        return Redirection(3 if mark == "&>" else number, mark, self._take().text)


_MARKS = (">", ">>", "<", ">&", "&>", "<<", "<<<", "<&")
