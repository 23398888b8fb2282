"""Nodesets mean what ClusterShell says they mean, fold to one canonical text, and never explode."""

from __future__ import annotations

import itertools
import random
import re
import time
import tracemalloc
from collections.abc import Iterable

import pytest
from ClusterShell.NodeSet import RESOLVER_NOGROUP
from ClusterShell.NodeSet import NodeSet as Oracle
from hypothesis import example, given, settings
from hypothesis import strategies as st

from canton.domain.errors import CantonError, InvalidNodeset, NodesetTooLarge, UnknownGroup, UnknownNodes
from canton.domain.nodeset.nodeset import LIMIT, NodeSet, check_known, count, expand, fold, parse

# On a busy machine an example may take longer than Hypothesis allows by default.
patient = settings(deadline=None, max_examples=200)


def oracle(text: str) -> set[str]:
    return set(Oracle(text, resolver=RESOLVER_NOGROUP))


def natural(name: str) -> list[tuple[str, int, int]]:
    """An independent statement of natural order: text, then numbers by value, then by width."""
    pieces = [*re.split("([0-9]+)", name), "0"]
    return [(text, int(number), len(number)) for text, number in zip(pieces[::2], pieces[1::2], strict=True)]


@st.composite
def ranges(draw: st.DrawFn) -> str:
    first = draw(st.integers(0, 120))
    last = first + draw(st.integers(0, 12))
    width = draw(st.sampled_from([0, 0, len(str(last)), len(str(last)) + 1]))
    form = draw(st.sampled_from(["{0}", "{0}-{1}", "{0}-{1}/{2}"]))
    return form.format(f"{first:0{width}}", f"{last:0{width}}", draw(st.integers(1, 15)))


brackets = st.lists(ranges(), min_size=1, max_size=3).map(lambda items: f"[{','.join(items)}]")
texts = st.sampled_from(["n", "x1000c", "nid", "node-", "a.b:c_", "b"])
patterns = st.lists(st.tuples(texts, st.just("") | brackets), min_size=1, max_size=3).map(
    lambda pairs: "".join(text + bracket for text, bracket in pairs)
)
fragments = brackets | st.sampled_from(["a", "-", ".", "0", "1", "01", "9", ",", "!", "&", "^", "[", "]"])
operators = st.sampled_from([",", "!", "&", "^", " , ", " !", "& ", "\t^\n"])


@st.composite
def expressions(draw: st.DrawFn) -> str:
    first, *other_patterns = draw(st.lists(patterns, min_size=1, max_size=4))
    return first + "".join(draw(operators) + pattern for pattern in other_patterns)


names = (
    st.builds("x100{}c{}s{}b0n{}".format, *[st.integers(0, 3)] * 4)
    | st.builds("n{}".format, st.from_regex("[0-9]{1,3}", fullmatch=True))
    | st.from_regex("[a-c0-2][-a-c0-2_.:]{0,5}", fullmatch=True)
)
sets_of_names = st.sets(names, max_size=60)


class TestExpand:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("", ""),
            (" \t\n", ""),
            ("login1", "login1"),
            ("x1000c0s[0-1]b0n[0-1]", "x1000c0s0b0n0 x1000c0s0b0n1 x1000c0s1b0n0 x1000c0s1b0n1"),
            ("node-[1-2]-eth[0-1]", "node-1-eth0 node-1-eth1 node-2-eth0 node-2-eth1"),
            ("n[0-10/5]", "n0 n5 n10"),
            ("nid[008-010]", "nid008 nid009 nid010"),
            ("n[1,01]", "n1 n01"),
            ("n[8-11]", "n8 n9 n10 n11"),
            ("n[ 1 - 2 , 5 ]", "n1 n2 n5"),
            ("[8-11]", "8 9 10 11"),
            ("n1,[9-10]", "9 10 n1"),
            ("n1[0-2]4", "n104 n114 n124"),
            ("n[1-2][3-4]", "n13 n14 n23 n24"),
            ("n10 n9\nn[1-2]", "n1 n2 n9 n10"),
            ("a,b!a,a", "a b"),
            ("a[1-5]!a[2-3]&a[3-9]", "a4 a5"),
            ("a[1-3]^a[3-4]", "a1 a2 a4"),
            ("a b !a", "b"),
        ],
    )
    def test_means(self, text: str, expected: str) -> None:
        assert expand(text) == expected.split()

    @patient
    @given(expressions())
    def test_agrees_with_clustershell(self, text: str) -> None:
        assert set(expand(text)) == oracle(text)
        assert count(text) == len(oracle(text))

    @patient
    @given(expressions(), expressions())
    def test_a_blank_is_a_union(self, left_text: str, right: str) -> None:
        assert parse(f"{left_text} {right}") == parse(f"{left_text},{right}")

    @patient
    @given(sets_of_names)
    def test_is_in_natural_order(self, some: set[str]) -> None:
        assert expand(",".join(some)) == sorted(some, key=natural)


