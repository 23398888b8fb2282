"""Lines of several commands at a console: the shell is that of the containers."""

from __future__ import annotations

import pytest

from csm_emulator.nodes.terminals import MOST_KEPT
from csm_emulator.site import Site
from nodes.console_user import OTHER, ConsoleUser, address
from service_client import reopen


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("hostname | awk '{print $1}'", "nid001000"),
        ("uname -m; hostname | wc -c", "x86_64\n10"),
        ("dmesg | grep ^x; echo $?", "1"),
        ("echo $(hostname) `whoami`", "nid001000 root"),
        ("cat < /etc/hostname", "nid001000"),
        ("hostname 2>&1 > /dev/null && echo quiet", "quiet"),
        (
            "ls /; cd /etc && ls",
            "bin\nboot\ndev\netc\nhome\nlib\nmnt\nopt\nproc\nroot\nrun\nsbin\nsrv\nsys\ntmp\nusr\nvar\n"
            "cray\nhostname\nhosts\nos-release\npasswd",
        ),
        ("for n in 1 2; do echo $n; done", "1\n2"),
        ("(exit 4); echo $?", "4"),
        ("dmesg > /tmp/x", "-bash: /tmp/x: Read-only file system"),
        ("hostname &", "-bash: `&' is not supported by this shell: one command runs after the other"),
        ("a && && b", "-bash: syntax error near unexpected token `&&'"),
        ("echo 'a", "-bash: unexpected EOF while looking for matching `''"),
        ("while true; do :; done", "-bash: killed: the line does more work than this shell allows"),
        ("nonsense", "-bash: nonsense: command not found"),
        ("which bash", "/usr/bin/bash"),
        ("grep nid /etc/hosts | cut -f2; cut -d: -f1 /etc/passwd", f"nid001000 {OTHER}\nroot"),
        ("set -z; echo $?", "set: -z: invalid option\n2"),
        ("set -u; echo $none; echo no", "-bash: none: unbound variable"),
    ],
)
def test_lines(psi: Site, line: str, output: str) -> None:
    assert ConsoleUser(psi, OTHER).log_in().run(line) == output


@pytest.mark.parametrize("line", ["ping -c 1 localhost | tail -1", "while reboot; do :; done", "(poweroff)"])
def test_what_takes_time_stands_alone(psi: Site, line: str) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert "must be alone on its line at this console" in user.run(line)
    psi.step(60)
    assert psi.machine.boot.stage(OTHER) == "up"


def test_options_and_arguments_stay_and_an_exit_logs_out(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert user.run("set -u; set -- one two") == ""
    assert user.run("echo $none; echo no") == "-bash: none: unbound variable"
    assert user.run("echo $? $1 $#; set -e; false || echo or") == "127 one 2\nor"
    assert user.type("false\r").endswith("login: ")
    assert user.log_in().run('echo "<$1>" $-; false; echo on') == "<>\non"
    assert user.type("exec true\r").endswith("login: ")


def test_the_address_in_the_hosts_file_is_the_node_s(psi: Site) -> None:
    assert ConsoleUser(psi, OTHER).log_in().run("grep nid /etc/hosts | cut -f1") == address(psi, OTHER, "NMN")


def test_what_follows_a_ping_is_done_by_its_result(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    output = user.run("x=seen; ping -c 1 10.253.0.10 && echo $x || echo not; echo end", seconds=5)
    assert output.endswith("seen\nend")


def test_variables_and_the_folder_stay_from_line_to_line(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert user.type("cd /etc; x=kept\r").endswith("nid001000:/etc # ")
    reopened_site = reopen(psi)
    user = ConsoleUser(reopened_site, OTHER)
    assert user.run("echo $x; pwd; exit | cat; echo $HOME") == "kept\n/etc\n/root"
    user.run(f"y=$(seq 1 {MOST_KEPT} | head -c {MOST_KEPT})")
    assert user.run("echo $x ${#y}") == "kept 0", "a console keeps so much"
    assert user.type("exit\r").endswith("login: ")
    assert user.log_in().run("echo $x; pwd") == "\n/root"
    reopened_site.state_file.close()
