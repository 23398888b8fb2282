"""Jinja expressions: jinja2 parses them, and this module evaluates them with a bound at every step.

No expression is compiled to Python, and none reaches an attribute or a method of an object: see decision 27.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce, singledispatch

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from csm_emulator.services.cfs.ansible.jinja.filters import apply_filter, apply_test, filter_cost
from csm_emulator.services.cfs.ansible.jinja.operators import (
    Expression,
    Variables,
    add,
    all_of,
    any_of,
    comparison,
    concatenate,
    conditional,
    constant,
    contains,
    member,
    negate,
    only_numbers,
    power,
    strict,
    take_slice,
)
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import is_too_large_number
from csm_emulator.services.cfs.ansible.values import UNKNOWN, Value

MAX_TOKENS = 150
"""Tokens of one expression; parser and evaluation recurse over them on Python's stack."""
_MAX_DEPTH = 25
"""Nested brackets; the parser takes 14 frames of Python's stack for each level."""
_MAX_LENGTH = 10_000
"""Characters of one expression; the cache keeps the text."""
_WORD = re.compile(r"\w+|[^\w\s]")
_OPERATORS: Mapping[type[nodes.Expr], Callable[[Value, Value], Value]] = {
    nodes.Add: add,
    nodes.Sub: operator.sub,
    nodes.Mul: only_numbers(operator.mul),
    nodes.Div: only_numbers(operator.truediv),
    nodes.FloorDiv: only_numbers(operator.floordiv),
    nodes.Mod: only_numbers(operator.mod),
    nodes.Pow: only_numbers(power),
}
_COMPARISONS: Mapping[str, Callable[[Value, Value], Value]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "lteq": operator.le,
    "gt": operator.gt,
    "gteq": operator.ge,
    "in": contains,
}


class _Unsupported(ValueError):
    """The expression is valid Jinja but is not supported here."""


class _Limits(Extension):
    """Refuses an expression that is too long or too deep while it is read, before the parser builds a tree."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        depth = 0
        for number, token in enumerate(stream):
            depth += (token.type in ("lparen", "lbracket", "lbrace")) - (token.type in ("rparen", "rbracket", "rbrace"))
            if number == MAX_TOKENS or depth > _MAX_DEPTH:
                raise _Unsupported(f"more than {MAX_TOKENS} tokens or {_MAX_DEPTH} brackets in brackets")
            yield token


_GRAMMAR = ImmutableSandboxedEnvironment(extensions=[_Limits])


@dataclass(frozen=True, slots=True)
class _Parsed:
    expression: Expression
    tokens: int
    """Estimated number of tokens. Parsing one token costs one unit of work."""


def evaluate(text: str, variables: Variables) -> Value:
    """The value of an expression; ``UNKNOWN`` when the text is not an expression or exceeds a bound."""
    if not variables.may_evaluate():
        return UNKNOWN
    misses = _parse.cache_info().misses
    try:
        parsed = _parse(text)
        variables.count(parsed.tokens, is_new=_parse.cache_info().misses > misses)
        return parsed.expression(variables)
    except RecursionError:
        variables.count(MAX_TOKENS, is_new=True)
        return UNKNOWN


@lru_cache(maxsize=4096)
def _parse(text: str) -> _Parsed:
    if len(text) > _MAX_LENGTH:
        return _Parsed(constant(UNKNOWN), MAX_TOKENS)
    tokens = min(1 + len(_WORD.findall(text)), MAX_TOKENS)
    try:
        parser = Parser(_GRAMMAR, text.strip(), state="variable")
        tree = parser.parse_expression()
        expression = _compile(tree) if parser.stream.eos else constant(UNKNOWN)
    except (TemplateError, ValueError):
        expression = constant(UNKNOWN)
    return _Parsed(expression, tokens)


@singledispatch
def _compile(node: nodes.Node) -> Expression:
    """The function from variables to a value that a node of jinja2's tree represents."""
    raise _Unsupported(type(node).__name__)


