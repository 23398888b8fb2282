"""Jinja's expressions, read once and then evaluated for every host.

An expression becomes a function of the variables.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from csm_emulator.services.cfs.ansible.jinja.filters import apply_filter, apply_test, labour
from csm_emulator.services.cfs.ansible.jinja.operators import (
    Expression,
    Variables,
    added,
    all_of,
    any_of,
    choice,
    constant,
    contains,
    cut_out,
    glue,
    member,
    negate,
    only_numbers,
    strict,
)
from csm_emulator.services.cfs.ansible.jinja.tokens import BadExpression, Token, cut
from csm_emulator.services.cfs.ansible.jinja.unknown import UNKNOWN

_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ADD: Mapping[str, Callable[[Any, Any], Any]] = {"+": added, "-": operator.sub}
_TIMES: Mapping[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "none": None, "None": None}
_DEEPEST = 50


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Expression:
    """Raises ``BadExpression``."""
    parser = _Parser(cut(text))
    expression = parser.whole()
    if parser.here.kind != "end":
        raise BadExpression(parser.here.text)
    return expression


def evaluate(text: str, variables: Variables) -> Any:
    """Unknown when the text is beyond what is followed here."""
    try:
        return compile_expression(text)(variables)
    except BadExpression:
        return UNKNOWN


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._place = 0
        self._depth = 0

    @property
    def here(self) -> Token:
        return self._tokens[self._place]

    def _take(self, *texts: str) -> str:
        """The word here when it is one of these and no text; empty otherwise."""
        token = self.here
        if token.text in texts and token.kind in ("sign", "name"):
            self._place += 1
            return token.text
        return ""

    def _want(self, text: str) -> None:
        if not self._take(text):
            raise BadExpression(f"{text} wanted, found {self.here.text!r}")

    def whole(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadExpression("too deep")
        value = self._either()
        if self._take("if"):
            condition = self._either()
            other: Expression = self.whole() if self._take("else") else lambda _: ""
            value = choice(condition, value, other)
        self._depth -= 1
        return value

    def _either(self) -> Expression:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else any_of(parts)

    def _both(self) -> Expression:
        parts = [self._negation()]
        while self._take("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else all_of(parts)

    def _negation(self) -> Expression:
        turned = False
        while self._take("not"):
            turned = not turned
        value = self._comparison()
        return negate(value) if turned else value

    def _comparison(self) -> Expression:
        left = self._sum()
        while True:
            if sign := self._take(*_COMPARE):
                left = strict(_COMPARE[sign], left, self._sum())
            elif self._take("in"):
                left = strict(contains, left, self._sum())
            elif self.here.text == "not" and self._tokens[self._place + 1].text == "in":
                self._place += 2
                left = negate(strict(contains, left, self._sum()))
            elif self._take("is"):
                left = self._test(left)
            else:
                return left

    def _test(self, value: Expression) -> Expression:
        turned = bool(self._take("not"))
        name = self._name()
        if self._take("("):
            self._arguments(")")
        tested: Expression = lambda variables: apply_test(name, value(variables))  # noqa: E731
        return negate(tested) if turned else tested

    def _sum(self) -> Expression:
        left = self._product()
        while sign := self._take("+", "-", "~"):
            right = self._product()
            left = strict(_ADD[sign], left, right) if sign in _ADD else strict(glue, left, right)
        return left

    def _product(self) -> Expression:
        left = self._postfix()
        while sign := self._take(*_TIMES):
            left = strict(only_numbers(_TIMES[sign]), left, self._postfix())
        return left

    def _postfix(self) -> Expression:
        value = self._atom()
        while True:
            if self._take("."):
                value = strict(member, value, constant(self._name()))
            elif self._take("["):
                value = self._subscript(value)
            elif self._take("("):
                self._arguments(")")
                value = constant(UNKNOWN)
            elif self._take("|"):
                value = self._filter(value)
            else:
                return value

    def _subscript(self, value: Expression) -> Expression:
        """``[key]`` or ``[from:to]``."""
        first = constant(None) if self.here.text == ":" else self.whole()
        if not self._take(":"):
            self._want("]")
            return strict(member, value, first)
        last = constant(None) if self.here.text == "]" else self.whole()
        self._want("]")
        between: Expression = lambda variables: (first(variables), last(variables))  # noqa: E731
        return strict(cut_out, value, between)

    def _filter(self, value: Expression) -> Expression:
        name = self._name()
        args = self._arguments(")") if self._take("(") else []

        def filtered(variables: Variables) -> Any:
            found, given = value(variables), [argument(variables) for argument in args]
            if effort := labour(name, (found, *given)):
                variables.work(effort)
            return apply_filter(name, found, given)

        return filtered

    def _arguments(self, closing: str) -> list[Expression]:
        arguments: list[Expression] = []
        while not self._take(closing):
            arguments.append(self.whole())
            if not self._take(","):
                self._want(closing)
                break
        return arguments

    def _name(self) -> str:
        name, token = self.here.text, self.here
        if token.kind not in ("name", "number"):
            raise BadExpression(name)
        self._place += 1
        return name

    def _atom(self) -> Expression:
        token = self.here
        self._place += token.kind != "end"
        if token.kind in ("number", "text"):
            return constant(token.value())
        if token.kind == "name":
            if token.text in _CONSTANTS:
                return constant(_CONSTANTS[token.text])
            return lambda variables: variables(token.text)
        if token.text == "(":
            return self._group()
        if token.text == "[":
            items = self._arguments("]")
            return lambda variables: [item(variables) for item in items]
        if token.text == "-":
            return strict(operator.sub, constant(0), self._postfix())
        raise BadExpression(token.text)

    def _group(self) -> Expression:
        value = self.whole()
        self._want(")")
        return value
