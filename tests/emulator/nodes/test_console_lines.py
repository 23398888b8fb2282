"""Lines of several commands, and what stands behind a pipe."""

from __future__ import annotations

import pytest

from canton.emulator.nodes.filters import NotUnderstood, read_filter
from canton.emulator.nodes.lines import read_line

TEXT = "".join(f"line {number}\n" for number in range(1, 13)) + "Last\n"


@pytest.mark.parametrize(
    ("words", "wanted", "code"),
    [
        ("head -n 2", "line 1\nline 2\n", 0),
        ("head -1", "line 1\n", 0),
        ("head -n1", "line 1\n", 0),
        ("tail -2", "line 12\nLast\n", 0),
        ("tail --lines=1", "Last\n", 0),
        ("tail -n +13", "Last\n", 0),
        ("tail -n 0", "", 0),
        ("grep 1", "line 1\nline 10\nline 11\nline 12\n", 0),
        ("grep last", "", 1),
        ("grep -i last", "Last\n", 0),
        ("grep -iv LINE", "Last\n", 0),
        ("grep -c line", "12\n", 0),
        ("grep -c .", "0\n", 1),
        ("wc -l", "13\n", 0),
    ],
)
def test_filters_do_as_they_do_elsewhere(words: str, wanted: str, code: int) -> None:
    assert read_filter(words.split())(TEXT) == (wanted, code)


def test_without_a_number_there_are_ten() -> None:
    assert read_filter(["head"])(TEXT)[0].count("\n") == 10
    assert read_filter(["tail"])(TEXT)[0].count("\n") == 10


@pytest.mark.parametrize(
    "line",
    [
        "hostname | awk 1",
        "hostname; uptime | sort",
        "dmesg | grep -r x",
        "dmesg | grep ^x",
        "dmesg | grep a file",
        "dmesg | head file",
        "dmesg | head -n x",
        "dmesg | tail -n -x",
        "dmesg | wc -c",
        "dmesg | head -z",
        "dmesg > /tmp/x",
        "hostname && dmesg 2>&1",
        "cat < /etc/hostname",
        "hostname &",
        "echo $(hostname)",
        "ping -c 1 localhost | tail -1",
    ],
)
def test_what_is_too_much_is_refused_before_anything_runs(line: str) -> None:
    with pytest.raises(NotUnderstood, match="is more than this console's shell can do"):
        read_line(line)


@pytest.mark.parametrize(
    ("line", "near"),
    [(";;", ";;"), ("&& a", "&&"), ("a ; ; b", ";"), ("a &&", "newline"), ("| a", r"\|"), ("a |", r"\|")],
)
def test_what_is_no_line_is_refused(line: str, near: str) -> None:
    with pytest.raises(NotUnderstood, match=f"syntax error near unexpected token `{near}'"):
        read_line(line)


def test_quotes_keep_words_and_marks_together() -> None:
    assert read_line("echo 'a; b' \"|\" c\\>d ''; hostname;") == [
        ("", [["echo", "a; b", "|", "c>d", ""]]),
        (";", [["hostname"]]),
    ]
    assert read_line("a|head -1&&b||c") == [("", [["a"], ["head", "-1"]]), ("&&", [["b"]]), ("||", [["c"]])]
    assert read_line("  ") == []
