"""Every script ends soon, and other clients of the machine do not wait for it."""

from __future__ import annotations

import asyncio
import tracemalloc
from time import thread_time
from typing import cast

import pytest

from csm_emulator.cluster.pods import Exec, Pod
from csm_emulator.services.kubernetes.containers.shell_terminal import TerminalInput, streams_of
from csm_emulator.shell.budget import FINAL_MESSAGE_ROOM, OUTPUT, TICKS_BETWEEN_CLOCK_READS, Budget
from csm_emulator.shell.budget import SECONDS as SECONDS_OF_A_LINE
from shell.run_script import run

SECONDS = 2.0
"""Seconds of processor time, on a machine that does other things as well; the aim is a fifth of a second."""
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

_FILES = "for i in $(seq 1 180); do : > /tmp/f$i; done; "
_LONG = "x=$(cat /dev/zero | tr '\\000' a | head -c 60000); "
DEARER_THAN_THEY_LOOK = {
    "folders of many files": _FILES + "while :; do ls -d " + "/ " * 5000 + "; done",
    "a search in many files": _FILES + "while :; do find / -empty -name zzz; done",
    "many names that are gone": _FILES + "while :; do rm -f " + "/etc/zz " * 5000 + "; done",
    "a file line by line": _FILES + "while :; do seq 9999 > /tmp/x; done",
    "deep paths": "while :; do mkdir -p /tmp/" + "a/" * 9000 + "; done",
    "long words": "while :; do : " + "a" * 60_000 + "; done",
    "empty variables": "while :; do : " + "$x" * 30_000 + "; done",
    "sums": "while :; do : " + "$((1))" * 8000 + "; done",
    "a script that is read again": "while :; do : $(false && : " + "a " * 30_000 + "); done",
    "ends of values": _LONG + "x=$(echo $x | cut -c1-4000); while :; do : ${x#*a*a*b}; done",
    "a long pattern": "for i in $(seq 1 9999); do : ${HOME#" + "?" * 60_000 + "$i}; done",
    "a long pattern of names": "for i in $(seq 1 9999); do find /tmp -name " + "?" * 60_000 + "$i; done",
    "long words join_words": _LONG + ": " + "$x" * 20_000,
    "long values join_words": _LONG + 'y="' + "$x" * 20_000 + '"',
    "many long words": _LONG + 'while :; do set -- "$x$1"; done; : ' + '"$x" ' * 900,
    "files together": "yes '' | head -n 60000 > /tmp/x; cd /tmp; sort -u " + "x " * 600,
    "places of a line": "yes a | tr -d '\\n' | cut -c " + "9999-," * 9000 + "1",
    "many patterns": "while :; do grep -E " + "-e '(((a?){12}){10}){4}' " * 1500 + "/etc/motd; done",
    "sets of signs": "while :; do tr " + "a-\U0010ffff" * 9000 + " x </dev/null; done",
    "a match many times": "yes x | tr -d '\\n' | sed 's/.*/" + "&" * 4000 + "/'",
    "many matches": "yes x | tr -d '\\n' | sed 's/x/" + "y" * 50_000 + "/g'",
    "a line many times": "yes x | tr -d '\\n' | awk '{print " + "$0 " * 4000 + "}'",
    "an unfinished s": "echo | sed 's/" + "\\a" * 40 + "'",
    "an unfinished print": "awk '{print " + " " * 60_000 + "'",
    "not many times": "test " + "! " * 5000 + "x",
}


@pytest.mark.parametrize("script", [*ENDLESS, *DEARER_THAN_THEY_LOOK.values()], ids=[*ENDLESS, *DEARER_THAN_THEY_LOOK])
def test_work_output_and_memory_have_an_end(script: str) -> None:
    tracemalloc.start()
    try:
        result = run(script)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert len(result.out) + len(result.err) <= OUTPUT + FINAL_MESSAGE_ROOM
    assert run(script).seconds < SECONDS


@pytest.mark.parametrize(
    "script", [":(){ :|:& };:", "(" * 40 + ":" + ")" * 40, "echo " + "$(echo " * 40 + ")" * 40, "echo " + "'" * 99_999]
)
def test_what_is_too_deep_or_too_long_is_refused(script: str) -> None:
    result = run(script)
    assert result.code == 2
    assert result.err


def test_what_a_shell_keeps_from_line_to_line_is_bounded() -> None:
    result = run(_LONG + "for i in $(seq 1 200); do export v$i=$i$x; done")
    assert (result.code, result.err) == (137, "sh: killed: variables are longer than 1048576 characters\n")


def test_an_endless_input_of_a_pipe_is_cut_and_the_rest_goes_on() -> None:
    assert run("yes | head -3; echo over").out == "y\ny\ny\nover\n"
    assert run("cat /dev/zero | head -c 5 | wc -c").out == "5\n"


def test_a_line_that_was_ended_has_a_message() -> None:
    result = run("while true; do :; done")
    assert result.code == 137
    assert result.err == "sh: killed: the line does more work than this shell allows\n"


def test_what_a_line_waits_for_is_not_its_work() -> None:
    async def busy(_: bytes = b"") -> bytes:
        """Other clients keep the processor for longer than a line may."""
        end = thread_time() + 1.2 * SECONDS_OF_A_LINE
        while thread_time() < end:
            pass
        return b"typed\n"

    async def write(_: bytes) -> None:
        await busy()

    async def use() -> None:
        budget = Budget()
        execution = Exec(cast("Pod", None), "", [], False, busy, write, write)
        streams = streams_of(execution, TerminalInput(execution), budget)
        assert await streams.stdin.read() == "typed\n"
        await streams.out.write("a")
        budget.spend(2 * TICKS_BETWEEN_CLOCK_READS)

    asyncio.run(use())
