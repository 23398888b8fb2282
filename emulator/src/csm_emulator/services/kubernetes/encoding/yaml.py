"""YAML as far as it says the same as JSON."""

from __future__ import annotations

import json

import yaml

from csm_emulator.dialects.go_json.values import DEEPEST
from csm_emulator.services.kubernetes.kinds.kinds import Json

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:
    # Without libyaml everything is the same, and takes ten times as long.
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

MOST = 200_000
"""Starts, ends and values: half a megabyte of short lines, and more than a second's work."""


class _Loader(_SafeLoader):
    """With moments as the texts that they are."""


def _as_text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_text)


def read(text: bytes) -> Json:
    """One document; raises ``ValueError`` and ``yaml.YAMLError``."""
    try:
        # What kubectl calls YAML it writes as JSON, which is read in a fraction of the time.
        return json.loads(text)
    except (ValueError, RecursionError):
        _check(text)
    return yaml.load(text, _Loader)  # noqa: S506 (a safe one)


def _check(text: bytes) -> None:
    """Aliases make a short text endless, what is too deep is more than the stack has room for, and too much of it
    holds everybody up.
    """
    depth = 0
    for number, event in enumerate(yaml.parse(text, _Loader)):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not taken")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise yaml.YAMLError("exceeded max depth")
        if number > MOST:
            raise yaml.YAMLError(f"more than {MOST} values and brackets; send it as JSON")
