"""Plain data: its one canonical text, and values that a database cannot store."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.json_types import canonical, digest, storable

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(anything)
def test_what_is_storable_stays_as_it_is(value: Any) -> None:
    stored_value = storable(value)
    assert storable(stored_value) == stored_value
    text = json.dumps(stored_value, ensure_ascii=False)
    assert "\0" not in text
    assert json.loads(text.encode()) == stored_value


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_characters_without_a_place_are_replaced_wherever_they_stand(text: str) -> None:
    assert storable({text: [text, {"deep": text}]}) == {"a\ufffdb": ["a\ufffdb", {"deep": "a\ufffdb"}]}


@pytest.mark.parametrize("value", [math.nan, math.inf, b"bytes", object(), {1, 2}, [object()], {"a": b""}])
def test_what_is_no_plain_data_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="not plain data"):
        storable(value)


def test_equal_values_have_one_text_and_one_digest() -> None:
    assert canonical({"b": 1, "a": [1.5, None, "ä"]}) == '{"a":[1.5,null,"ä"],"b":1}'
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
    assert digest({"a": 1}) != digest({"a": "1"})
