"""YAML as Ansible reads it: every mapping knows where it stood, and errors read as Ansible's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

PARSER_ERROR = 4
_DEEPEST = 100
HEAVIEST = 1 << 16
"""Values in one, once it is unfolded, where a long text counts for several."""
_TEXT = 64
LONGEST_NUMBER = 4096
"""Bits: a number that is multiplied with itself again and again comes to an end. Python writes 4300 digits at most."""
MOST_PIECES = 30_000
"""Of one file: the parser takes about ten microseconds for each."""
_BRACKETS = re.compile(r"[\[\]{}]")
_STAIRS = re.compile(r"(?:[-?:][ \t]+){100}|^[ \t]{1000}", re.MULTILINE)
"""Lists in lists on one line, or very far to the right."""
OTHER_ERROR = 1


@dataclass(frozen=True, slots=True)
class Place:
    path: str
    line: int
    column: int
    source: str


class AnsibleError(Exception):
    """Ansible stops with these words, before or in the middle of a play."""

    def __init__(self, message: str, place: Place | None = None, code: int = PARSER_ERROR) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.code = code

    def lines(self) -> list[str]:
        return [*f"ERROR! {self.message}".split("\n"), *(_where(self.place) if self.place else [])]


class Mapping(dict[Any, Any]):
    """A mapping of a file, with its place."""

    place: Place


def _where(place: Place) -> list[str]:
    lines = place.source.split("\n")
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    before = [lines[place.line - 2]] if 1 < place.line <= len(lines) + 1 else []
    return [
        "",
        f"The error appears to be in '{place.path}': line {place.line}, column {place.column}, but may",
        "be elsewhere in the file depending on the exact syntax problem.",
        "",
        "The offending line appears to be:",
        "",
        *before,
        line,
        f"{' ' * (place.column - 1)}^ here",
        "",
    ]


class _Loader(yaml.CSafeLoader):
    path = ""
    source = ""

    def flat(self, node: yaml.MappingNode) -> Mapping:
        self.flatten_mapping(node)
        mapping = Mapping()
        mapping.place = Place(self.path, node.start_mark.line + 1, node.start_mark.column + 1, self.source)
        for key, value in node.value:
            made = self.construct_object(key, deep=True)
            mapping[made if isinstance(made, str | int | float | bool | None) else str(made)] = self.construct_object(
                value, deep=True
            )
        return mapping


def _mapping(loader: _Loader, node: yaml.MappingNode) -> Mapping:
    return loader.flat(node)


def _whole_number(loader: _Loader, node: yaml.ScalarNode) -> Any:
    """A number that is too long to be written as one stays the text that it was."""
    number = loader.construct_yaml_int(node)
    return loader.construct_scalar(node) if is_too_long(number) else number


def _as_text(loader: _Loader, node: yaml.Node) -> Any:
    """What is encrypted, or said not to be a template, is a text."""
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.add_constructor("tag:yaml.org,2002:int", _whole_number)
_Loader.add_constructor("!vault", _as_text)
_Loader.add_constructor("!unsafe", _as_text)


def load(text: str, path: str) -> Any:
    """Raises ``AnsibleError`` for what is no YAML, and for what is too deep or too large once it is unfolded."""
    if is_too_deep(text):
        raise AnsibleError(_unreadable("maximum recursion depth exceeded"))
    if count_pieces(text) > MOST_PIECES:
        raise AnsibleError(_unreadable(f"document has more than {MOST_PIECES} values; split {path} into several files"))
    try:
        found = _read(text, path)
        if is_too_heavy(found):
            raise AnsibleError(_unreadable("document contains excessive aliasing"))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(path, mark.line + 1, mark.column + 1, text) if mark else None
        raise AnsibleError(_unreadable(str(error.problem)), place) from error
    except (yaml.YAMLError, ValueError) as error:
        raise AnsibleError(_unreadable(str(error))) from error
    except RecursionError as error:
        raise AnsibleError(_unreadable("maximum recursion depth exceeded")) from error
    return found


def is_too_deep(text: str) -> bool:
    """Looked at before the parser does, which is written in C and has only so much stack."""
    depth = 0
    for sign in _BRACKETS.findall(text):
        depth += 1 if sign in "[{" else -1
        if depth > _DEEPEST:
            return True
    return _STAIRS.search(text) is not None


def count_pieces(text: str) -> int:
    """No fewer than there are values in it, without reading it."""
    return 1 + sum(map(text.count, "\n,:[{"))


def is_too_long(value: Any) -> bool:
    """Whether it is a number that no playbook needs."""
    return isinstance(value, int) and value.bit_length() > LONGEST_NUMBER


def is_too_heavy(value: Any) -> bool:
    """More than anybody writes, once it is unfolded."""
    return weigh(value) > HEAVIEST


def weigh(value: Any) -> int:
    """How many values it is when whatever is named twice is there twice."""
    if isinstance(value, dict | list):
        return _weight(value, {})
    return 1 + len(value) // _TEXT if isinstance(value, str) else 1


def _weight(value: Any, known: dict[int, int]) -> int:
    if not isinstance(value, dict | list):
        return 1 + len(value) // _TEXT if isinstance(value, str) else 1
    if id(value) not in known:
        known[id(value)] = HEAVIEST
        inner = value.values() if isinstance(value, dict) else value
        known[id(value)] = 1 + sum(_weight(item, known) for item in inner)
    return known[id(value)]


def _read(text: str, path: str) -> Any:
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
