"""Whatever a script does, it ends soon, and other clients of the machine do not wait for it."""

from __future__ import annotations

import tracemalloc

import pytest

from canton.emulator.shell.budget import LAST_WORDS, OUTPUT
from emulator.shell.lines import run

SECONDS = 2.0
"""Of processor time, on a machine that does other things as well; the aim is a fifth of a second."""
MEMORY = 32 << 20
ENDLESS = [
    "while true; do :; done",
    "while true; do echo a; done",
    "until false; do x=$(echo a); done",
    "cat /dev/zero",
    "yes",
    "cat /dev/urandom | sort | uniq | wc",
    "cat /dev/zero > /tmp/x",
    "x=a; while :; do x=$x$x; done",
    "x=$(cat /dev/zero)",
    "for a in $(seq 1 999999999); do echo $a; done",
    "n=0; while :; do n=$((n+1)); export v$n=$n; echo $n > /tmp/$n; done",
    "yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | grep -E '(a*)*b'",
    "yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | sed 's/\\(a*\\)*$/x/g'",
    "yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | grep -o 'a*b*a*c*'",
    "cat /dev/zero | tr '\\000' a | grep -E '(a|aa)+$'",
    "cat /dev/zero | awk '{print $1 $1 $1 $1}'",
    "echo 'sh /tmp/s; sh /tmp/s' > /tmp/s; sh /tmp/s",
    "(" * 30 + "while true; do :; done" + ")" * 30,
    "yes | while read x; do echo $x; done",
    "cat /dev/zero | cat | cat | cat | cat",
    "printf '%s%s%s%s' $(seq 1 9999)",
    ":; " * 20_000,
]


@pytest.mark.parametrize("script", ENDLESS)
def test_work_output_and_memory_have_an_end(script: str) -> None:
    tracemalloc.start()
    try:
        result = run(script)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert len(result.out) + len(result.err) <= OUTPUT + LAST_WORDS
    assert run(script).seconds < SECONDS


@pytest.mark.parametrize(
    "script", [":(){ :|:& };:", "(" * 40 + ":" + ")" * 40, "echo " + "$(echo " * 40 + ")" * 40, "echo " + "'" * 99_999]
)
def test_what_is_too_deep_or_too_long_is_refused(script: str) -> None:
    result = run(script)
    assert result.code == 2
    assert result.err


def test_an_endless_input_of_a_pipe_is_cut_and_the_rest_goes_on() -> None:
    assert run("yes | head -3; echo over").out == "y\ny\ny\nover\n"
    assert run("cat /dev/zero | head -c 5 | wc -c").out == "5\n"


def test_a_line_that_was_ended_says_so() -> None:
    result = run("while true; do :; done")
    assert result.code == 137
    assert result.err == "sh: killed: the line does more work than this shell allows\n"
