"""Bodies compared with the words of Go 1.26 for the same bodies."""

from __future__ import annotations

from typing import Any

import pytest

from csm_emulator.dialects.go_json.reader import DecodeError, EmptyBody, decode, decode_first, mentions
from csm_emulator.dialects.go_json.types import (
    ANY,
    ANYTHING_BY_NAME,
    INT32,
    INT64,
    NUMBER,
    RAW,
    STRING,
    STRINGS,
    empty,
    encode,
    pointer_to,
    slice_of,
    struct,
)

INNER = struct("main.Inner", {"S": STRING, "N": INT64, "L": STRINGS})
OUTER = struct(
    "main.Outer",
    {
        "Name": STRING,
        "P": pointer_to(STRING),
        "In": INNER,
        "Ins": slice_of(INNER),
        "I64": INT64,
        "I32": INT32,
        "Any": ANY,
        "T": ANYTHING_BY_NAME,
        "Num": NUMBER,
    },
)
FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"
VALUE = "json: cannot unmarshal {} into Go value of type main.Outer"
END = "unexpected end of JSON input"


def decoding_error(body: bytes, *, whole: bool = True) -> str:
    with pytest.raises(DecodeError) as refused:
        (decode if whole else decode_first)(body, OUTER)
    return str(refused.value)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[]", VALUE.format("array")),
        (b"7", VALUE.format("number")),
        (b'"x"', VALUE.format("string")),
        (b"true", VALUE.format("bool")),
        (b"{]", "invalid character ']' looking for beginning of object key string"),
        (b'{"a":trux}', "invalid character 'x' in literal true (expecting 'e')"),
        (b'{"a":01}', "invalid character '1' after object key:value pair"),
        (b'{"a":1.}', "invalid character '}' after decimal point in numeric literal"),
        (b'{"a":1e}', "invalid character '}' in exponent of numeric literal"),
        (b'{"a":-}', "invalid character '}' in numeric literal"),
        (b'{"a":"\x01"}', "invalid character '\\x01' in string literal"),
        (b'{"a":"\\x"}', "invalid character 'x' in string escape code"),
        (b'{"a":"\\u12G4"}', "invalid character 'G' in \\u hexadecimal character escape"),
        (b'{"x":NaN}', "invalid character 'N' looking for beginning of value"),
        (b"\xef\xbb\xbf{}", "invalid character '\xef' looking for beginning of value"),
        (b'{"Name":1}', FIELD.format("number", "Outer.Name", "string")),
        (b'{"P":7}', FIELD.format("number", "Outer.P", "string")),
        (b'{"In":{"L":[1]}}', FIELD.format("number", "Inner.In.L", "string")),
        (b'{"Ins":[{"S":"a"},{"N":"x"}]}', FIELD.format("string", "Inner.Ins.N", "int64")),
        (b'{"Ins":{}}', FIELD.format("object", "Outer.Ins", "[]main.Inner")),
        (b'{"I64":"","Name":{}}', FIELD.format("string", "Outer.I64", "int64")),
        (b'{"I64":9223372036854775808}', FIELD.format("number 9223372036854775808", "Outer.I64", "int64")),
        (b'{"I64":1e2}', FIELD.format("number 1e2", "Outer.I64", "int64")),
        (b'{"I32":2147483648}', FIELD.format("number 2147483648", "Outer.I32", "int32")),
        (b'{"Any":[1e999]}', FIELD.format("number 1e999", "Outer.Any", "float64")),
        (b'{"T":[]}', FIELD.format("array", "Outer.T", "map[string]interface {}")),
        (b'{"Num":true}', FIELD.format("bool", "Outer.Num", "json.Number")),
        (
            b'{"I64":"","Num":"a\\u00e9"}',
            'json: invalid number literal, trying to unmarshal "\\"a\\\\u00e9\\"" into Number',
        ),
    ],
)
def test_complaints(body: bytes, words: str) -> None:
    assert decoding_error(body) == decoding_error(body, whole=False) == words


