"""Structural schemas of custom resources: defaults, what is pruned, and what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from csm_emulator.services.kubernetes.statuses import Mistake, invalid_value, required

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

Json = Any
_DEEPEST = 64
_KEPT = ("apiVersion", "kind", "metadata")


def prepare(value: Json, schema: Json) -> Json:
    """As the API server does it with what was written: unknown fields go, defaults come."""
    known = {**schema, "properties": {**schema.get("properties", {}), **dict.fromkeys(_KEPT, _ANYTHING)}}
    return _shaped(value, known)


_ANYTHING: Json = {"x-kubernetes-preserve-unknown-fields": True}


def _shaped(value: Json, schema: Json) -> Json:
    if isinstance(value, list):
        items = schema.get("items")
        return value if items is None else [_shaped(each, items) for each in value]
    if isinstance(value, dict):
        return _shaped_object(value, schema)
    return value


def _shaped_object(value: dict[str, Json], schema: Json) -> dict[str, Json]:
    properties, more = schema.get("properties", {}), schema.get("additionalProperties")
    shaped: dict[str, Json] = {}
    for name, each in value.items():
        if name in properties:
            if each is None and not properties[name].get("nullable") and "default" in properties[name]:
                continue
            shaped[name] = _shaped(each, properties[name])
        elif isinstance(more, dict):
            shaped[name] = _shaped(each, more)
        elif more is True or schema.get("x-kubernetes-preserve-unknown-fields"):
            shaped[name] = each
    for name, known in properties.items():
        if name not in shaped and "default" in known:
            shaped[name] = _shaped(known["default"], known)
    return shaped


def unknown_fields(value: Json, schema: Json, path: str = "") -> Iterator[str]:
    """What ``prepare`` would drop, by path."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from unknown_fields(each, schema.get("items") or _ANYTHING, f"{path}[{number}]")
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    properties, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name, each in value.items():
        inner = f"{path}.{name}" if path else name
        if not path and name in _KEPT:
            continue
        if name in properties:
            yield from unknown_fields(each, properties[name], inner)
        elif isinstance(more, dict):
            yield from unknown_fields(each, more, inner)
        elif more is not True:
            yield inner


def mistakes(value: Json, schema: Json) -> list[Mistake]:
    return list(_check(value, schema, "", 0))


def _check(value: Json, schema: Json, path: str, depth: int) -> Iterable[Mistake]:
    if depth > _DEEPEST:
        yield invalid_value(path, "object", "nested too deeply")
        return
    if value is None and (schema.get("nullable") or not schema.get("type")):
        return
    if not _is_of_type(value, schema):
        yield _wrong_type(path, value, schema)
        return
    yield from _check_value(value, schema, path)
    if isinstance(value, dict):
        yield from _check_fields(value, schema, path, depth)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for number, each in enumerate(value):
            yield from _check(each, schema["items"], f"{path}[{number}]", depth + 1)


def _check_fields(value: dict[str, Json], schema: Json, path: str, depth: int) -> Iterable[Mistake]:
    for name in schema.get("required", ()):
        if name not in value:
            yield required(_inner(path, name))
    properties, more = schema.get("properties", {}), schema.get("additionalProperties")
    for name, each in value.items():
        known = properties.get(name, more if isinstance(more, dict) else None)
        if known is not None:
            yield from _check(each, known, _inner(path, name), depth + 1)


def _check_value(value: Json, schema: Json, path: str) -> Iterable[Mistake]:
    if "enum" in schema and value not in schema["enum"]:
        listed = ", ".join(json.dumps(each) for each in schema["enum"])
        yield Mistake(path, f"Unsupported value: {_shown(value)}: supported values: {listed}", "FieldValueNotSupported")
    if isinstance(value, str):
        yield from _check_text(value, schema, path)
    elif isinstance(value, list):
        yield from _check_span(len(value), schema, path, ("minItems", "maxItems"), "items")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(value, schema, path)


def _check_text(value: str, schema: Json, path: str) -> Iterable[Mistake]:
    pattern = schema.get("pattern")
    if pattern and not _matches(pattern, value):
        yield invalid_value(path, _shown(value), f"{path} in body should match '{pattern}'")
    yield from _check_span(len(value), schema, path, ("minLength", "maxLength"), "chars long")


def _matches(pattern: str, value: str) -> bool:
    checker = _checker(pattern)
    return checker is None or checker.isinstance_python(value)


@lru_cache(maxsize=256)
def _checker(pattern: str) -> SchemaValidator | None:
    """As Kubernetes does, in linear time: with Python's ``re``, who writes a pattern can keep it busy for ever."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema  # noqa: PLC0415 (slow to load, seldom needed)

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None


def _check_span(size: int, schema: Json, path: str, names: tuple[str, str], unit: str) -> Iterable[Mistake]:
    least, most = schema.get(names[0]), schema.get(names[1])
    if least is not None and size < least:
        yield invalid_value(path, f"{size}", f"{path} in body should be at least {least} {unit}")
    if most is not None and size > most:
        yield Mistake(path, f"Too long: may not be more than {most}", "FieldValueTooLong")


def _check_number(value: float, schema: Json, path: str) -> Iterable[Mistake]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        yield invalid_value(path, f"{value}", f"{path} in body should be greater than or equal to {least}")
    if most is not None and value > most:
        yield invalid_value(path, f"{value}", f"{path} in body should be less than or equal to {most}")


def _is_of_type(value: Json, schema: Json) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    wanted = schema.get("type")
    if wanted == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return not wanted or _type(value) == wanted


def _type(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {dict: "object", list: "array", str: "string", int: "integer", float: "number", type(None): "null"}
    return names[type(value)]


def _wrong_type(path: str, value: Json, schema: Json) -> Mistake:
    found, wanted = _type(value), schema.get("type")
    reason = f'{path or "<nil>"} in body must be of type {wanted}: "{found}"'
    return Mistake(path, f'Invalid value: "{found}": {reason}', "FieldValueTypeInvalid")


def _shown(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _inner(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
