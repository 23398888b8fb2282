"""connexion's additions to jsonschema change the first error of no other body."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csm_emulator.dialects.json_schema import first_error

WORD = {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^[a-z]+$"}
NUMBER = {"type": "integer", "minimum": 2, "maximum": 9}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "word": WORD,
        "number": NUMBER,
        "part": {"type": "number", "minimum": 0.5},
        "one": {"oneOf": [WORD, {"type": "string", "enum": [""]}, {"type": "string", "maxLength": 2}]},
        "any": {"anyOf": [WORD, NUMBER]},
        "all": {"allOf": [WORD, {"type": "string", "maxLength": 3}]},
        "list": {"type": "array", "minItems": 1, "maxItems": 3, "uniqueItems": True, "items": NUMBER},
        "many": {"type": "object", "minProperties": 2, "maxProperties": 3, "additionalProperties": WORD},
        "flag": {"type": "boolean"},
        "choice": {"type": "string", "enum": ["a", "b"]},
        "empty": {"type": "string", "maxLength": 0},
    },
    "required": ["word"],
    "additionalProperties": False,
    "minProperties": 1,
}
TEXTS = st.text("abz-A", max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 11) | st.floats(0, 3, allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=6,
)
BODIES = VALUES | st.dictionaries(st.sampled_from([*SCHEMA["properties"], "other", "more"]), VALUES)


@settings(deadline=None, max_examples=500)
@given(BODIES)
def test_the_first_error_is_jsonschemas(body: Any) -> None:
    """jsonschema walks over additional properties as a set, so the first of their errors is a matter of chance."""
    theirs = list(jsonschema.Draft4Validator(SCHEMA).iter_errors(body))
    by_chance = theirs and len(theirs[0].path) > 1 and theirs[0].path[0] == "many"
    expected = [one for one in theirs if list(one.path)[:1] == ["many"]] if by_chance else theirs[:1]
    ours = first_error(body, SCHEMA)
    if ours is None:
        assert not theirs
    else:
        assert (ours.message, tuple(ours.path), str(ours)) in [
            (one.message, tuple(one.path), str(one)) for one in expected
        ]


@pytest.mark.parametrize("body", [None, "x", ""])
def test_what_is_nullable_may_be_null(body: Any) -> None:
    assert first_error(body, {"type": "string", "enum": ["x", ""], "nullable": True}) is None


def test_what_is_read_only_may_not_be_sent_and_is_not_missed() -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string", "readOnly": True}}, "required": ["id"]}
    assert first_error({}, schema) is None
    error = first_error({"id": "x"}, schema)
    assert error is not None
    assert (error.message, tuple(error.path)) == ("Property is read-only", ("id",))