@pytest.mark.parametrize(
    ("body", "whole", "stream"),
    [
        (b"", END, "EOF"),
        (b" \n", END, "EOF"),
        (b"{", END, "unexpected EOF"),
        (b'{"a"', END, "unexpected EOF"),
        (b'{"a":tru', "invalid character ' ' in literal true (expecting 'e')", "unexpected EOF"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal", "unexpected EOF"),
    ],
)
def test_what_ends_too_early(body: bytes, whole: str, stream: str) -> None:
    assert (decoding_error(body), decoding_error(body, whole=False)) == (whole, stream)


def test_a_stream_may_have_more_values_and_a_blank_one_has_none() -> None:
    assert decoding_error(b"{} x") == "invalid character 'x' after top-level value"
    assert decode_first(b' {"Name": "a"}x', OUTER)["Name"] == "a"
    with pytest.raises(EmptyBody):
        decode_first(b"\t", OUTER)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"null", {}),
        (b'{"unknown":[1e999]}', {}),
        (b'{"NAME":"a","name":"b"}', {"Name": "b"}),
        (b'{"Name":"a","Name":null,"P":null}', {"Name": "a"}),
        (b'{"Name":"\xff\xfe\\ud800"}', {"Name": "\ufffd\ufffd\ufffd"}),
        (b'{"In":{"S":"a"},"in":{"N":3}}', {"In": {"S": "a", "N": 3, "L": None}}),
        (b'{"in\xc5\xbf":[{}]}', {"Ins": [{"S": "", "N": 0, "L": None}]}),
        (b'{"I64":9223372036854775807}', {"I64": 9223372036854775807}),
        (b'{"Any":{"a":[2.50,1e21,12345678901234567890]}}', {"Any": {"a": [2.5, 1e21, 12345678901234567000]}}),
        (b'{"T":{"a":1},"T":{"b":2}}', {"T": {"a": 1, "b": 2}}),
        (b'{"Num":"1e5"}', {"Num": 100000}),
    ],
)
def test_what_is_read(body: bytes, fields: dict[str, Any]) -> None:
    assert decode(body, OUTER) == decode_first(body, OUTER) == {**empty(OUTER), **fields}


def test_after_a_mistake_it_reads_on() -> None:
    with pytest.raises(DecodeError) as refused:
        decode(b'{"I64":"x","Name":"a"}', OUTER)
    assert refused.value.value == {**empty(OUTER), "Name": "a"}


def test_a_raw_value_keeps_its_digits() -> None:
    assert decode(b"[12345678901234567890, 1e999]", RAW) == [12345678901234567890, 1.7976931348623157e308]


def test_depth_has_an_end_and_long_nonsense_is_not_read_twice() -> None:
    assert decode(b"[" * 400 + b"]" * 400, ANY)
    assert decoding_error(b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}") == "exceeded max depth"
    assert decoding_error(b"[" * 20_000) == "invalid character '[' exceeded max depth"
    assert decoding_error(b'["' + b"x" * (1 << 20)) == END


def test_a_field_is_mentioned_even_as_null() -> None:
    assert mentions(b'{"NAME":null}', OUTER)
    assert not mentions(b'{"x":1}', OUTER)
    assert not mentions(b"[]", OUTER)


def test_what_was_read_is_written_as_go_does() -> None:
    kind = struct("main.X", {"A": STRING, "B": pointer_to(STRING), "N": NUMBER, "L": slice_of(INNER)}, omitted="A B")
    assert encode({"A": "", "B": None}, kind) == {"N": 0, "L": None}
    assert encode({"A": "a", "B": "", "N": 2, "L": [{}]}, kind) == {
        "A": "a",
        "B": "",
        "N": 2,
        "L": [{"S": "", "N": 0, "L": None}],
    }


def test_defaults_of_missing_fields_are_not_shared() -> None:
    """Callers change the values that they read."""
    first, second = decode(b"[{}, {}]", slice_of(OUTER))
    first["In"]["S"] = first["Name"] = "changed"
    assert second == empty(OUTER)
    assert list(second) == list(OUTER.fields), "in Go's order"
    assert (second["Name"], second["In"]) == ("", {"S": "", "N": 0, "L": None})


def test_numbers_that_come_again_are_the_same_ones() -> None:
    assert decode(b"[1, 1, 1.50, 1e2, 1.50]", ANY) == [1, 1, 1.5, 100, 1.5]
    assert decode(b"[1, 1.50, 12345678901234567890, 1]", RAW) == [1, 1.5, 12345678901234567890, 1]
