"""YAML that has an equivalent in JSON, and YAML that has none."""

from __future__ import annotations

import json

import pytest
import yaml

from csm_emulator.dialects.go_json.values import DEEPEST
from csm_emulator.services.kubernetes.encoding.yaml import MOST_EVENTS, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"a: 1\nb: [x, null, 2.5, true]\n", {"a": 1, "b": ["x", None, 2.5, True]}),
        (b"d: 2027-01-01\nt: 2027-01-01T00:00:00Z", {"d": "2027-01-01", "t": "2027-01-01T00:00:00Z"}),
        (b"a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        (b'{"a": "2027-01-01", "b": [{}]}', {"a": "2027-01-01", "b": [{}]}),
        (b"", None),
    ],
)
def test_what_json_could_say_is_read(text: bytes, value: object) -> None:
    assert read(text) == value


def test_what_is_just_deep_enough_is_read() -> None:
    value = read(b"[" * DEEPEST + b"x" + b"]" * DEEPEST)
    for _ in range(DEEPEST):
        (value,) = value
    assert value == "x"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"a: &a [x, x]\nb: [*a, *a]\n", "aliases"),
        (b"a: &a {x: 1}\nb:\n  <<: *a\n", "aliases"),
        (b"[" * (DEEPEST + 1) + b"x" + b"]" * (DEEPEST + 1), "depth"),
        (b"- " * 100_000, "depth"),
        (b"[" + b"x," * MOST_EVENTS + b"x]", "more than"),
        (b"a: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        (b"a: b\n---\nc: d", "single document"),
    ],
)
def test_what_is_more_than_json_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(yaml.YAMLError, match=why):
        read(text)


def test_json_is_not_counted() -> None:
    """It is fast, and kubectl sends only such files."""
    many = list(range(MOST_EVENTS + 1))
    assert read(json.dumps(many).encode()) == many
