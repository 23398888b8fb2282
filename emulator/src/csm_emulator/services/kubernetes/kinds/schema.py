"""Structural schemas of custom resources: defaults, pruning and validation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.statuses import FieldError, invalid_value, required

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

_DEEPEST = 64
_STANDARD_FIELDS = ("apiVersion", "kind", "metadata")


def prepare(value: Json, schema: Json) -> Json:
    """Prune unknown fields and fill in defaults, as the API server does."""
    full_schema = {
        **schema,
        "properties": {**schema.get("properties", {}), **dict.fromkeys(_STANDARD_FIELDS, _ANYTHING)},
    }
    return _prepare_value(value, full_schema)


_ANYTHING: Json = {"x-kubernetes-preserve-unknown-fields": True}


def _prepare_value(value: Json, schema: Json) -> Json:
    if isinstance(value, list):
        items = schema.get("items")
        return value if items is None else [_prepare_value(item, items) for item in value]
    if isinstance(value, dict):
        return _prepare_object(value, schema)
    return value


def _prepare_object(value: dict[str, Json], schema: Json) -> dict[str, Json]:
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    shaped: dict[str, Json] = {}
    for name, field in value.items():
        if name in properties:
            if field is None and not properties[name].get("nullable") and "default" in properties[name]:
                continue
            shaped[name] = _prepare_value(field, properties[name])
        elif isinstance(additional, dict):
            shaped[name] = _prepare_value(field, additional)
        elif additional is True or schema.get("x-kubernetes-preserve-unknown-fields"):
            shaped[name] = field
    for name, property_schema in properties.items():
        if name not in shaped and "default" in property_schema:
            shaped[name] = _prepare_value(property_schema["default"], property_schema)
    return shaped


def unknown_fields(value: Json, schema: Json, path: str = "") -> Iterator[str]:
    """The paths of the fields that ``prepare`` would drop."""
    if isinstance(value, list):
        for number, field in enumerate(value):
            yield from unknown_fields(field, schema.get("items") or _ANYTHING, f"{path}[{number}]")
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    for name, field in value.items():
        inner = f"{path}.{name}" if path else name
        if not path and name in _STANDARD_FIELDS:
            continue
        if name in properties:
            yield from unknown_fields(field, properties[name], inner)
        elif isinstance(additional, dict):
            yield from unknown_fields(field, additional, inner)
        elif additional is not True:
            yield inner


def errors(value: Json, schema: Json) -> list[FieldError]:
    return list(_check(value, schema, "", 0))


def _check(value: Json, schema: Json, path: str, depth: int) -> Iterable[FieldError]:
    if depth > _DEEPEST:
        yield invalid_value(path, "object", "nested too deeply")
        return
    if value is None and (schema.get("nullable") or not schema.get("type")):
        return
    if not _is_of_type(value, schema):
        yield _type_error(path, value, schema)
        return
    yield from _check_value(value, schema, path)
    if isinstance(value, dict):
        yield from _check_fields(value, schema, path, depth)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for number, item in enumerate(value):
            yield from _check(item, schema["items"], f"{path}[{number}]", depth + 1)


def _check_fields(value: dict[str, Json], schema: Json, path: str, depth: int) -> Iterable[FieldError]:
    for name in schema.get("required", ()):
        if name not in value:
            yield required(_field_path(path, name))
    properties, additional = schema.get("properties", {}), schema.get("additionalProperties")
    for name, field in value.items():
        field_schema = properties.get(name, additional if isinstance(additional, dict) else None)
        if field_schema is not None:
            yield from _check(field, field_schema, _field_path(path, name), depth + 1)


def _check_value(value: Json, schema: Json, path: str) -> Iterable[FieldError]:
    if "enum" in schema and value not in schema["enum"]:
        supported = ", ".join(json.dumps(choice) for choice in schema["enum"])
        yield FieldError(
            path, f"Unsupported value: {_as_json(value)}: supported values: {supported}", "FieldValueNotSupported"
        )
    if isinstance(value, str):
        yield from _check_text(value, schema, path)
    elif isinstance(value, list):
        yield from _check_span(len(value), schema, path, ("minItems", "maxItems"), "items")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(value, schema, path)


def _check_text(value: str, schema: Json, path: str) -> Iterable[FieldError]:
    pattern = schema.get("pattern")
    if pattern and not _matches(pattern, value):
        yield invalid_value(path, _as_json(value), f"{path} in body should match '{pattern}'")
    yield from _check_span(len(value), schema, path, ("minLength", "maxLength"), "chars long")


def _matches(pattern: str, value: str) -> bool:
    checker = _checker(pattern)
    return checker is None or checker.isinstance_python(value)


@lru_cache(maxsize=256)
def _checker(pattern: str) -> SchemaValidator | None:
    """A matcher in linear time, as in Kubernetes: with Python's ``re`` a client's pattern could run for ever."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema  # noqa: PLC0415 (slow to load, seldom needed)

    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None


def _check_span(size: int, schema: Json, path: str, names: tuple[str, str], unit: str) -> Iterable[FieldError]:
    least, most = schema.get(names[0]), schema.get(names[1])
    if least is not None and size < least:
        yield invalid_value(path, f"{size}", f"{path} in body should be at least {least} {unit}")
    if most is not None and size > most:
        yield FieldError(path, f"Too long: may not be more than {most}", "FieldValueTooLong")


def _check_number(value: float, schema: Json, path: str) -> Iterable[FieldError]:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and value < least:
        yield invalid_value(path, f"{value}", f"{path} in body should be greater than or equal to {least}")
    if most is not None and value > most:
        yield invalid_value(path, f"{value}", f"{path} in body should be less than or equal to {most}")


def _is_of_type(value: Json, schema: Json) -> bool:
    if schema.get("x-kubernetes-int-or-string"):
        return isinstance(value, int | str) and not isinstance(value, bool)
    expected = schema.get("type")
    if expected == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return not expected or _type(value) == expected


def _type(value: Json) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = {dict: "object", list: "array", str: "string", int: "integer", float: "number", type(None): "null"}
    return names[type(value)]


def _type_error(path: str, value: Json, schema: Json) -> FieldError:
    actual, expected = _type(value), schema.get("type")
    reason = f'{path or "<nil>"} in body must be of type {expected}: "{actual}"'
    return FieldError(path, f'Invalid value: "{actual}": {reason}', "FieldValueTypeInvalid")


def _as_json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _field_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
