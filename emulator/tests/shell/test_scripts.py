"""The output and exit code of lines of the small shell, which are those of other shells."""

from __future__ import annotations

import pytest

from shell.run_script import HOSTS, run


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("echo a | grep a", "a\n"),
        ("cat /etc/hosts | grep ncn- | head -n 1", "10.252.1.4 ncn-m001\n"),
        ("echo 'a; b' \"|\" c\\>d ''", "a; b | c>d \n"),
        ("echo a;echo b", "a\nb\n"),
        ("false && echo no || echo yes", "yes\n"),
        ("! false && echo yes", "yes\n"),
        ("echo $TWO \"$TWO\" '$TWO'", "a b a  b $TWO\n"),
        ("x=1 y=$TWO; echo $x$y", "1a b\n"),
        ("echo ${NONE:-none} ${#TWO} ${TWO%b} $# $1 $0", "none 4 a 2 first sh\n"),
        ("f=/a/b.txt; echo ${f##*/} ${f%.*} ${f#/}", "b.txt /a/b a/b.txt\n"),
        ("echo $(cat /etc/hosts | wc -l) `echo x`", "3 x\n"),
        ('echo "<$(echo "a  b")>"', "<a  b>\n"),
        ("echo $((2 + 3 * 4)) $((7 / -2)) $((7 % 3))", "14 -3 1\n"),
        ("echo /etc/* /nope/*", "/etc/hosts /etc/motd /nope/*\n"),
        ("ls /etc/* /etc/nope* 2>/dev/null; ls -r /etc", "/etc/hosts\n/etc/motd\nmotd\nhosts\n"),
        ("echo /e*/h* /*/log /*/nope* /v*/", "/etc/hosts /var/log /*/nope* /var/\n"),
        ("for n in 1 2 3; do echo $n; done | tail -1", "3\n"),
        ("n=0; while [ $n -lt 3 ]; do n=$((n+1)); done; echo $n", "3\n"),
        ("n=0; until test $n -ge 2; do n=$((n+1)); continue; done; echo $n", "2\n"),
        ("while true; do break; done; echo over", "over\n"),
        ("if [ -f /etc/hosts ]; then echo file; elif true; then echo no; else echo no; fi", "file\n"),
        ("if [ -d /etc/hosts ]; then echo no; else echo else; fi", "else\n"),
        ("{ echo a; echo b; } | wc -l", "2\n"),
        ("x=1; (x=2; cd /etc); echo $x $(pwd)", "1 /\n"),
        ("cd /etc && cat hosts | head -1; cd ..; pwd", "127.0.0.1 localhost\n/\n"),
        ("echo out; nope 2>/dev/null; echo $?", "out\n127\n"),
        ("nope 2>&1 | cat", "sh: nope: command not found\n"),
        ("echo one > /tmp/x; echo two >> /tmp/x; wc -l < /tmp/x; cat /tmp/x", "2\none\ntwo\n"),
        ("echo a &> /dev/null; echo b", "b\n"),
        ("cat /dev/null; cat /etc/motd; echo end", "end\n"),
        ("ls /; ls /etc", "dev\netc\ntmp\nvar\nhosts\nmotd\n"),
        ("ls /etc/motd /var", "/etc/motd\n\n/var:\nlog\n"),
        ("mkdir -p /tmp/a/b && touch /tmp/a/b/c && ls /tmp/a && rm /tmp/a/b/c && ls /tmp/a/b", "b\n"),
        (
            "find /etc -type f; find /var -maxdepth 0 -type d -empty; find / -name 'h*s'",
            "/etc/hosts\n/etc/motd\n/etc/hosts\n",
        ),
        ("find /var/log -type d -empty", "/var/log\n"),
        ("sed -n 2p /etc/hosts", "10.252.1.4 ncn-m001\n"),
        ("sed -n '/ncn/p' /etc/hosts | sed 's/ncn-/x/g'", "10.252.1.4 xm001\n10.252.1.5 xw001\n"),
        ("sed '2,$d' /etc/hosts", "127.0.0.1 localhost\n"),
        ("echo aaa | sed 's/a*$/x/g'; echo abc | sed 's/b/<&>/'", "x\na<b>c\n"),
        ("awk '{print $2}' /etc/hosts", "localhost\nncn-m001\nncn-w001\n"),
        ("awk 'NR==2 {print $NF, $1}' /etc/hosts", "ncn-m001 10.252.1.4\n"),
        ("awk -F. '/ncn/ {print $1 \"-\" $4}' /etc/hosts", "10-4 ncn-m001\n10-5 ncn-w001\n"),
        ("cut -d' ' -f1 /etc/hosts | sort -r | head -1", "127.0.0.1\n"),
        ("printf '%s=%d\\n' a 1 b 2", "a=1\nb=2\n"),
        ("echo b a b | tr ' ' '\\n' | sort | uniq -c", "      1 a\n      2 b\n"),
        (
            "grep -c ncn /etc/hosts; grep -n w001 /etc/hosts; grep -o 'ncn-[mw]' /etc/hosts",
            "2\n3:10.252.1.5 ncn-w001\nncn-m\nncn-w\n",
        ),
        (
            "grep '^10\\..*1$' /etc/hosts | wc -l; grep -E 'm0|w0' /etc/hosts | wc -l; grep -vi NCN /etc/hosts",
            "2\n2\n127.0.0.1 localhost\n",
        ),
        ("test a = a && echo same; test -n '' || echo empty; [ 3 -gt 2 ] && echo more", "same\nempty\nmore\n"),
        ("sh -c 'echo $0 $1' name arg; echo 'echo in' | sh", "name arg\nin\n"),
        ("which grep nothing; basename /a/b; dirname /a/b", "/usr/bin/grep\nb\n/a\n"),
        ("# nothing\necho a # b", "a\n"),
        ("for x in a b\ndo\n  echo $x\ndone", "a\nb\n"),
    ],
)
def test_scripts(script: str, out: str) -> None:
    result = run(script)
    assert (result.out, result.err) == (out, "")


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("exit 3", 3),
        ("(exit 4)", 4),
        ("false", 1),
        ("true | false", 1),
        ("false | true", 0),
        ("grep x /etc/motd", 1),
        ("grep x /nope", 2),
        ("nope", 127),
        ("cat /nope", 1),
        ("echo 'a", 2),
        ("echo a | | b", 2),
        ("for", 2),
        ("ls --nonsense", 2),
        ("exit nonsense", 2),
        ("exit --5", 2),
        ("[ --5 -lt 3 ]", 2),
        ("sort -t '' /etc/hosts", 2),
        ("awk -F '' '{print $1}' /etc/hosts", 2),
        ("touch /tmp/" + "a" * 256, 1),
        ("x=$(exit 5)", 5),
    ],
)
def test_exit_codes(script: str, code: int) -> None:
    assert run(script).code == code