class TestFold:
    @pytest.mark.parametrize(
        ("given_names", "text"),
        [
            ("", ""),
            ("b a a", "a,b"),
            ("n3 n1 n2 n10", "n[1-3,10]"),
            ("n0 n9 n10 n11", "n[0,9-11]"),
            ("n09 n10 n11", "n[09-11]"),
            ("n1 n2 n01 n02 n10", "n[1-2,01-02,10]"),
            ("n0 n00 n000", "n[0,00,000]"),
            ("x1c0 x1c1 x2c0 x2c1", "x[1-2]c[0-1]"),
            ("x1c0 x1c1 x2c0", "x1c[0-1],x2c0"),
            ("a1 a2 a1b1 a10", "a[1-2,10],a1b1"),
        ],
    )
    def test_writes(self, given_names: str, text: str) -> None:
        assert fold(given_names.split()) == text

    @patient
    @given(sets_of_names)
    def test_reads_back_the_same(self, some: set[str]) -> None:
        assert set(parse(fold(some))) == some

    @patient
    @given(st.sets(names, min_size=1, max_size=60))
    def test_means_the_same_to_clustershell(self, some: set[str]) -> None:
        assert oracle(fold(some)) == some

    @patient
    @given(st.lists(names, max_size=60), st.randoms(use_true_random=False))
    def test_is_canonical(self, some: list[str], chance: random.Random) -> None:
        shuffled = some * 2
        chance.shuffle(shuffled)
        assert fold(shuffled) == fold(some)

    @patient
    @given(st.lists(st.integers(2, 6), min_size=1, max_size=5), st.integers(0, 9))
    def test_is_one_product_where_the_set_is_one(self, sides: list[int], first: int) -> None:
        text = "".join(f"{letter}[{first}-{first + side - 1}]" for letter, side in zip("xcsbn", sides, strict=False))
        folded = fold(expand(text))
        assert folded == text
        assert folded.count("[") <= str(Oracle(text, resolver=RESOLVER_NOGROUP)).count("[")

    def test_one_hole_costs_one_product_for_each_dimension(self) -> None:
        holed = parse("x[1000-1003]c[0-7]s[0-7]b[0-1]n[0-1]!x1001c3s5b1n0")
        assert str(holed).count("x") == 5

    def test_does_not_grow_faster_than_the_set(self) -> None:
        """Ten times the names may cost some more than ten times the time, but not a hundred."""
        machine = expand("x[1000-1039]c[0-7]s[0-7]b[0-1]n[0-7]")
        random.Random(7).shuffle(machine)
        assert cpu_seconds(machine[:20_000]) < 30 * cpu_seconds(machine[:2_000])

    @pytest.mark.parametrize(
        "text",
        [
            "a[0-1]" * 16 + "a0" * 100,
            "a[0-1]" * 16 + "a0" * 100 + ",a10" + "a1" * 115,
            "a[10-99]b[0-99]c[0-9]" + "c10" * 75,
            "a0" * 100 + "a[10-99]b[0-9]",
        ],
    )
    def test_names_of_a_hundred_numbers_cannot_hold_it_up(self, text: str) -> None:
        some = parse(text)
        start = time.process_time()
        folded = str(some)
        assert time.process_time() - start < 10
        assert parse(folded) == some


def cpu_seconds(some: list[str]) -> float:
    def once() -> float:
        start = time.process_time()
        fold(some)
        return time.process_time() - start

    return min(once() for _ in range(3))


class TestNodeSet:
    @patient
    @given(sets_of_names, sets_of_names)
    def test_is_a_set(self, left_set: set[str], right: set[str]) -> None:
        a, b = NodeSet(frozenset(left_set)), NodeSet(frozenset(right))
        assert set(a | b) == left_set | right
        assert set(a & b) == left_set & right
        assert set(a - b) == left_set - right
        assert set(a ^ b) == left_set ^ right
        assert (a <= b) == (left_set <= right)
        assert (a == b) == (left_set == right)
        assert len(a) == len(left_set)
        assert all(name in a for name in left_set)
        assert "no-such-node" not in a

    def test_is_a_value(self) -> None:
        assert {parse("n[1-3]"): 1}[parse("n1,n2,n3")] == 1
        assert not parse("")
        with pytest.raises(AttributeError):
            parse("a").names = frozenset()  # type: ignore[misc]

    @pytest.mark.parametrize("name", ["", "a b", "a,b", "a[1]", "@a", "a\n", "é", "٣", "-a", "..", "a" * 254, "a\x00"])
    def test_refuses_an_invalid_name(self, name: str) -> None:
        with pytest.raises(InvalidNodeset, match="is not a node name") as caught:
            fold(["n1", name])
        assert caught.value.message.isascii()


