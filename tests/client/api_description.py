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
    """How the body differs from the answer to a request such as ``GET /v1/tenants``; one not described may be any."""
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
    """Without patterns: an id such as op_1 is shorter in a test than in the world, and still an id."""
    if isinstance(schema, dict):
        return {key: _loosened(value) for key, value in schema.items() if key not in ("pattern", "format")}
    return [_loosened(value) for value in schema] if isinstance(schema, list) else schema
