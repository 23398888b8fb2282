"""Swagger 2 in the protobuf of gnostic (``openapi.v2.Document``), which kubectl asks for.

It has only the fields that clients read; names and numbers are those of OpenAPIv2.proto.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from csm_emulator.records import Json

_INFO, _PATHS, _DEFINITIONS = 2, 8, 9
_REF, _FORMAT, _DESCRIPTION, _PATTERN, _REQUIRED, _ENUM = 1, 2, 4, 13, 19, 20
_ADDITIONAL, _TYPE, _ITEMS, _PROPERTIES, _EXTENSION = 21, 22, 23, 25, 31


def document(swagger: Json) -> bytes:
    info = _text(1, swagger["info"]["title"]) + _text(2, swagger["info"]["version"])
    definitions = b"".join(_named_schema(name, schema) for name, schema in swagger["definitions"].items())
    return _text(1, swagger["swagger"]) + _bytes(_INFO, info) + _bytes(_PATHS, b"") + _bytes(_DEFINITIONS, definitions)


def _named_schema(name: str, schema: Json) -> bytes:
    return _bytes(1, _text(1, name) + _bytes(2, _schema(schema)))


def _schema(schema: Mapping[str, Json]) -> bytes:
    parts = []
    for key, number in (("$ref", _REF), ("format", _FORMAT), ("description", _DESCRIPTION), ("pattern", _PATTERN)):
        if isinstance(schema.get(key), str):
            parts.append(_text(number, schema[key]))
    parts += [_text(_REQUIRED, name) for name in schema.get("required") or ()]
    parts += [_bytes(_ENUM, _any(value)) for value in schema.get("enum") or ()]
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        parts.append(_bytes(_ADDITIONAL, _bytes(1, _schema(additional))))
    if isinstance(schema.get("type"), str):
        parts.append(_bytes(_TYPE, _text(1, schema["type"])))
    if isinstance(schema.get("items"), dict):
        parts.append(_bytes(_ITEMS, _bytes(1, _schema(schema["items"]))))
    if schema.get("properties"):
        inner = b"".join(_named_schema(name, property_schema) for name, property_schema in schema["properties"].items())
        parts.append(_bytes(_PROPERTIES, inner))
    for key, value in schema.items():
        if key.startswith("x-"):
            parts.append(_bytes(_EXTENSION, _text(1, key) + _bytes(2, _any(value))))
    return b"".join(parts)


def _any(value: Json) -> bytes:
    """Encoded as YAML; JSON is valid YAML."""
    return _text(2, json.dumps(value))


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
