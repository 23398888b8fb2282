"""The first error of a JSON body or parameter against its schema: jsonschema with what connexion 2 adds to draft 4.

The services validate with the same library, so the messages are its own. Keywords are checked in the order in which
the schema names them, and that order decides which error is the first. ``format`` is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jsonschema import Draft4Validator, ValidationError
from jsonschema.validators import create

from csm_emulator.records import Json

Schema = dict[str, Json]
Errors = Iterator[ValidationError]
Rules = Mapping[str, Json]
Keyword = Callable[[Draft4Validator, Json, Json, Rules], Errors]
_DRAFT_4: Mapping[str, Keyword] = Draft4Validator.VALIDATORS


def first_error(instance: Json, schema: Schema) -> ValidationError | None:
    return next(_Validator(schema).iter_errors(instance), None)


def _unless_null(keyword: Keyword) -> Keyword:
    """The keyword of draft 4, which passes over null where the schema is ``nullable``."""

    def check(validator: Draft4Validator, rule: Json, instance: Json, schema: Rules) -> Errors:
        if instance is not None or not schema.get("nullable"):
            yield from keyword(validator, rule, instance, schema)

    return check


def _read_only(validator: Draft4Validator, rule: Json, instance: Json, schema: Rules) -> Errors:  # noqa: ARG001
    """As in connexion, a property with this keyword is refused even if the keyword's value is false."""
    yield ValidationError("Property is read-only")


def _required(validator: Draft4Validator, names: Json, instance: Json, schema: Rules) -> Errors:
    """A read-only property may not be sent, so it is not required either."""
    rules = schema.get("properties", {})
    writable = [name for name in names if not rules.get(name, {}).get("readOnly")]
    yield from _DRAFT_4["required"](validator, writable, instance, schema)


def _additional_properties(validator: Draft4Validator, rule: Json, instance: Json, schema: Rules) -> Errors:
    """In the order of the body: jsonschema walks over a set, so that its first error differs from run to run."""
    if isinstance(rule, dict) and isinstance(instance, dict):
        declared = schema.get("properties", {})
        for name, value in instance.items():
            if name not in declared:
                yield from validator.descend(value, rule, path=name)
    else:
        yield from _DRAFT_4["additionalProperties"](validator, rule, instance, schema)


def _any_of(validator: Draft4Validator, rules: Json, instance: Json, schema: Rules) -> Errors:  # noqa: ARG001
    if not any(_fits(validator, rule, instance) for rule in rules):
        yield ValidationError(f"{instance!r} is not valid under any of the given schemas")


def _one_of(validator: Draft4Validator, rules: Json, instance: Json, schema: Rules) -> Errors:  # noqa: ARG001
    matches = [rule for rule in rules if _fits(validator, rule, instance)]
    if not matches:
        yield ValidationError(f"{instance!r} is not valid under any of the given schemas")
    elif len(matches) > 1:
        schemas = ", ".join(repr(rule) for rule in (*matches[1:], matches[0]))
        yield ValidationError(f"{instance!r} is valid under each of {schemas}")


def _fits(validator: Draft4Validator, rule: Schema, instance: Json) -> bool:
    """Stops at the first error. jsonschema collects all errors of each branch: gigabytes for a list of a million."""
    return validator.evolve(schema=rule).is_valid(instance)


_Validator = create(
    Draft4Validator.META_SCHEMA,
    {
        **_DRAFT_4,
        "type": _unless_null(_DRAFT_4["type"]),
        "enum": _unless_null(_DRAFT_4["enum"]),
        "readOnly": _read_only,
        "required": _required,
        "additionalProperties": _additional_properties,
        "anyOf": _any_of,
        "oneOf": _one_of,
    },
    type_checker=Draft4Validator.TYPE_CHECKER,
)
