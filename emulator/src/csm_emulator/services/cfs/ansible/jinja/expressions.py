"""Jinja's expressions: jinja2 parses them, and what is evaluated here has a bound at every step.

No expression is compiled to Python, and none reaches an attribute or a method of an object: see decision 27.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce, singledispatch
from typing import Any

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from csm_emulator.services.cfs.ansible.jinja.filters import apply_filter, apply_test, labour
from csm_emulator.services.cfs.ansible.jinja.operators import (
    Expression,
    Variables,
    added,
    all_of,
    any_of,
    choice,
    comparison,
    constant,
    contains,
    cut_out,
    glue,
    member,
    negate,
    only_numbers,
    power,
    strict,
)
from csm_emulator.services.cfs.ansible.jinja.unknown import UNKNOWN
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import is_too_long

MOST_TOKENS = 150
"""Of one expression: the parser and the evaluation follow them on the stack."""
_DEEPEST = 25
"""Brackets in brackets: the parser takes 14 frames of Python's stack for each."""
_LONGEST = 10_000
"""Characters of one expression, which the cache keeps."""
_WORD = re.compile(r"\w+|[^\w\s]")
_OPERATORS: Mapping[type[nodes.Expr], Callable[[Any, Any], Any]] = {
    nodes.Add: added,
    nodes.Sub: operator.sub,
    nodes.Mul: only_numbers(operator.mul),
    nodes.Div: only_numbers(operator.truediv),
    nodes.FloorDiv: only_numbers(operator.floordiv),
    nodes.Mod: only_numbers(operator.mod),
    nodes.Pow: only_numbers(power),
}
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": contains,
}


class _Unsupported(ValueError):
    """The expression is valid Jinja, and is not evaluated here."""


class _Limits(Extension):
    """Refuses an expression that is too long or too deep while it is read, before the parser builds anything of it."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        depth = 0
        for number, token in enumerate(stream):
            depth += (token.type in ("lparen", "lbracket", "lbrace")) - (token.type in ("rparen", "rbracket", "rbrace"))
            if number == MOST_TOKENS or depth > _DEEPEST:
                raise _Unsupported(f"more than {MOST_TOKENS} tokens or {_DEEPEST} brackets in brackets")
            yield token


_GRAMMAR = ImmutableSandboxedEnvironment(extensions=[_Limits])


@dataclass(frozen=True, slots=True)
class _Parsed:
    expression: Expression
    tokens: int
    """About as many as it has. To parse one takes a unit of the meter."""


def evaluate(text: str, variables: Variables) -> Any:
    """Returns ``UNKNOWN`` when the text is no expression, or is beyond the bounds."""
    if not variables.may_evaluate():
        return UNKNOWN
    misses = _parsed.cache_info().misses
    try:
        parsed = _parsed(text)
        variables.count(parsed.tokens, is_new=_parsed.cache_info().misses > misses)
        return parsed.expression(variables)
    except RecursionError:
        variables.count(MOST_TOKENS, is_new=True)
        return UNKNOWN


@lru_cache(maxsize=4096)
def _parsed(text: str) -> _Parsed:
    if len(text) > _LONGEST:
        return _Parsed(constant(UNKNOWN), MOST_TOKENS)
    tokens = min(1 + len(_WORD.findall(text)), MOST_TOKENS)
    try:
        parser = Parser(_GRAMMAR, text.strip(), state="variable")
        tree = parser.parse_expression()
        expression = _built(tree) if parser.stream.eos else constant(UNKNOWN)
    except (TemplateError, ValueError):
        expression = constant(UNKNOWN)
    return _Parsed(expression, tokens)


@singledispatch
def _built(node: nodes.Node) -> Expression:
    """The function of the variables that a node of jinja2's tree stands for."""
    raise _Unsupported(type(node).__name__)