@_compile.register
def _(node: nodes.Const) -> Expression:
    if is_too_large_number(node.value):
        raise _Unsupported("a number that is too long")
    return constant(node.value)


@_compile.register
def _(node: nodes.Name) -> Expression:
    name = node.name
    return lambda variables: variables(name)


@_compile.register(nodes.List)
@_compile.register(nodes.Tuple)
def _(node: nodes.List | nodes.Tuple) -> Expression:
    items = [_compile(item) for item in node.items]
    return lambda variables: [item(variables) for item in items]


@_compile.register
def _(node: nodes.Dict) -> Expression:
    pairs = [(_compile(pair.key), _compile(pair.value)) for pair in node.items]

    def mapping(variables: Variables) -> Value:
        entries = [(key(variables), value(variables)) for key, value in pairs]
        is_plain = all(isinstance(key, str | int | float | bool | None) for key, _ in entries)
        return dict(entries) if is_plain else UNKNOWN

    return mapping


@_compile.register
def _(node: nodes.BinExpr) -> Expression:
    return strict(_OPERATORS[type(node)], _compile(node.left), _compile(node.right))


@_compile.register
def _(node: nodes.And) -> Expression:
    return all_of([_compile(node.left), _compile(node.right)])


@_compile.register
def _(node: nodes.Or) -> Expression:
    return any_of([_compile(node.left), _compile(node.right)])


@_compile.register
def _(node: nodes.Not) -> Expression:
    return negate(_compile(node.node))


@_compile.register(nodes.Neg)
@_compile.register(nodes.Pos)
def _(node: nodes.Neg | nodes.Pos) -> Expression:
    combine = operator.sub if isinstance(node, nodes.Neg) else operator.add
    return strict(only_numbers(combine), constant(0), _compile(node.node))


@_compile.register
def _(node: nodes.Compare) -> Expression:
    parts: list[Expression] = []
    left = _compile(node.expr)
    for operand in node.ops:
        right = _compile(operand.expr)
        if operand.op == "notin":
            parts.append(negate(comparison(contains, left, right)))
        else:
            parts.append(comparison(_COMPARISONS[operand.op], left, right))
        left = right
    return parts[0] if len(parts) == 1 else all_of(parts)


@_compile.register
def _(node: nodes.Concat) -> Expression:
    return reduce(lambda left, right: strict(concatenate, left, right), map(_compile, node.nodes))


@_compile.register
def _(node: nodes.CondExpr) -> Expression:
    other = _compile(node.expr2) if node.expr2 else constant("")
    return conditional(_compile(node.test), _compile(node.expr1), other)


@_compile.register
def _(node: nodes.Getattr) -> Expression:
    return strict(member, _compile(node.node), constant(node.attr))


@_compile.register
def _(node: nodes.Getitem) -> Expression:
    value, key = _compile(node.node), node.arg
    if not isinstance(key, nodes.Slice):
        return strict(member, value, _compile(key))
    ends = [_compile(end) if end else constant(None) for end in (key.start, key.stop, key.step)]
    return strict(take_slice, value, lambda variables: [end(variables) for end in ends])


@_compile.register
def _(_: nodes.Call) -> Expression:
    return constant(UNKNOWN)


@_compile.register
def _(node: nodes.Filter) -> Expression:
    if node.node is None or node.dyn_args or node.dyn_kwargs:
        raise _Unsupported("a filter without a value, or with * or **")
    name, value = node.name, _compile(node.node)
    arguments = [_compile(argument) for argument in node.args]
    named = {str(pair.key): _compile(pair.value) for pair in node.kwargs}

    def filtered(variables: Variables) -> Value:
        operands = [value(variables), *(argument(variables) for argument in arguments)]
        options = {key: option(variables) for key, option in named.items()}
        if effort := filter_cost(name, [*operands, *options.values()]):
            variables.work(effort)
        return apply_filter(name, operands[0], operands[1:], options)

    return filtered


@_compile.register
def _(node: nodes.Test) -> Expression:
    name, value = node.name, _compile(node.node)
    return lambda variables: apply_test(name, value(variables))
