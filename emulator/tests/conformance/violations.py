"""Describes what is wrong with a reply, in words that do not depend on the generated values."""

from __future__ import annotations

from schemathesis.core.failures import Failure
from schemathesis.openapi.checks import JsonSchemaError


def describe(failure: Failure) -> str:
    if not isinstance(failure, JsonSchemaError):
        return f"{failure.title}: {str(failure.message).split(chr(10), 1)[0]}".removesuffix(":")
    place = "/".join("*" if isinstance(step, int) else str(step) for step in failure.instance_path)
    keyword = str(failure.schema_path[-1]) if failure.schema_path else ""
    return f"{failure.title} at /{place}: {_broken(failure, keyword)}"


def _broken(failure: JsonSchemaError, keyword: str) -> str:
    """The broken rule; it names the value only where the schema has an enum."""
    match keyword:
        case "enum":
            return f"{failure.instance!r} is not in the enum"
        case "type":
            return f"{type(failure.instance).__name__} is of the wrong type"
        case "required" | "additionalProperties":
            return str(failure.message).split("\n", 1)[0]
        case _:
            return keyword
