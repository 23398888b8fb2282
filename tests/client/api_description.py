"""Whether the body of an answer is what the API's description says."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SPEC = json.loads((Path(__file__).parents[2] / "docs/reference/openapi.json").read_text())
SCHEMAS = SPEC["components"]["schemas"]


def problems(line: str, status: int, body: Any) -> list[str]:
    """Every way in which the body breaks the schema of the answer to ``line``, for example ``GET /v1/tenants``.

    An answer without a schema may have any body.
    """
    schema = _schema_of(line, status)
    return [] if schema is None else differences(schema, body)


def differences(schema: Any, body: Any) -> list[str]:
    validator = Draft202012Validator({**_loosened(schema), "components": _components()})
    return [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(body)]


def _schema_of(line: str, status: int) -> Any:
    method, _, path = line.partition(" ")
    for template, methods in SPEC["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path) and method.lower() in methods:
            content = methods[method.lower()]["responses"].get(str(status), {}).get("content", {})
            return content.get("application/json", {}).get("schema")
    return None


@cache
def _components() -> Any:
    return _loosened(SPEC["components"])


def _loosened(schema: Any) -> Any:
    """The schema without patterns and formats: tests use short ids such as op_1, which real servers never make."""
    if isinstance(schema, dict):
        return {key: _loosened(value) for key, value in schema.items() if key not in ("pattern", "format")}
    return [_loosened(value) for value in schema] if isinstance(schema, list) else schema