class TestGroups:
    members = {"psi": ["n1", "n2"], "psi/alps": ["n2", "n3"], "none": []}  # noqa: RUF012

    def resolve(self, group: str) -> Iterable[str]:
        try:
            return self.members[group]
        except KeyError:
            raise UnknownGroup(f"no group {group}") from None

    @pytest.mark.parametrize(
        ("text", "folded"),
        [
            ("@psi", "n[1-2]"),
            ("@psi,@psi/alps", "n[1-3]"),
            ("@psi @psi/alps", "n[1-3]"),
            ("@psi!@psi/alps", "n1"),
            ("n[1-9]&@psi/alps", "n[2-3]"),
            ("@none", ""),
        ],
    )
    def test_are_resolved(self, text: str, folded: str) -> None:
        assert str(parse(text, self.resolve)) == folded

    def test_unknown_ones_are_the_resolver_s_to_refuse(self) -> None:
        with pytest.raises(UnknownGroup, match="no group psi/x"):
            parse("@psi/x", self.resolve)

    def test_are_refused_without_a_resolver(self) -> None:
        with pytest.raises(InvalidNodeset, match="the group @psi cannot be looked up here"):
            parse("n1,@psi")

    def test_count_towards_the_limit(self) -> None:
        assert count("n9,@psi", self.resolve, limit=3) == 3
        with pytest.raises(NodesetTooLarge, match="at least 3 nodes, and the limit is 2"):
            parse("n9,@psi", self.resolve, limit=2)

    def test_are_read_no_further_than_the_limit(self) -> None:
        endless = itertools.count()
        with pytest.raises(NodesetTooLarge):
            parse("@endless", lambda _: (f"n{number}" for number in endless), limit=10)
        assert next(endless) == 11

    def test_cannot_smuggle_in_a_bad_name(self) -> None:
        with pytest.raises(InvalidNodeset):
            parse("@psi", lambda _: ["n1,n2"])


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "at", "message"),
        [
            ("x[0-3", 1, "this bracket is not closed"),
            ("x[[1]]", 1, "this bracket is not closed"),
            ("a,x[1-2,b", 3, "this bracket is not closed"),
            ("x0-3]", 4, "this bracket closes nothing"),
            ("x[]", 2, "the range is empty"),
            ("x[1,]", 4, "the range is empty"),
            ("x[1-2]c[ ,1]", 8, "the range is empty"),
            ("x[1-]", 2, "this is not a range"),
            ("x[-1]", 2, "this is not a range"),
            ("x[1_0]", 2, "this is not a range"),
            ("x[1 2]", 2, "this is not a range"),
            ("x[1/2]", 2, "this is not a range"),
            ("x[1-2-3]", 2, "this is not a range"),
            ("x[5,٣]", 4, "this is not a range"),
            ("x[3-1]", 2, "the range runs backwards"),
            ("x[0-3/0]", 2, "the step is 0"),
            ("x[01-9]", 2, "different widths; pad both"),
            ("x[1-09]", 2, "different widths; pad both"),
            ("x[08-100]", 2, "different widths; pad both"),
            ("x1[8-11]", 3, "different widths; write a range for each"),
            ("x[1-2][8-11]", 7, "different widths; write a range for each"),
            (",a", 0, "nothing stands before ','"),
            (" !a", 1, "nothing stands before '!'"),
            ("a,", 1, "nothing stands after ','"),
            ("a ^ ", 2, "nothing stands after '^'"),
            ("a,,b", 1, "nothing stands after ','"),
            ("a & !b", 2, "nothing stands after '&'"),
            ("a,-b", 2, "a name cannot start like this"),
            ("..", 0, "a name cannot start like this"),
            ("a/b", 1, "the character '/' cannot stand here"),
            ("a{1,2}", 1, "the character '{' cannot stand here"),
            ("a\x1b[1m", 1, r"the character '\\x1b' cannot stand here"),
            ("é1", 0, r"the character '\\xe9' cannot stand here"),
            ("n٣", 1, r"the character '\\u0663' cannot stand here"),
            ("a\u00a0b", 1, r"the character '\\xa0' cannot stand here"),
            ("a@b", 1, "the character '@' cannot stand here"),
            ("@", 0, "the character '@' cannot stand here"),
            ("@a/b/c", 4, "the character '/' cannot stand here"),
            ("@psi[1-2]", 4, "a group has no ranges"),
        ],
    )
    def test_are_pointed_at(self, text: str, at: int, message: str) -> None:
        with pytest.raises(InvalidNodeset, match=message.replace("^", r"\^")) as caught:
            parse(text)
        explanation, excerpt, caret = caught.value.message.split("\n")
        assert "; " in explanation, "it says what to do next"
        assert len(excerpt) == 2 + len(text)
        assert caret.index("^") == 2 + at
        assert caught.value.details["position"] == at
        assert caught.value.message.isascii(), "safe on any terminal"

    def test_in_a_long_text_only_the_surroundings_are_shown(self) -> None:
        with pytest.raises(InvalidNodeset) as caught:
            parse("n1," * 1000 + "{," + "n2," * 1000)
        _, excerpt, caret = caught.value.message.split("\n")
        assert excerpt[caret.index("^")] == "{"
        assert len(excerpt) < 100

    @patient
    @given(st.text(max_size=30) | st.text("ab01[]-/,!&^@ .{é", max_size=12))
    @example("[" * 1000)
    @example("[1]" * 300)
    def test_garbage_is_refused_or_read_and_nothing_else(self, text: str) -> None:
        try:
            some = parse(text)
        except CantonError:
            return
        assert parse(str(some)) == some

    @patient
    @given(st.lists(fragments, max_size=8).map("".join))
    def test_what_both_accept_means_the_same(self, text: str) -> None:
        try:
            some = expand(text)
        except CantonError:
            return
        try:
            theirs = oracle(text)
        except Exception:  # noqa: BLE001  # the oracle refuses what it cannot fold
            return
        assert set(some) == theirs


