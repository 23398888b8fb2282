"""Filters and tests of Jinja that playbooks use most; any other gives a value that is not known."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from typing import Any

from jinja2 import filters, tests

from csm_emulator.services.cfs.ansible.jinja.unknown import UNKNOWN, Unknown, known
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import is_too_heavy, is_too_long

LONGEST = 1 << 16
"""No text of a playbook grows beyond this; a variable that doubles itself ends as unknown."""
_LONGEST_PATTERN, _LONGEST_MATCHED = 100, 20
_REPEATS, _MOST_REPEATS = re.compile(r"[*+?{]"), 3
_REPEATED_GROUP = re.compile(r"\)[*+?{]")
_CHEAP = frozenset({"bool", "count", "d", "default", "first", "last", "length"})
"""Filters that look at no more than one item."""
_WALKED = 100
"""Items that the other filters look at with one unit of work."""
_WALKED_SLOWLY: Mapping[str, int] = {
    **dict.fromkeys(("unique", "sort", "union", "difference", "intersect"), 25),
    "select": 1,
}
_TRUE = ("yes", "on", "1", "true", "y", "t")


def as_bool(value: Any) -> bool:
    """As Ansible's own ``bool``."""
    if isinstance(value, str):
        return value.strip().lower() in _TRUE
    return bool(value)


def _default(value: Any, default_value: Any = "", boolean: Any = False) -> Any:
    if isinstance(value, Unknown):
        return value if value.defined else default_value
    return default_value if boolean and not value else value


def _join(value: Any, between: str = "") -> Any:
    parts: list[str] = []
    left = LONGEST
    for item in value:
        parts.append(str(item))
        left -= len(parts[-1]) + len(str(between))
        if left < -len(str(between)):
            return UNKNOWN
    return str(between).join(parts)


def _replace(value: Any, old: str, new: str) -> Any:
    text, found = str(value), str(value).count(str(old))
    if len(text) + found * (len(str(new)) - len(str(old))) > LONGEST:
        return UNKNOWN
    return text.replace(str(old), str(new))


def _unique(value: Any) -> list[Any]:
    found: dict[Hashable, Any] = {}
    for item in value:
        found.setdefault(frozen(item), item)
    return list(found.values())


def frozen(value: Any) -> Hashable:
    """The same for equal values, so that a set finds them."""
    if isinstance(value, list):
        return ("list", *map(frozen, value))
    if isinstance(value, dict):
        return ("dict", frozenset((key, frozen(held)) for key, held in value.items()))
    return value if isinstance(value, Hashable) else id(value)


def _difference(value: Any, other: Any) -> list[Any]:
    gone = set(map(frozen, other))
    return [item for item in value if frozen(item) not in gone]


def _intersection(value: Any, other: Any) -> list[Any]:
    there = set(map(frozen, other))
    return [item for item in value if frozen(item) in there]


def _select(value: Any, test: str, text: str = "") -> Any:
    """By a pattern. Long names are left out, and patterns that repeat much: they may take for ever."""
    if test not in ("match", "search") or len(text) > _LONGEST_PATTERN:
        return UNKNOWN
    if len(_REPEATS.findall(text)) > _MOST_REPEATS or _REPEATED_GROUP.search(text):
        return UNKNOWN
    fits = re.compile(text).match if test == "match" else re.compile(text).search
    return [item for item in value if len(str(item)) <= _LONGEST_MATCHED and fits(str(item))]


def _combine(value: Any, *others: Any) -> dict[Any, Any]:
    return {key: held for mapping in (value, *others) for key, held in mapping.items()}


def _items(value: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": held} for key, held in value.items()]


FILTERS: Mapping[str, Callable[..., Any]] = {
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


def labour(name: str, values: Sequence[Any]) -> int:
    """What the filter costs, in units of the meter."""
    if name in _CHEAP:
        return 0
    walked = _WALKED_SLOWLY.get(name, _WALKED)
    return sum(len(value) for value in values if isinstance(value, Sized)) // walked


def apply_filter(name: str, value: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """Returns ``UNKNOWN`` for a filter that is not in the table, and for values that it does not take."""
    operands = (value, *args, *options.values())
    try:
        if name in ("default", "d"):
            return _default(value, *args, **options)
        if name not in FILTERS or not known(*operands):
            return UNKNOWN
        if name not in _CHEAP and any(map(is_too_heavy, operands)):
            return UNKNOWN
        made = FILTERS[name](value, *args, **options)
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, re.error):
        return UNKNOWN
    return UNKNOWN if is_too_long(made) else made


def _of_result(field: str) -> Callable[[Any], Any]:
    return lambda value: bool(value.get(field)) if isinstance(value, Mapping) else UNKNOWN


def _good(value: Any) -> Any:
    return not value.get("failed") if isinstance(value, Mapping) else UNKNOWN


TESTS: Mapping[str, Callable[[Any], Any]] = {
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
    "failed": _of_result("failed"),
    "changed": _of_result("changed"),
    "skipped": _of_result("skipped"),
    "succeeded": _good,
    "success": _good,
}


def apply_test(name: str, value: Any) -> Any:
    if name in ("defined", "undefined"):
        there = not isinstance(value, Unknown) or value.defined
        return there if name == "defined" else not there
    if name not in TESTS or not known(value):
        return UNKNOWN
    return TESTS[name](value)
