"""Strict schemas: objects have the named properties only, or a misspelled field would pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_KINDS = frozenset({"discriminator", "allOf", "oneOf", "anyOf"})


def strict_schema(whole: dict[str, Any]) -> dict[str, Any]:
    """The document with ``additionalProperties: false`` in each object.

    Objects with a discriminator or parts of an ``allOf`` stay open, since other schemas add properties to them.
    """
    merged = _merged(whole, whole)
    strict = _strict(merged, _joined(merged))
    assert isinstance(strict, dict)
    return strict


def _merged(schema: Any, whole: Mapping[str, Any]) -> Any:
    """An ``allOf`` of plain objects is one object."""
    if isinstance(schema, list):
        return [_merged(part, whole) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = [_resolved(part, whole) for part in schema.get("allOf", ())]
    if parts and all(isinstance(part.get("properties"), dict) and not _KINDS & part.keys() for part in parts):
        schema = _one_object(schema, parts)
    return {key: _merged(value, whole) for key, value in schema.items()}


def _resolved(part: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    target: Mapping[str, Any] = whole
    for step in part["$ref"].removeprefix("#/").split("/"):
        target = target[step]
    return _resolved(target, whole)


def _one_object(schema: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    merged = {key: value for key, value in schema.items() if key not in ("allOf", "properties", "required")}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for part in (*parts, schema):
        for name, value in part.get("properties", {}).items():
            properties[name] = {**properties.get(name, {}), **value}
        required += part.get("required", ())
    return merged | {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _joined(schema: Any) -> Iterator[str]:
    """The names of the definitions that are parts of others."""
    if isinstance(schema, list):
        yield from (name for part in schema for name in _joined(part))
    elif isinstance(schema, dict):
        yield from (part["$ref"].rpartition("/")[2] for part in schema.get("allOf", ()) if "$ref" in part)
        yield from (name for part in schema.values() for name in _joined(part))


def _strict(schema: Any, joined: Iterable[str], *, part: bool = False) -> Any:
    if isinstance(schema, list):
        return [_strict(element, joined, part=part) for element in schema]
    if not isinstance(schema, dict):
        return schema
    open_names = {"allOf", *joined}
    strict = {key: _strict(value, open_names, part=key in open_names) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not (part or {"allOf", "discriminator"} & schema.keys()):
        strict.setdefault("additionalProperties", False)
    return strict
