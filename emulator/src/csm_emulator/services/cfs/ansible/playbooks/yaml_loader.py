"""YAML as Ansible reads it: every mapping records its location, and errors have Ansible's messages."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from csm_emulator.services.cfs.ansible.values import Value

PARSER_ERROR = 4
_MAX_DEPTH = 100
MAX_VALUES = 1 << 16
"""Values in a document after aliases are expanded; a long text counts as several."""
_CHARACTERS_PER_VALUE = 64
MAX_NUMBER_BITS = 4096
"""Bits of a number, so that repeated multiplication is bounded; Python prints at most 4300 digits."""
MAX_FILE_VALUES = 30_000
"""Values in one file; the parser takes about ten microseconds for each."""
_BRACKETS = re.compile(r"[\[\]{}]")
_DEEP_INDENTATION = re.compile(r"(?:[-?:][ \t]+){100}|^[ \t]{1000}", re.MULTILINE)
"""A hundred nested lists on one line, or a very deep indentation."""
OTHER_ERROR = 1


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    line: int
    column: int
    source: str


class AnsibleError(Exception):
    """Ansible stops with this message, before or during a play."""

    def __init__(self, message: str, place: Place | None = None, code: int = PARSER_ERROR) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.code = code

    def lines(self) -> list[str]:
        return [*f"ERROR! {self.message}".split("\n"), *(_excerpt(self.place) if self.place else [])]


class LocatedMapping(dict[Value, Value]):
    """A mapping with its location in the file."""

    place: Place


def _excerpt(place: Place) -> list[str]:
    lines = place.source.split("\n")
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    previous_line = [lines[place.line - 2]] if 1 < place.line <= len(lines) + 1 else []
    return [
        "",
        f"The error appears to be in '{place.path}': line {place.line}, column {place.column}, but may",
        "be elsewhere in the file depending on the exact syntax problem.",
        "",
        "The offending line appears to be:",
        "",
        *previous_line,
        line,
        f"{' ' * (place.column - 1)}^ here",
        "",
    ]


class _Loader(yaml.CSafeLoader):
    path = ""
    source = ""

    def flat(self, node: yaml.MappingNode) -> LocatedMapping:
        self.flatten_mapping(node)
        mapping = LocatedMapping()
        mapping.place = Place(self.path, node.start_mark.line + 1, node.start_mark.column + 1, self.source)
        for key, value in node.value:
            constructed = self.construct_object(key, deep=True)
            mapping[constructed if isinstance(constructed, str | int | float | bool | None) else str(constructed)] = (
                self.construct_object(value, deep=True)
            )
        return mapping


def _mapping(loader: _Loader, node: yaml.MappingNode) -> LocatedMapping:
    return loader.flat(node)


def _whole_number(loader: _Loader, node: yaml.ScalarNode) -> Value:
    """The number, or its text when it is too long to print."""
    number = loader.construct_yaml_int(node)
    return loader.construct_scalar(node) if is_too_large_number(number) else number


def _as_text(loader: _Loader, node: yaml.Node) -> Value:
    """Encrypted and ``!unsafe`` values as text."""
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)
_Loader.add_constructor("!vault", _as_text)
_Loader.add_constructor("!unsafe", _as_text)


def load(text: str, path: str) -> Value:
    """The parsed document; raises ``AnsibleError`` when it is not YAML, too deep, or too large when expanded."""
    if is_nested_too_deeply(text):
        raise AnsibleError(_unreadable("maximum recursion depth exceeded"))
    if estimate_values(text) > MAX_FILE_VALUES:
        raise AnsibleError(
            _unreadable(f"document has more than {MAX_FILE_VALUES} values; split {path} into several files")
        )
    try:
        document = _read(text, path)
        if has_too_many_values(document):
            raise AnsibleError(_unreadable("document contains excessive aliasing"))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(path, mark.line + 1, mark.column + 1, text) if mark else None
        raise AnsibleError(_unreadable(str(error.problem)), place) from error
    except (yaml.YAMLError, ValueError) as error:
        raise AnsibleError(_unreadable(str(error))) from error
    except RecursionError as error:
        raise AnsibleError(_unreadable("maximum recursion depth exceeded")) from error
    return document


def is_nested_too_deeply(text: str) -> bool:
    """Whether the text nests too deeply for the stack of the C parser; checked before it parses."""
    depth = 0
    for sign in _BRACKETS.findall(text):
        depth += 1 if sign in "[{" else -1
        if depth > _MAX_DEPTH:
            return True
    return _DEEP_INDENTATION.search(text) is not None


def estimate_values(text: str) -> int:
    """An upper bound of the number of values in the text, without parsing it."""
    return 1 + sum(map(text.count, "\n,:[{"))


def is_too_large_number(value: Value) -> bool:
    """Whether the value is a number with more than ``MAX_NUMBER_BITS`` bits."""
    return isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS


def has_too_many_values(value: Value) -> bool:
    """Whether the value has more than ``MAX_VALUES`` values with aliases expanded."""
    return count_values(value) > MAX_VALUES


def count_values(value: Value) -> int:
    """The number of values with aliases expanded."""
    if isinstance(value, dict | list):
        return _count_values(value, {})
    return 1 + len(value) // _CHARACTERS_PER_VALUE if isinstance(value, str) else 1


def _count_values(value: Value, counts: dict[int, int]) -> int:
    if not isinstance(value, dict | list):
        return 1 + len(value) // _CHARACTERS_PER_VALUE if isinstance(value, str) else 1
    if id(value) not in counts:
        counts[id(value)] = MAX_VALUES
        inner = value.values() if isinstance(value, dict) else value
        counts[id(value)] = 1 + sum(_count_values(item, counts) for item in inner)
    return counts[id(value)]


def _read(text: str, path: str) -> Value:
    loader = _Loader(text)
    loader.path, loader.source = path, text
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _unreadable(problem: str) -> str:
    return (
        "We were unable to read either as JSON nor YAML, these are the errors we got from each:\n"
        "JSON: Expecting value: line 1 column 1 (char 0)\n\nSyntax Error while loading YAML.\n  " + problem
    )
