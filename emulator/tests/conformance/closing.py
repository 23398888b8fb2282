"""Files made strict: objects have the named properties only, or a field that is misspelled would pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_KINDS = frozenset({"discriminator", "allOf", "oneOf", "anyOf"})


def closed(whole: dict[str, Any]) -> dict[str, Any]:
    """What has kinds stays open to the properties of the others, and so does what an ``allOf`` makes of it."""
    together = _together(whole, whole)
    found = _closed(together, _joined(together))
    assert isinstance(found, dict)
    return found


def _together(schema: Any, whole: Mapping[str, Any]) -> Any:
    """An ``allOf`` of plain objects is one object."""
    if isinstance(schema, list):
        return [_together(each, whole) for each in schema]
    if not isinstance(schema, dict):
        return schema
    parts = [_resolved(part, whole) for part in schema.get("allOf", ())]
    if parts and all(isinstance(part.get("properties"), dict) and not _KINDS & part.keys() for part in parts):
        schema = _one(schema, parts)
    return {key: _together(value, whole) for key, value in schema.items()}


def _resolved(part: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in part:
        return part
    found: Mapping[str, Any] = whole
    for step in part["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return _resolved(found, whole)


def _one(schema: Mapping[str, Any], parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    rest = {key: value for key, value in schema.items() if key not in ("allOf", "properties", "required")}
    properties: dict[str, Any] = {}
    required: list[str] = []
    for part in (*parts, schema):
        for name, value in part.get("properties", {}).items():
            properties[name] = {**properties.get(name, {}), **value}
        required += part.get("required", ())
    return rest | {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _joined(schema: Any) -> Iterator[str]:
    """The names of the definitions that are parts of others."""
    if isinstance(schema, list):
        yield from (name for each in schema for name in _joined(each))
    elif isinstance(schema, dict):
        yield from (each["$ref"].rpartition("/")[2] for each in schema.get("allOf", ()) if "$ref" in each)
        yield from (name for each in schema.values() for name in _joined(each))


def _closed(schema: Any, joined: Iterable[str], *, part: bool = False) -> Any:
    if isinstance(schema, list):
        return [_closed(each, joined, part=part) for each in schema]
    if not isinstance(schema, dict):
        return schema
    open_names = {"allOf", *joined}
    found = {key: _closed(value, open_names, part=key in open_names) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and not (part or {"allOf", "discriminator"} & schema.keys()):
        found.setdefault("additionalProperties", False)
    return found
