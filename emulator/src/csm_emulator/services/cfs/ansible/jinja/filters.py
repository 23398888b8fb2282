"""The Jinja filters and tests that playbooks use most; any other filter or test gives ``UNKNOWN``."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Hashable, Mapping, Sequence, Sized

from jinja2 import filters, tests

from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import has_too_many_values, is_too_large_number
from csm_emulator.services.cfs.ansible.values import UNKNOWN, Unknown, Value, known

MAX_LENGTH = 1 << 16
"""Characters of a text or items of a list. A longer value is ``UNKNOWN``, so a variable that doubles itself ends."""
_MAX_PATTERN, _MAX_MATCHED = 100, 20
_REPEATS, _MAX_REPEATS = re.compile(r"[*+?{]"), 3
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_CHEAP = frozenset({"bool", "count", "d", "default", "first", "last", "length"})
"""Filters that read at most one item."""
_ITEMS_PER_UNIT = 100
"""Items that other filters process with one unit of work."""
_ITEMS_PER_UNIT_OF_SLOW: Mapping[str, int] = {
    **dict.fromkeys(("unique", "sort", "union", "difference", "intersect"), 25),
    "select": 1,
}
_TRUE = ("yes", "on", "1", "true", "y", "t")


def as_bool(value: Value) -> bool:
    """The truth of a value as Ansible's filter ``bool`` computes it."""
    if isinstance(value, str):
        return value.strip().lower() in _TRUE
    return bool(value)


def _default(value: Value, default_value: Value = "", boolean: Value = False) -> Value:
    if isinstance(value, Unknown):
        return value if value.defined else default_value
    return default_value if boolean and not value else value


def _join(value: Value, separator: str = "") -> Value:
    parts: list[str] = []
    budget = MAX_LENGTH
    for item in value:
        parts.append(str(item))
        budget -= len(parts[-1]) + len(str(separator))
        if budget < -len(str(separator)):
            return UNKNOWN
    return str(separator).join(parts)


def _replace(value: Value, old: str, new: str) -> Value:
    text, count = str(value), str(value).count(str(old))
    if len(text) + count * (len(str(new)) - len(str(old))) > MAX_LENGTH:
        return UNKNOWN
    return text.replace(str(old), str(new))


def _unique(value: Value) -> list[Value]:
    items_by_key: dict[Hashable, Value] = {}
    for item in value:
        items_by_key.setdefault(hashable_key(item), item)
    return list(items_by_key.values())


def hashable_key(value: Value) -> Hashable:
    """A hashable key that is equal for equal values."""
    if isinstance(value, list):
        return ("list", *map(hashable_key, value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, hashable_key(item)) for key, item in value.items()))
    return value if isinstance(value, Hashable) else id(value)


def _difference(value: Value, second: Value) -> list[Value]:
    excluded = set(map(hashable_key, second))
    return [item for item in value if hashable_key(item) not in excluded]


def _intersection(value: Value, second: Value) -> list[Value]:
    included = set(map(hashable_key, second))
    return [item for item in value if hashable_key(item) in included]


def _select(value: Value, test: str, text: str = "") -> Value:
    """Items that match a pattern. Long items and patterns with many repeats are excluded: they could take for ever."""
    if test not in ("match", "search") or len(text) > _MAX_PATTERN:
        return UNKNOWN
    if len(_REPEATS.findall(text)) > _MAX_REPEATS or _REPEATED_GROUP.search(text):
        return UNKNOWN
    match = re.compile(text).match if test == "match" else re.compile(text).search
    return [item for item in value if len(str(item)) <= _MAX_MATCHED and match(str(item))]


def _combine(value: Value, *mappings: Value) -> dict[Value, Value]:
    return {key: item for mapping in (value, *mappings) for key, item in mapping.items()}


def _items(value: Value) -> list[dict[str, Value]]:
    return [{"key": key, "value": item} for key, item in value.items()]


FILTERS: Mapping[str, Callable[..., Value]] = {
    "abs": abs,
    "float": filters.do_float,
    "int": filters.do_int,
    "length": len,
    "count": len,
    "list": list,
    "lower": filters.do_lower,
    "string": str,
    "trim": filters.do_trim,
    "upper": filters.do_upper,
    "bool": as_bool,
    "first": lambda value: value[0],
    "last": lambda value: value[-1],
    "join": _join,
    "replace": _replace,
    "split": lambda value, between=None: str(value).split(between),
    "unique": _unique,
    "sort": sorted,
    "union": lambda value, other: _unique([*value, *other]),
    "difference": _difference,
    "intersect": _intersection,
    "select": _select,
    "combine": _combine,
    "dict2items": _items,
    "basename": lambda value: posixpath.basename(str(value)),
    "dirname": lambda value: posixpath.dirname(str(value)),
    "quote": lambda value: f"'{value}'",
    "min": min,
    "max": max,
}


def filter_cost(name: str, values: Sequence[Value]) -> int:
    """The cost of the filter, in units of work."""
    if name in _CHEAP:
        return 0
    items_per_unit = _ITEMS_PER_UNIT_OF_SLOW.get(name, _ITEMS_PER_UNIT)
    return sum(len(value) for value in values if isinstance(value, Sized)) // items_per_unit


def apply_filter(name: str, value: Value, args: Sequence[Value], options: Mapping[str, Value]) -> Value:
    """The filtered value; ``UNKNOWN`` for an unsupported filter and for values that the filter refuses."""
    operands = (value, *args, *options.values())
    try:
        if name in ("default", "d"):
            return _default(value, *args, **options)
        if name not in FILTERS or not known(*operands):
            return UNKNOWN
        if name not in _CHEAP and any(map(has_too_many_values, operands)):
            return UNKNOWN
        result = FILTERS[name](value, *args, **options)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, re.error):
        return UNKNOWN
    return UNKNOWN if is_too_large_number(result) else result


def _result_field(field: str) -> Callable[[Value], Value]:
    return lambda value: bool(value.get(field)) if isinstance(value, Mapping) else UNKNOWN


def _succeeded(value: Value) -> Value:
    return not value.get("failed") if isinstance(value, Mapping) else UNKNOWN


TESTS: Mapping[str, Callable[[Value], Value]] = {
    "boolean": tests.test_boolean,
    "false": tests.test_false,
    "float": tests.test_float,
    "integer": tests.test_integer,
    "iterable": tests.test_iterable,
    "mapping": tests.test_mapping,
    "none": tests.test_none,
    "number": tests.test_number,
    "sequence": tests.test_sequence,
    "string": tests.test_string,
    "true": tests.test_true,
    "truthy": bool,
    "falsy": lambda value: not value,
    "failed": _result_field("failed"),
    "changed": _result_field("changed"),
    "skipped": _result_field("skipped"),
    "succeeded": _succeeded,
    "success": _succeeded,
}


def apply_test(name: str, value: Value) -> Value:
    if name in ("defined", "undefined"):
        is_defined = not isinstance(value, Unknown) or value.defined
        return is_defined if name == "defined" else not is_defined
    if name not in TESTS or not known(value):
        return UNKNOWN
    return TESTS[name](value)