@_built.register
def _(node: nodes.Const) -> Expression:
    if is_too_long(node.value):
        raise _Unsupported("a number that is too long")
    return constant(node.value)


@_built.register
def _(node: nodes.Name) -> Expression:
    name = node.name
    return lambda variables: variables(name)


@_built.register(nodes.List)
@_built.register(nodes.Tuple)
def _(node: nodes.List | nodes.Tuple) -> Expression:
    items = [_built(item) for item in node.items]
    return lambda variables: [item(variables) for item in items]


@_built.register
def _(node: nodes.Dict) -> Expression:
    pairs = [(_built(pair.key), _built(pair.value)) for pair in node.items]

    def mapping(variables: Variables) -> Any:
        entries = [(key(variables), value(variables)) for key, value in pairs]
        is_plain = all(isinstance(key, str | int | float | bool | None) for key, _ in entries)
        return dict(entries) if is_plain else UNKNOWN

    return mapping


@_built.register
def _(node: nodes.BinExpr) -> Expression:
    return strict(_OPERATORS[type(node)], _built(node.left), _built(node.right))


@_built.register
def _(node: nodes.And) -> Expression:
    return all_of([_built(node.left), _built(node.right)])


@_built.register
def _(node: nodes.Or) -> Expression:
    return any_of([_built(node.left), _built(node.right)])


@_built.register
def _(node: nodes.Not) -> Expression:
    return negate(_built(node.node))


@_built.register(nodes.Neg)
@_built.register(nodes.Pos)
def _(node: nodes.Neg | nodes.Pos) -> Expression:
    combine = operator.sub if isinstance(node, nodes.Neg) else operator.add
    return strict(only_numbers(combine), constant(0), _built(node.node))


@_built.register
def _(node: nodes.Compare) -> Expression:
    parts: list[Expression] = []
    left = _built(node.expr)
    for operand in node.ops:
        right = _built(operand.expr)
        if operand.op == "notin":
            parts.append(negate(comparison(contains, left, right)))
        else:
            parts.append(comparison(_COMPARISONS[operand.op], left, right))
        left = right
    return parts[0] if len(parts) == 1 else all_of(parts)


@_built.register
def _(node: nodes.Concat) -> Expression:
    return reduce(lambda left, right: strict(glue, left, right), map(_built, node.nodes))


@_built.register
def _(node: nodes.CondExpr) -> Expression:
    other = _built(node.expr2) if node.expr2 else constant("")
    return choice(_built(node.test), _built(node.expr1), other)


@_built.register
def _(node: nodes.Getattr) -> Expression:
    return strict(member, _built(node.node), constant(node.attr))


@_built.register
def _(node: nodes.Getitem) -> Expression:
    value, key = _built(node.node), node.arg
    if not isinstance(key, nodes.Slice):
        return strict(member, value, _built(key))
    ends = [_built(end) if end else constant(None) for end in (key.start, key.stop, key.step)]
    return strict(cut_out, value, lambda variables: [end(variables) for end in ends])


@_built.register
def _(_: nodes.Call) -> Expression:
    return constant(UNKNOWN)


@_built.register
def _(node: nodes.Filter) -> Expression:
    if node.node is None or node.dyn_args or node.dyn_kwargs:
        raise _Unsupported("a filter without a value, or with * or **")
    name, value = node.name, _built(node.node)
    arguments = [_built(argument) for argument in node.args]
    named = {str(pair.key): _built(pair.value) for pair in node.kwargs}

    def filtered(variables: Variables) -> Any:
        operands = [value(variables), *(argument(variables) for argument in arguments)]
        options = {key: option(variables) for key, option in named.items()}
        if effort := labour(name, [*operands, *options.values()]):
            variables.work(effort)
        return apply_filter(name, operands[0], operands[1:], options)

    return filtered


@_built.register
def _(node: nodes.Test) -> Expression:
    name, value = node.name, _built(node.node)
    return lambda variables: apply_test(name, value(variables))
