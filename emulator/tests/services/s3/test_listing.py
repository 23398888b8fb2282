from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from csm_emulator.services.s3.listing import ListOptions, select_page
from services.s3.s3_caller import Caller, header, texts

NAMES = ("a", "a/1", "a/2", "b/x/1", "b/x/2", "b/y", "c")
WORDS = st.text("ab/", max_size=6)


@pytest.fixture
def filled(s3: Caller) -> Caller:
    for name in reversed(NAMES):
        s3.put("sds", name, name.encode())
    return s3


def listed(s3: Caller, query: str = "") -> tuple[list[str], list[str]]:
    """Keys and common prefixes."""
    reply = s3.ask("GET", f"/sds?{query}")
    # The first Prefix is that of the request.
    return texts(reply, "Key"), texts(reply, "Prefix")[1:]


@pytest.mark.parametrize("version", ["", "list-type=2&"])
def test_names_come_in_order_by_prefix_and_level(filled: Caller, version: str) -> None:
    assert listed(filled, version) == (list(NAMES), [])
    assert listed(filled, f"{version}prefix=b") == (["b/x/1", "b/x/2", "b/y"], [])
    assert listed(filled, f"{version}delimiter=/") == (["a", "c"], ["a/", "b/"])
    assert listed(filled, f"{version}delimiter=/&prefix=b/") == (["b/y"], ["b/x/"])
    assert texts(filled.ask("GET", f"/sds?{version}delimiter=/"), "Delimiter") == ["/"]
    assert listed(filled, f"{version}prefix=z") == listed(filled, f"{version}max-keys=0") == ([], [])


def test_pages_by_marker(filled: Caller) -> None:
    keys, marker = [], ""
    while True:
        reply = filled.ask("GET", f"/sds?delimiter=/&max-keys=1&marker={marker}")
        keys += texts(reply, "Key") + texts(reply, "Prefix")[1:]
        if texts(reply, "IsTruncated") == ["false"]:
            break
        marker = texts(reply, "NextMarker")[0]
    assert keys == ["a", "a/", "b/", "c"]


def test_pages_by_token(filled: Caller) -> None:
    first = filled.ask("GET", "/sds?list-type=2&max-keys=3&start-after=a")
    assert (texts(first, "Key"), texts(first, "KeyCount")) == (["a/1", "a/2", "b/x/1"], ["3"])
    token = texts(first, "NextContinuationToken")[0]
    second = filled.ask("GET", f"/sds?list-type=2&continuation-token={token}")
    assert (texts(second, "Key"), texts(second, "IsTruncated")) == (["b/x/2", "b/y", "c"], ["false"])


def test_names_are_encoded_when_asked(s3: Caller) -> None:
    s3.put("sds", "a b\x01ü")
    assert listed(s3, "encoding-type=url")[0] == ["a%20b%01%C3%BC"]


def test_what_is_no_query_is_refused(s3: Caller) -> None:
    for query in (
        "max-keys=x",
        "max-keys=-1",
        "encoding-type=x",
        "list-type=2&continuation-token=!",
        "max-keys=%C2%B2",
    ):
        assert s3.refusal("GET", f"/sds?{query}") == "400 InvalidArgument"


def test_facts_of_each(filled: Caller) -> None:
    reply = filled.ask("GET", "/sds?prefix=c")
    assert (texts(reply, "Size"), texts(reply, "LastModified")) == (["1"], ["2027-01-15T08:00:00.000Z"])
    assert texts(reply, "ETag") == [header(filled.ask("HEAD", "/sds/c"), "ETag")]
    versions = filled.ask("GET", "/sds?versions&prefix=b")
    assert (texts(versions, "Key"), texts(versions, "VersionId")) == (["b/x/1", "b/x/2", "b/y"], ["null"] * 3)


@given(st.sets(WORDS.filter(bool)), WORDS, st.sampled_from(["", "/", "a", "ab"]), st.integers(1, 4))
def test_pages_together_are_what_one_page_would_be(names: set[str], prefix: str, delimiter: str, limit: int) -> None:
    ordered, position, keys = sorted(names), "", []
    while True:
        keys_page = select_page(ordered, ListOptions(prefix, delimiter, position, limit))
        keys += sorted([*keys_page.keys, *keys_page.prefixes])
        if not keys_page.truncated:
            break
        position = keys_page.last
    inside = [name for name in ordered if name.startswith(prefix)]
    ends = [(name, name.find(delimiter, len(prefix)) if delimiter else -1) for name in inside]
    expected = {name if end < 0 else name[: end + len(delimiter)] for name, end in ends}
    assert sorted(keys) == sorted(expected)
