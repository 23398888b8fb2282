"""NIDs are read in the spellings people use and printed in one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.errors import InvalidNid
from canton.domain.nid import LARGEST, format_nid, parse_nid


@pytest.mark.parametrize(
    ("text", "nid"),
    [
        ("nid001234", 1234),
        ("nid1234", 1234),
        ("1234", 1234),
        (" NID001234\n", 1234),
        ("nid0000000000001", 1),
        ("0", 0),
        ("nid147474562", 147474562),
        (str(LARGEST), LARGEST),
    ],
)
def test_every_spelling(text: str, nid: int) -> None:
    assert parse_nid(text) == nid


@pytest.mark.parametrize(
    ("nid", "text"),
    [(0, "nid000000"), (1234, "nid001234"), (999999, "nid999999"), (147474562, "nid147474562")],
)
def test_six_digits_or_more(nid: int, text: str) -> None:
    assert format_nid(nid) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nid",
        "-1",
        "+1",
        "1_000",
        "1.0",
        "nid 1",
        "n1",
        "x1000c0s0b0n0",
        "nid001234-nmn",
        "nid00\n1234",
        "nid1\0",
        "nid\uff11\uff12",
        "²",
        "n\N{LATIN SMALL LETTER DOTLESS I}d1",
        str(LARGEST + 1),
        "9" * 10_000_000,
    ],
    ids=lambda text: ascii(text[:24]),
)
def test_an_invalid_nid_is_refused(text: str) -> None:
    with pytest.raises(InvalidNid, match="is not a NID: expected a number 0-9223372036854775807") as caught:
        parse_nid(text)
    assert caught.value.details == {"text": text[:64]}
    assert len(caught.value.message) < 1000


@pytest.mark.parametrize("nid", [-1, LARGEST + 1])
def test_no_name_for_an_impossible_nid(nid: int) -> None:
    with pytest.raises(InvalidNid, match=f"NID {nid} is out of range"):
        format_nid(nid)


@given(st.integers(0, LARGEST))
def test_what_is_printed_is_read_back(nid: int) -> None:
    assert parse_nid(format_nid(nid)) == nid
    assert parse_nid(str(nid)) == nid


@given(st.text())
def test_any_text_is_a_nid_or_is_refused(text: str) -> None:
    try:
        nid = parse_nid(text)
    except InvalidNid:
        return
    assert 0 <= nid <= LARGEST
    assert text.isascii()