class TestLimits:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("n[0-999999999]", "at least 1,000,000,000 nodes, and the limit is 100,000"),
            ("a[0-9999]b[0-9999]", "at least 100,000,000 nodes"),
            ("a" + "[0-9]" * 200, "at least 10^15 nodes"),
            ("n[0-1" + "0" * 1000 + "]", "a number has 1,001 digits, and the limit is 253"),
            ("n[" + "0" * 5000 + "1]", "a number has 5,001 digits"),
            ("n[1-9/1" + "0" * 5000 + "]", "a number has 5,001 digits"),
            ("n[" + "0" * 252 + "1]", "a name has 254 characters, and the limit is 253"),
            ("n" * 254, "a name has 254 characters"),
            ("[1]" * 300_000, "a name has [0-9,]+ characters"),
            ("n[0-99999],n1", "at least 100,001 nodes"),
            ("n[0-60000]!n[0-60000]", "at least 120,002 nodes"),
            ("n[0-9999]," * 50_000 + "n", "at least 110,000 nodes"),
            ("n," * 500_000 + "n", "it lists 500,001 names"),
            ("n[" + "1," * 500_000 + "1]", "it lists 500,001 names"),
            ("n" * 2**20 + "n", "it has 1,048,577 characters, and the limit is 1,048,576"),
            ("[" * 2**21, "it has 2,097,152 characters"),
        ],
    )
    def test_an_explosion_is_refused_before_it_costs_anything(self, text: str, message: str) -> None:
        start = time.process_time()
        tracemalloc.start()
        try:
            with pytest.raises(NodesetTooLarge, match=message.replace("^", r"\^")):
                parse(text)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2**20
        assert time.process_time() - start < 0.5

    @pytest.mark.parametrize("text", ["n " * 500_000, "n!" * 500_000 + "n", "n[" + "9" * 10**6])
    def test_long_nonsense_is_refused_quickly(self, text: str) -> None:
        start = time.process_time()
        with pytest.raises((NodesetTooLarge, InvalidNodeset)):
            parse(text)
        assert time.process_time() - start < 5

    def test_the_limit_is_the_caller_s(self) -> None:
        assert count(f"n[1-{LIMIT}]") == LIMIT
        assert count("n[1-150000]", limit=150_000) == 150_000
        assert count("n[1-3]", limit=3) == 3
        with pytest.raises(NodesetTooLarge, match="the limit is 2") as caught:
            count("n[1-3]", limit=2)
        assert caught.value.details["limit"] == 2

    def test_the_longest_name_is_accepted(self) -> None:
        assert expand("n[" + "0" * 251 + "1]") == ["n" + "0" * 251 + "1"]


class TestKnown:
    def test_all_known_passes(self) -> None:
        check_known(parse("n[1-3]"), {"n1", "n2", "n3", "n4"})

    def test_exactly_the_unknown_ones_are_listed(self) -> None:
        with pytest.raises(UnknownNodes, match=re.escape("no such nodes: n[2-3,10]; ")) as caught:
            check_known(parse("n[1-4,10]"), {"n1", "n4"})
        assert caught.value.details == {"nodes": "n[2-3,10]"}

    @patient
    @given(sets_of_names, sets_of_names)
    def test_nothing_is_dropped_in_silence(self, requested: set[str], known_names: set[str]) -> None:
        nodeset = NodeSet(frozenset(requested))
        if requested <= known_names:
            check_known(nodeset, known_names)
            return
        with pytest.raises(UnknownNodes) as caught:
            check_known(nodeset, known_names)
        assert set(expand(str(caught.value.details["nodes"]))) == requested - known_names
