"""Formats, columns, folding, and foreign text that must not control the terminal."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from canton.cli.input.nodes import fold_rows
from canton.cli.output.formats import Column, as_csv, as_json, as_yaml
from canton.cli.output.table import ago
from canton.domain.nodeset.nodeset import expand
from canton.domain.terminal_text import harmless, is_harmless, json_escaped
from cli.command_result import Run
from client import samples
from client.scripted_server import Reply, Script, items

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


class TestRoundTrip:
    @given(VALUE)
    def test_json(self, value: Any) -> None:
        text = as_json(value, indent=2)
        assert json.loads(text) == value
        assert is_harmless(text)

    @given(VALUE)
    def test_yaml(self, value: Any) -> None:
        text = as_yaml(value)
        assert yaml.safe_load(text) == value
        assert is_harmless(text)

    @given(st.lists(st.fixed_dictionaries({"a": TEXT, "b": TEXT.filter(bool)}), max_size=4))
    def test_csv(self, rows: list[dict[str, str]]) -> None:
        text = as_csv([Column("a", "a"), Column("b", "b")], rows, headers=True)
        # The reader of the standard library takes a bare CR for a line end only if it is not quoted; ours are.
        parsed_rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert parsed_rows == rows

    @given(TEXT)
    def test_nothing_a_terminal_acts_on_is_left(self, text: str) -> None:
        assert not {char for char in harmless(text) + json_escaped(text) if acts(char)}


def test_every_control_is_known() -> None:
    active_characters = {char for char in map(chr, range(0x110000)) if acts(char)}
    assert {char for char in active_characters if is_harmless(char)} == set()


def acts(char: str) -> bool:
    """Whether Unicode gives the character an effect: controls, line ends, surrogates, and changes of direction."""
    turns = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
    if char in "\t\n":
        return False
    by_kind = unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(char) in turns
    return by_kind or char in "\u200e\u200f\u061c"


def test_letters_stay_letters() -> None:
    assert as_json({"a": "Zürich"}) == '{"a": "Zürich"}'
    assert as_yaml({"a": "Zürich"}) == "a: Zürich\n"
    assert harmless("Zürich 日本 🙂") == "Zürich 日本 🙂"


EVIL = "psi\x1b]0;owned\x07 \x9b31m \u202etxt.exe\r\nsecond\tline"


@pytest.mark.parametrize("output", ["table", "wide", "json", "yaml", "name"])
def test_a_description_cannot_drive_the_terminal(canton: Run, script: Script, output: str) -> None:
    script.on("GET /v1/tenants", items(samples.tenant(description=EVIL, name="psi\x1b[2J")))
    result = canton("tenant", "list", "-o", output)
    assert is_harmless(result.out)
    assert "psi" in result.out
    if output in ("table", "wide"):
        assert len(result.out.splitlines()) == 2


class TestFormats:
    @pytest.fixture(autouse=True)
    def tenants(self, script: Script) -> None:
        script.on("GET /v1/tenants", items(samples.tenant("psi"), samples.tenant("cscs", description="", nodes=0)))

    @pytest.mark.parametrize(
        ("options", "printed"),
        [
            ([], "NAME  STATE   NODES  DESCRIPTION\npsi   active  4      Villigen\ncscs  active  0      -\n"),
            (["--no-headers"], "psi   active  4  Villigen\ncscs  active  0  -\n"),
            (["-c", "nodes,name"], "NODES  NAME\n4      psi\n0      cscs\n"),
            (["-q"], "psi\ncscs\n"),
            (["-o", "name"], "tenant/psi\ntenant/cscs\n"),
            (["-o", "csv", "-c", "name,created"], f"name,created\npsi,{samples.AT}\ncscs,{samples.AT}\n"),
            (["-o", "csv", "-c", "name,description", "--no-headers"], "psi,Villigen\ncscs,\n"),
            (["-o", "json", "-q"], "psi\ncscs\n"),
        ],
    )
    def test_a_list(self, canton: Run, options: list[str], printed: str) -> None:
        assert canton("tenant", "list", *options) == (0, printed, "")

    def test_wide_has_more_columns(self, canton: Run) -> None:
        assert canton("tenant", "list", "-o", "wide").out.splitlines()[0].split()[-2:] == ["CREATED", "VERSION"]

    def test_yaml_is_the_body(self, canton: Run) -> None:
        assert yaml.safe_load(canton("tenant", "list", "-o", "yaml").out)["items"][0] == samples.tenant("psi")

    def test_an_unknown_column_names_the_nearest(self, canton: Run, script: Script) -> None:
        result = canton("tenant", "list", "-c", "nmae")
        assert result.status == 2
        assert 'tenant has no column "nmae"; did you mean "name"? It has: name, state' in result.err
        assert script.requests == []

    def test_an_empty_list_prints_nothing_and_says_so(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/tenants", items())
        assert canton("tenant", "list") == (0, "", "canton: nothing to list\n")
        assert json.loads(canton("tenant", "list", "-o", "json").out) == {"items": [], "next": None}

    @pytest.mark.parametrize(
        ("variables", "coloured"),
        [
            ({}, False),
            ({"CLICOLOR_FORCE": "1"}, True),
            ({"CLICOLOR_FORCE": "0"}, False),
            ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False),
            ({"CLICOLOR_FORCE": "1", "NO_COLOR": ""}, True),
        ],
    )
    def test_colour_is_a_matter_of_the_environment(
        self, canton: Run, variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert ("\x1b[32m" in canton("tenant", "list").out) is coloured


class TestNodes:
    @pytest.fixture(autouse=True)
    def nodes(self, script: Script) -> None:
        free = [samples.node(f"x1000c0s{slot}b0n{n}") for slot in range(3) for n in range(2)]
        script.on("GET /v1/nodes", items(*free, samples.node("x1000c0s3b0n0", state="quarantined", power="off")))

    def test_those_that_are_alike_share_a_row(self, canton: Run) -> None:
        rows = [re.sub(r" +", " ", line) for line in canton("node", "list").out.splitlines()]
        age = rows[1].split()[5]
        assert rows == [
            "COUNT SITE STATE TENANT POWER NODES",
            f"6 alps free - on {age} ago x1000c0s[0-2]b0n[0-1]",
            f"1 alps quarantined - off {age} ago x1000c0s3b0n0",
        ]

    def test_power_has_the_age_of_its_oldest_reading_and_says_when_that_is_stale(
        self, canton: Run, script: Script
    ) -> None:
        readings = {
            "x1000c0s0b0n0": (timedelta(seconds=5), False),
            "x1000c0s1b0n0": (timedelta(seconds=30), False),
            "x1000c0s2b0n0": (timedelta(hours=3), True),
        }
        now = datetime.now(UTC)
        nodes = [
            samples.node(name, seen_at=(now - age).isoformat(), stale=stale) for name, (age, stale) in readings.items()
        ]
        script.on("GET /v1/nodes", items(*nodes, samples.node("x1000c0s3b0n0", power=None, seen_at=None, stale=True)))
        table = canton("node", "list", "-c", "power,nodes", "--no-headers").out
        assert re.fullmatch(
            r"on 3[0-9]s ago +x1000c0s\[0-1\]b0n0\non 3h ago, stale +x1000c0s2b0n0\n- +x1000c0s3b0n0\n", table
        ), table
        script.on("GET /v1/nodes/x1000c0s2b0n0", Reply(body=nodes[2]))
        one = canton("node", "show", "x1000c0s2b0n0").out
        assert re.search(r"^seen: .*\(3h ago\)$", one, re.MULTILINE)
        assert re.search(r"^stale: +yes", one, re.MULTILINE)

    def test_columns_decide_what_is_alike(self, canton: Run) -> None:
        assert (
            canton("node", "list", "-c", "site,nodes", "--no-headers").out
            == "alps  x1000c0s[0-2]b0n[0-1],x1000c0s3b0n0\n"
        )
        assert len(canton("node", "list", "-c", "xname,state", "--no-headers").out.splitlines()) == 7

    def test_wide_and_ids_have_a_line_for_each(self, canton: Run) -> None:
        assert len(canton("node", "list", "-o", "wide", "--no-headers").out.splitlines()) == 7
        assert canton("node", "list", "-q").out.splitlines()[0] == "x1000c0s0b0n0"

    @given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=30, unique=True))
    def test_folding_loses_no_node(self, drawn: list[tuple[str, int]]) -> None:
        rows = fold_rows(
            [samples.node(f"n{number}", state=state) for state, number in drawn], ("state", "nodes", "count")
        )
        listed_nodes = {(state, name) for state, nodes, _ in rows for name in expand(nodes)}
        assert listed_nodes == {(state, f"n{number}") for state, number in drawn}
        assert sum(int(count) for *_, count in rows) == len(drawn)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        ("2026-11-15T23:07:21.123456Z", "now"),
        ("2026-11-15T23:06:21.000000Z", "60s ago"),
        ("2026-11-15T22:07:21.000000Z", "60m ago"),
        ("2026-11-14T23:07:21.000000Z", "24h ago"),
        ("2026-11-01T23:07:21.000000Z", "14d ago"),
        ("2026-11-16T07:07:22.123456Z", "in 8h"),
        (None, "-"),
        ("not an instant", "not an instant"),
    ],
)
def test_instants_are_relative_in_tables(instant: str | None, text: str) -> None:
    assert ago(instant, now=1_794_784_041.2) == text


def test_one_object_shows_instants_both_ways(canton: Run, script: Script) -> None:
    script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()))
    assert f"created:      {samples.AT[:19]}Z (" in canton("tenant", "show", "psi").out
    assert json.loads(canton("tenant", "show", "psi", "-o", "json").out)["created_at"] == samples.AT


class TestOneObjectInColour:
    @pytest.fixture(autouse=True)
    def colour(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG002 (it clears them first)
        monkeypatch.setenv("CLICOLOR_FORCE", "1")

    def test_has_no_blanks_behind_a_value(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/tenants/psi", Reply(body=samples.tenant(description="x" * 90)))
        assert "state:        \x1b[32mactive\x1b[0m\n" in canton("tenant", "show", "psi").out

    def test_does_not_warn_of_a_no_that_is_good(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes/x1", Reply(body=samples.node("x1")))
        assert re.search("^stale: +no$", canton("node", "show", "x1").out, re.MULTILINE)


def test_a_list_in_an_object_has_a_line_for_each_value(canton: Run, script: Script) -> None:
    script.on("GET /v1/service-accounts/sa_1", Reply(body=samples.account(permissions=["node.power", "node.read"])))
    lines = canton("service-account", "show", "sa_1", "-c", "name,permissions").out.splitlines()
    assert lines == ["name:         ci", "permissions:  node.power", "              node.read"]
