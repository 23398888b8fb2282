"""A script has the output that it has in other shells, or it is refused with a message."""

from __future__ import annotations

import pytest

from shell.run_script import run


@pytest.mark.parametrize(
    ("script", "out"),
    [
        ("printf 'b 2\\na 10\\n' | sort -k2n", "b 2\na 10\n"),
        ("printf 'b,2\\na,10\\n' | sort -t, -k2,2n", "b,2\na,10\n"),
        ("printf 'x 1 b\\ny 1 a\\n' | sort -k2", "y 1 a\nx 1 b\n"),
        ("printf 'b 1\\na 1\\n' | sort -k2,2", "a 1\nb 1\n"),
        ("printf 'b 1\\na 1\\n' | sort -u -k2,2", "b 1\n"),
        ("printf 'b 1\\na 2\\n' | sort -k 2 -r", "a 2\nb 1\n"),
        ("printf 'a  b\\n' | tr -s ' '; printf 'a  b\\n' | tr -s ' ' '\\n'", "a b\na\nb\n"),
        ("printf 'a b\\n' | tr '[:space:]' _", "a_b_"),
        ("printf 'a\\nb\\n' | cut -d, -f2 -s", ""),
        ("printf 'a\\nb\\nc\\n' | head -n -1", "a\nb\n"),
        ("printf 'x\\r\\n' | grep x | wc -c; printf 'a\\fb\\n' | sort | wc -l", "3\n1\n"),
        ("printf 'a\\n' | sed 's/a/b\\nc\\.\\&/'", "b\nc.&\n"),
        ("printf '\\033[0m\\101\\x41' | wc -c; printf '%b|%s' 'a\\tb' 'a\\tb'", "6\na\tb|a\\tb"),
        ("printf -- '-x\\n'", "-x\n"),
        ("set -- a b c d; shift 3; echo $1", "d\n"),
        ("printf 'a:b:c\\n' | while IFS=: read x y; do echo \"$x|$y\"; done", "a|b:c\n"),
        ("printf 'a,b,\\na,b,,\\n' | while IFS=, read x y; do echo $y; done", "b\nb,,\n"),
        ("printf '  a \\\\ b \\n' | while IFS= read -r line; do echo \"<$line>\"; done", "<  a \\ b >\n"),
        ('IFS=,; x=a,,b,; for n in $x; do echo "<$n>"; done; set -- 1 2; echo "$*"', "<a>\n<>\n<b>\n1,2\n"),
        ("x=1; x=2 true; echo $x; y=2 true; echo ${y:-gone}; a=1 b=$a; echo $b", "1\ngone\n1\n"),
        ('x=\'a*b\'; echo "${x#a\\*}" "${x#*\\*}" "${x%\'*b\'}"', "b b a\n"),
        (
            "type cd grep; command -v cd grep; which cd grep",
            "cd is a shell builtin\ngrep is /usr/bin/grep\ncd\n/usr/bin/grep\n/usr/bin/grep\n",
        ),
        ("command -v nope || echo $?; which nope || echo $?", "127\n1\n"),
        ("cd /etc; cd /; cd -", "/etc\n"),
        ("a='b c'; export a; export -p | grep 'a='", "export a='b c'\n"),
        ("ls -l /etc | wc -l; ls -l /etc/hosts | wc -l", "3\n1\n"),
        ("mkdir -p /tmp/d/e; touch /tmp/d/e/f; rm -rf /tmp/d; ls /tmp", ""),
    ],
)
def test_it_does_the_same(script: str, out: str) -> None:
    result = run(script)
    assert (result.out, result.err) == (out, "")


@pytest.mark.parametrize(
    ("script", "err"),
    [
        ("sort -k x /etc/hosts", "sort: this shell's sort takes one -k"),
        ("sort -k1 -k2 /etc/hosts", "sort: this shell's sort takes one -k"),
        ("echo a | tr '[:cntrl:]' x", "tr: this shell's tr has the classes"),
        ("cut -d'||' -f2 /etc/hosts", "cut: the delimiter must be a single character"),
        ("awk -F'[,;]' '{print $3}' /etc/hosts", "awk: -F: a regular expression is not supported"),
        ("echo a 3>/dev/null", "sh: `3>' is not supported by this shell"),
        ("for n in 1; do for m in 1; do break 2; done; done", "break: leaving several loops is not supported"),
        ("for n in 1; do continue 2; done", "continue: leaving several loops is not supported"),
        ("shift x", "shift: Illegal number: x"),
        ("shift 3", "shift: can't shift that many"),
        ("printf %d abc", "printf: abc: this shell's printf takes decimal numbers"),
        ("printf '\\303\\251'", "printf: \\303: this shell has escapes of ASCII only"),
        ("echo 'a\\\\b' | read x", "read: a backslash is not supported"),
        ("read -p hello x", "read: option -p not recognized"),
        ("export -n HOME", "export: -n: this shell's export has -p"),
        ("type nope", "type: nope: not found"),
        ("ls -F /etc", "ls: option -F not recognized"),
        ("touch -d yesterday /tmp/x", "touch: option -d not recognized"),
        ("find /etc -name a -name b", "find: this shell's find has -name once"),
        ("mkdir /tmp/d; rm -f /tmp/d", "rm: cannot remove '/tmp/d': Is a directory"),
        ("rm -rf /etc", "rm: cannot remove '/etc': Read-only file system"),
        ("rm -rf /", "rm: cannot remove '/': Read-only file system"),
        ("rm -rf /var", "rm: cannot remove '/var': Read-only file system"),
    ],
)
def test_what_it_would_do_otherwise_is_refused(script: str, err: str) -> None:
    result = run(script)
    assert (result.out, result.err.startswith(err)) == ("", True), result.err
    assert result.code > 0
