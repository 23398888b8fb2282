"""Filters and tests of Jinja that playbooks use most; any other gives a value that is not known."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any

from canton.emulator.faces.cfs.runs.ansible.unknown import UNKNOWN, Unknown, known

LONGEST = 1 << 16
"""No text of a playbook grows beyond this; a variable that doubles itself ends as unknown."""
_LONGEST_PATTERN, _LONGEST_MATCHED = 100, 20
_TRUE = ("yes", "on", "1", "true", "y", "t")


def as_bool(value: Any) -> bool:
    """As Ansible's own ``bool``."""
    if isinstance(value, str):
        return value.strip().lower() in _TRUE
    return bool(value)


def _default(value: Any, other: Any = "", also_false: Any = False) -> Any:
    if isinstance(value, Unknown):
        return value if value.defined else other
    return other if also_false and not value else value


def _number(kind: Callable[[Any], Any]) -> Callable[..., Any]:
    def convert(value: Any, default: Any = 0) -> Any:
        try:
            return kind(value)
        except (TypeError, ValueError, OverflowError):
            return default

    return convert


def _join(value: Any, between: str = "") -> Any:
    joined = str(between).join(str(item) for item in value)
    return joined if len(joined) <= LONGEST else UNKNOWN


def _replace(value: Any, old: str, new: str) -> Any:
    replaced = str(value).replace(str(old), str(new))
    return replaced if len(replaced) <= LONGEST else UNKNOWN


def _unique(value: Any) -> list[Any]:
    return [item for place, item in enumerate(value) if item not in value[:place]]


def _select(value: Any, test: str, text: str = "") -> Any:
    """By a pattern. Long names are left out: a pattern may take for ever on them."""
    if test not in ("match", "search") or len(text) > _LONGEST_PATTERN:
        return UNKNOWN
    fits = re.compile(text).match if test == "match" else re.compile(text).search
    return [item for item in value if len(str(item)) <= _LONGEST_MATCHED and fits(str(item))]


def _combine(value: Any, *others: Any) -> dict[Any, Any]:
    return {key: held for mapping in (value, *others) for key, held in mapping.items()}


def _items(value: Any) -> list[dict[str, Any]]:
    return [{"key": key, "value": held} for key, held in value.items()]


FILTERS: Mapping[str, Callable[..., Any]] = {
    "bool": as_bool,
    "int": _number(int),
    "float": _number(float),
    "string": str,
    "lower": lambda value: str(value).lower(),
    "upper": lambda value: str(value).upper(),
    "trim": lambda value: str(value).strip(),
    "length": len,
    "count": len,
    "list": list,
    "first": lambda value: value[0],
    "last": lambda value: value[-1],
    "join": _join,
    "replace": _replace,
    "split": lambda value, between=None: str(value).split(between),
    "unique": _unique,
    "sort": sorted,
    "union": lambda value, other: _unique([*value, *other]),
    "difference": lambda value, other: [item for item in value if item not in other],
    "intersect": lambda value, other: [item for item in value if item in other],
    "select": _select,
    "combine": _combine,
    "dict2items": _items,
    "basename": lambda value: posixpath.basename(str(value)),
    "dirname": lambda value: posixpath.dirname(str(value)),
    "quote": lambda value: f"'{value}'",
    "abs": abs,
    "min": min,
    "max": max,
}


def apply_filter(name: str, value: Any, args: list[Any]) -> Any:
    if name in ("default", "d"):
        return _default(value, *args[:2])
    if name not in FILTERS or not known(value, *args):
        return UNKNOWN
    try:
        return FILTERS[name](value, *args)
    except (TypeError, ValueError, LookupError, AttributeError, re.error):
        return UNKNOWN


def _of_result(field: str) -> Callable[[Any], Any]:
    return lambda value: bool(value.get(field)) if isinstance(value, Mapping) else UNKNOWN


def _good(value: Any) -> Any:
    return not value.get("failed") if isinstance(value, Mapping) else UNKNOWN


TESTS: Mapping[str, Callable[[Any], Any]] = {
    "none": lambda value: value is None,
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float),
    "boolean": lambda value: isinstance(value, bool),
    "mapping": lambda value: isinstance(value, Mapping),
    "sequence": lambda value: isinstance(value, list | str | dict),
    "iterable": lambda value: isinstance(value, list | str | dict),
    "true": lambda value: value is True,
    "false": lambda value: value is False,
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
