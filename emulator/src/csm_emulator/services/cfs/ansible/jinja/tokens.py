"""Jinja's expressions cut into words."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

_WORD = re.compile(
    r"\s*(?:(?P<number>\d{1,30}(?:\.\d{1,30})?)|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>==|!=|<=|>=|//|[-+*/%~<>|.,:()\[\]{}]))"
)


class BadExpression(ValueError):
    """It is none of Jinja's, or beyond what is followed here."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    """number, text, name, sign or end."""
    text: str

    def value(self) -> str | int | float:
        """Raises ``BadExpression`` for a text with marks that mean nothing."""
        if self.kind == "text":
            return _unescaped(self.text) if "\\" in self.text else self.text[1:-1]
        return float(self.text) if "." in self.text else int(self.text)


END = Token("end", "")
MOST_WORDS = 150
"""Of one expression: they are followed on the stack."""


def _unescaped(text: str) -> str:
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError) as error:
        raise BadExpression(text) from error


def cut(text: str) -> list[Token]:
    tokens: list[Token] = []
    place, text = 0, text.strip()
    while place < len(text):
        found = _WORD.match(text, place)
        if found is None or len(tokens) == MOST_WORDS:
            raise BadExpression(text[place:])
        tokens.append(Token(str(found.lastgroup), found[str(found.lastgroup)]))
        place = found.end()
    return [*tokens, END]
