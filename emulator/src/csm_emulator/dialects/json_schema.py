"""Validates JSON against a schema, with the error messages of Python's jsonschema.

It has draft 4 and the keywords of OpenAPI 3 for requests (``nullable``, ``readOnly``), as far as services of CSM use
them. Schemas are trees without references; keywords are checked in their order, which decides the first error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pprint import pformat
from textwrap import indent

from csm_emulator.transport.call import Json

Schema = dict[str, Json]
Step = str | int


@dataclass(frozen=True, slots=True)
class ValidationError:
    """A part of the document that violates the schema: message, place and rule."""

    message: str
    instance: Json
    keyword: str = ""
    schema: Schema = field(default_factory=dict)
    path: tuple[Step, ...] = ()
    schema_path: tuple[Step, ...] = ()

    def __str__(self) -> str:
        """The whole error, as jsonschema prints it."""
        return (
            f"{self.message}\n\nFailed validating {self.keyword!r} in schema{_indices(self.schema_path)}:\n"
            f"{_pretty(self.schema)}\n\nOn instance{_indices(self.path)}:\n{_pretty(self.instance)}"
        )

    def below(self, *steps: Step, rule: tuple[Step, ...]) -> ValidationError:
        """The same error with paths from one level higher."""
        return replace(self, path=(*steps, *self.path), schema_path=(*rule, *self.schema_path))


ValidationErrors = Iterator[ValidationError]


def first_error(instance: Json, schema: Schema) -> ValidationError | None:
    return next(validation_errors(instance, schema), None)


def validation_errors(instance: Json, schema: Schema) -> ValidationErrors:
    for keyword, rule in schema.items():
        check = _CHECKS.get(keyword)
        if check is None:
            continue
        for error in check(rule, instance, schema):
            yield error if error.keyword else replace(error, keyword=keyword, schema=schema)


def fits(instance: Json, schema: Schema) -> bool:
    return first_error(instance, schema) is None


def _is(instance: Json, kind: str) -> bool:
    if kind in ("integer", "number") and isinstance(instance, bool):
        return False
    return isinstance(instance, _TYPES[kind])


_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def _is_allowed_null(instance: Json, schema: Schema) -> bool:
    return instance is None and bool(schema.get("nullable"))


def _type(kind: str, instance: Json, schema: Schema) -> ValidationErrors:
    if not _is_allowed_null(instance, schema) and not _is(instance, kind):
        yield ValidationError(f"{instance!r} is not of type {kind!r}", instance)


def _enum(values: list[Json], instance: Json, schema: Schema) -> ValidationErrors:
    same = any(type(value) is type(instance) and value == instance for value in values)
    if not _is_allowed_null(instance, schema) and not same:
        yield ValidationError(f"{instance!r} is not one of {values!r}", instance)


def _read_only(rule: bool, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    """An error for any value: connexion ignores whether the rule is false."""
    yield ValidationError("Property is read-only", instance)


def _pattern(pattern: str, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    if isinstance(instance, str) and not re.search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}", instance)


def _minimum(least: float, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    if _is(instance, "number") and instance < least:
        yield ValidationError(f"{instance!r} is less than the minimum of {least!r}", instance)


def _maximum(most: float, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    if _is(instance, "number") and instance > most:
        yield ValidationError(f"{instance!r} is greater than the maximum of {most!r}", instance)


def _at_least(kind: type[str | list[Json] | dict[str, Json]], complaint: str) -> Check:
    def check(least: int, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
        if isinstance(instance, kind) and len(instance) < least:
            yield ValidationError(f"{instance!r} {'should be non-empty' if least == 1 else complaint}", instance)

    return check


def _at_most(kind: type[str | list[Json] | dict[str, Json]], complaint: str) -> Check:
    def check(most: int, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
        if isinstance(instance, kind) and len(instance) > most:
            yield ValidationError(f"{instance!r} {'is expected to be empty' if most == 0 else complaint}", instance)

    return check


def _properties(rules: dict[str, Schema], instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    if isinstance(instance, dict):
        for name, rule in rules.items():
            if name in instance:
                for error in validation_errors(instance[name], rule):
                    yield error.below(name, rule=("properties", name))


def _additional(rule: Json, instance: Json, schema: Schema) -> ValidationErrors:
    if not isinstance(instance, dict) or rule is True:
        return
    properties = schema.get("properties", {})
    extra = [name for name in instance if name not in properties]
    if rule is False and extra:
        verb = "was" if len(extra) == 1 else "were"
        names = ", ".join(repr(name) for name in sorted(extra))
        yield ValidationError(f"Additional properties are not allowed ({names} {verb} unexpected)", instance)
    elif rule is not False:
        for name in extra:
            for error in validation_errors(instance[name], rule):
                yield error.below(name, rule=("additionalProperties",))


def _required(names: list[str], instance: Json, schema: Schema) -> ValidationErrors:
    """Read-only properties are not required, since clients must not send them."""
    if isinstance(instance, dict):
        for name in names:
            if name not in instance and not schema.get("properties", {}).get(name, {}).get("readOnly"):
                yield ValidationError(f"{name!r} is a required property", instance)


def _items(rule: Schema, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    if isinstance(instance, list):
        for index, item in enumerate(instance):
            for error in validation_errors(item, rule):
                yield error.below(index, rule=("items",))


def _unique(rule: bool, instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    if rule and isinstance(instance, list) and any(item in instance[:place] for place, item in enumerate(instance)):
        yield ValidationError(f"{instance!r} has non-unique elements", instance)


def _all_of(rules: list[Schema], instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    for index, rule in enumerate(rules):
        for error in validation_errors(instance, rule):
            yield error.below(rule=("allOf", index))


def _any_of(rules: list[Schema], instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    if not any(fits(instance, rule) for rule in rules):
        yield ValidationError(f"{instance!r} is not valid under any of the given schemas", instance)


def _one_of(rules: list[Schema], instance: Json, schema: Schema) -> ValidationErrors:  # noqa: ARG001
    fitting = [rule for rule in rules if fits(instance, rule)]
    if not fitting:
        yield ValidationError(f"{instance!r} is not valid under any of the given schemas", instance)
    elif len(fitting) > 1:
        rule_texts = ", ".join(repr(rule) for rule in (*fitting[1:], fitting[0]))
        yield ValidationError(f"{instance!r} is valid under each of {rule_texts}", instance)


Check = Callable[[Json, Json, Schema], ValidationErrors]
_CHECKS: dict[str, Check] = {
    "type": _type,
    "enum": _enum,
    "readOnly": _read_only,
    "pattern": _pattern,
    "minimum": _minimum,
    "maximum": _maximum,
    "minLength": _at_least(str, "is too short"),
    "maxLength": _at_most(str, "is too long"),
    "minItems": _at_least(list, "is too short"),
    "maxItems": _at_most(list, "is too long"),
    "minProperties": _at_least(dict, "does not have enough properties"),
    "maxProperties": _at_most(dict, "has too many properties"),
    "properties": _properties,
    "additionalProperties": _additional,
    "required": _required,
    "items": _items,
    "uniqueItems": _unique,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
}


def _indices(path: tuple[Step, ...]) -> str:
    return "".join(f"[{step!r}]" for step in path)


def _pretty(value: Json) -> str:
    return indent(pformat(value, width=72, sort_dicts=False), "    ")
