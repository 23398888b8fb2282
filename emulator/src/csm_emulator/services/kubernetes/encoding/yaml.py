"""The subset of YAML that can be expressed in JSON."""

from __future__ import annotations

import json

import yaml

from csm_emulator.dialects.go_json.values import DEEPEST
from csm_emulator.records import Json

try:
    from yaml import CSafeLoader as _SafeLoader
except ImportError:
    # Without libyaml the result is the same, but parsing takes ten times as long.
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

MOST_EVENTS = 200_000
"""Parser events (starts, ends, values) per document: half a megabyte of short lines, over a second of work."""


class _Loader(_SafeLoader):
    """A loader that returns timestamps as strings."""


def _as_text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    return str(loader.construct_scalar(node))


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _as_text)


def read(text: bytes) -> Json:
    """Parse one document; raises ``ValueError`` and ``yaml.YAMLError``."""
    try:
        # kubectl sends JSON as application/yaml; the JSON parser needs a fraction of the time.
        return json.loads(text)
    except (ValueError, RecursionError):
        _check_size(text)
    return yaml.load(text, _Loader)  # noqa: S506 (a safe one)


def _check_size(text: bytes) -> None:
    """Refuse aliases (a short text could expand without bound), nesting that would overflow the stack, and documents
    that would block all other clients.
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
        if number > MOST_EVENTS:
            raise yaml.YAMLError(f"more than {MOST_EVENTS} values and brackets; send it as JSON")
