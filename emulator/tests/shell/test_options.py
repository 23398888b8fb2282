"""``set``, ``exec`` and the options of the shell, compared with dash and bash of this computer."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest

from shell.run_script import run

BOTH = ("dash", "bash")
SHELLS = [shell for shell in BOTH if shutil.which(shell)]
SCRIPTS = [
    ("set -e; false; echo no", "", 1),
    ("set -e; nope 2>/dev/null; echo no", "", 127),
    ("set -e; ! true; ! false; ! { false; echo in; }; echo yes", "in\nyes\n", 0),
    ("set -e; false || false; echo no", "", 1),
    ("set -e; true && false; echo no", "", 1),
    ("set -e; false && true; false && true || echo or; { false && true; }; echo yes", "or\nyes\n", 0),
    ("set -e; false || echo or; (false; echo in) || echo no; echo yes", "or\nin\nyes\n", 0),
    ("set -e; (false && true); echo no", "", 1),
    ("set -e; (exit 3); echo no", "", 3),
    ("set -e; if false; then :; elif false; then :; fi; echo yes", "yes\n", 0),
    ("set -e; if { false; true; }; then echo then; fi", "then\n", 0),
    ("set -e; if true; then false; echo no; fi; echo no", "", 1),
    ("set -e; if true; then false && true; fi; echo yes", "yes\n", 0),
    ("set -e; while false; do :; done; until true; do false; done; echo yes", "yes\n", 0),
    ("set -e; while true; do false; echo no; done; echo no", "", 1),
    ("set -e; for n in 1 2; do echo $n; false; echo no; done; echo no", "1\n", 1),
    ("set -e; false | true; { false; echo no; } | cat; echo yes", "yes\n", 0),
    ("set -e; true | false; echo no", "", 1),
    ("set -e; x=$(false); echo no", "", 1),
    ("set -e; x=`exit 4`; echo no", "", 4),
    ("set -e; echo $(false)x; echo yes", "x\nyes\n", 0),
    ("set -e; $(false); echo no", "", 1),
    ("set -e; test a = b; echo no", "", 1),
    ("set -e; sh -c 'false; echo inner'; echo outer", "inner\nouter\n", 0),
    ("set -e; { :; } </nope/x 2>/dev/null || echo or; set +e; false; echo $?", "or\n1\n", 0),
    ("set -o errexit; false; echo no", "", 1),
    ('set -u; echo ${x-def} ${x:+no} "$@" $#; x=; echo "<$x>"', "def 0\n<>\n", 0),
    ("set -u; x=$none; echo no", "", None),
    ("set -u; echo ${#none}; echo no", "", None),
    ("set -u; echo $1; echo no", "", None),
    ('set -u; (echo $none); echo after; set +u; echo "<$none>"', "after\n<>\n", 0),
    ("set -eu a b; echo $1 $2 $#", "a b 2\n", 0),
    ("set -- -x y; echo $1 $#; set --; echo $#", "-x 2\n0\n", 0),
    ("exec echo hi; echo no", "hi\n", 0),
    ("exec false; echo no", "", 1),
    ("exec nope; echo no", "", 127),
    ("exec; echo yes", "yes\n", 0),
    ("(exec echo hi; echo no); echo yes", "hi\nyes\n", 0),
    ("x=$(exec sh -c 'echo in; exit 5'); echo $? $x", "5 in\n", 0),
    ("command echo hi", "hi\n", 0),
    ("{ set -x; echo a; x=1; echo $x; set +x; echo b; } 2>&1", "+ echo a\na\n+ x=1\n+ echo 1\n1\n+ set +x\nb\n", 0),
    ("sh -ec 'false; echo no'", "", 1),
    ("sh -ce 'false; echo no'", "", 1),
    ("sh -c -e 'false; echo no'", "", 1),
    ("sh +e -c 'false; echo yes'", "yes\n", 0),
    ("sh -euc 'echo $none; echo no'; test $? -gt 0", "", 0),
    ("sh -o errexit -c 'false; echo no'", "", 1),
    ("sh -c -- 'echo $0 $1' name arg", "name arg\n", 0),
    ("echo 'echo $1 $#' | sh -s a b", "a 2\n", 0),
    ("echo 'false; echo no' | sh -e", "", 1),
    ("bash -euo pipefail -c 'false | true; echo no'", "", 1),
    (
        "bash -c 'set -o pipefail; (exit 3) | (exit 4) | true; echo $?; set +o pipefail; false | true; echo $?'",
        "4\n0\n",
        0,
    ),
    ("bash -c 'set -e; x=$(false; echo hi); echo $x'", "hi\n", 0),
]


@pytest.mark.parametrize("shell", BOTH)
@pytest.mark.parametrize(("script", "out", "code"), SCRIPTS)
def test_scripts(shell: str, script: str, out: str, code: int | None) -> None:
    result = run(f"{shell} -c {shlex.quote(script)}")
    assert result.out == out
    assert result.code == code or (code is None and result.code > 0)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(("script", "out", "code"), SCRIPTS)
def test_the_shells_of_this_computer_agree(shell: str, script: str, out: str, code: int | None) -> None:
    if script.startswith("bash") and "bash" not in SHELLS:
        pytest.skip("no bash here")
    real = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=False)
    assert real.stdout == out
    assert real.returncode == code or (code is None and real.returncode > 0)


@pytest.mark.parametrize(
    ("script", "err", "code"),
    [
        ("set -z; echo no", "set: -z: invalid option\n", 2),
        ("set -ez; echo no", "set: -z: invalid option\n", 2),
        ("set -o nonsense; echo no", "set: nonsense: invalid option name\n", 2),
        ("set -; echo no", "set: -: invalid option\n", 2),
        ("sh -zc 'echo no'", "sh: -z: invalid option\n", 2),
        ("sh --nonsense", "sh: --nonsense: invalid option\n", 2),
        ("sh -o", "sh: -o: option requires an argument\n", 2),
        ("bash -c", "bash: -c: option requires an argument\n", 2),
        ("sh /nope", "sh: /nope: No such file or directory\n", 127),
        ("exec nope; echo no", "sh: exec: nope: not found\n", 127),
        ("exec -a x echo; echo no", "sh: exec: -a: invalid option\n", 2),
        ("exec > /tmp/x; echo no", "sh: exec: redirections alone are not supported by this shell\n", 2),
        ("set -u; echo $x; echo no", "sh: x: parameter not set\n", 2),
        ("set -u; echo $((x + 1)); echo no", "sh: x: parameter not set\n", 2),
        ("bash -uc 'echo $x; echo no'", "bash: x: unbound variable\n", 127),
        ("bash -c nope", "bash: nope: command not found\n", 127),
        ("bash -c 'echo \"'", "bash: unexpected EOF while looking for matching `\"'\n", 2),
    ],
)
def test_what_is_refused_ends_the_script(script: str, err: str, code: int) -> None:
    result = run(script)
    assert (result.out, result.err, result.code) == ("", err, code)


def test_bash_goes_on_after_an_option_that_it_refuses() -> None:
    assert run("bash -c 'set -z; echo after $?'").out == "after 2\n"


def test_only_set_without_words_lists_variables() -> None:
    assert "HOME=/root\n" in run("set").out
    assert run("set -e").out == run("set +x").out == run("set a b").out == ""
    assert (
        run("set -e; set -o").out
        == "errexit        \ton\nnounset        \toff\npipefail       \toff\nxtrace         \toff\n"
    )
    assert run("set -u; set +o | head -2").out == "set +o errexit\nset -o nounset\n"
    assert run("set -ue; echo $-").out == "eu\n"


def test_words_of_a_trace_are_quoted_as_bash_does() -> None:
    assert run("set -x; echo 'a b' \"c;d\" ''; x='e f'").err == "+ echo 'a b' 'c;d' ''\n+ x='e f'\n"


def test_shells_are_found() -> None:
    assert run("which bash sh; command -v bash").out == "/usr/bin/bash\n/usr/bin/sh\n/usr/bin/bash\n"