@pytest.mark.parametrize(
    ("script", "err"),
    [
        ("cat /nope", "cat: /nope: No such file or directory"),
        ("cat /etc", "cat: /etc: Is a directory"),
        ("echo a > /nope/x", "sh: /nope/x: No such file or directory"),
        ("cat < /nope", "sh: /nope: No such file or directory"),
        ("cd /nope", "cd: /nope: No such file or directory"),
        ("echo a > /dev/full", "echo: No space left on device"),
        ("a && && b", "sh: syntax error near unexpected token `&&'"),
        ("sleep 9 &", "sh: `&' is not supported by this shell"),
        ("cat <<END", "sh: `<<' is not supported by this shell"),
        ("f() { :; }", "sh: `f()': functions are not supported by this shell"),
        ("case x in x) ;; esac", "sh: `case': case is not supported by this shell"),
        ("echo ${x/a/b}", "sh: ${x/a/b}: bad substitution"),
        ("bash -c 'for n in {1..3}; do echo $n; done'", "bash: {1..3}: braces are not supported by this shell"),
        ("bash -c 'ls a{b,c}'", "bash: a{b,c}: braces are not supported by this shell"),
        ("bash -c 'ls |& cat'", "bash: `|&': pipes of both streams are not supported by this shell"),
        ("bash -c 'cat <(ls)'", "bash: `<(': process substitutions are not supported by this shell"),
        ("bash -c 'ls | tee >(cat)'", "bash: `>(': process substitutions are not supported by this shell"),
        ("bash -c 'a=(1 2)'", "bash: `=(': arrays are not supported by this shell"),
        ("echo $'a'", "sh: $'…' is not supported by this shell"),
        ("awk 'BEGIN {x=1}' /etc/hosts", "awk: this shell's awk has"),
        ("sed y/a/b/ /etc/hosts", "sed: this shell's sed has"),
        ("grep '\\(' /etc/hosts", "grep: Unmatched ( or \\("),
    ],
)
def test_unsupported_commands_have_a_message(script: str, err: str) -> None:
    result = run(script)
    assert (result.out, result.err.startswith(err)) == ("", True), result.err
    assert result.code > 0


def test_the_input_is_shared_by_the_commands_of_a_script() -> None:
    assert run('read first; echo "<$first>"; cat', "one\ntwo\nthree\n").out == "<one>\ntwo\nthree\n"
    assert run("while read x y; do echo $y; done", "a b c\nd e\n").out == "b c\ne\n"


def test_what_is_written_stays_and_folders_are_seen() -> None:
    files: dict[str, str] = {}
    assert run("mkdir /tmp/d; cat /etc/hosts > /tmp/d/copy", file_contents=files).code == 0
    assert files["/tmp/d/copy"] == HOSTS  # noqa: S108
    assert run("ls -a /tmp/d", file_contents=files).out == ".\n..\ncopy\n"
