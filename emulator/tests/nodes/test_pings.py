"""ping at a node's console: its options, its output, and its end."""

from __future__ import annotations

import json

import pytest

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.nodes.terminals import UNWATCHED
from csm_emulator.site import Site
from nodes.console_user import GPU, OTHER, ConsoleUser, address, boot
from service_client import reopen

UNUSED_ADDRESS = "10.253.250.250"
RANGE = "out of range: 1 <= value <= 9223372036854775807"


def test_ping_walks_the_fabric_one_second_after_another(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    target = address(psi, "x1100c0s0b0n0")
    output = user.run(f"ping -c 3 {target}", seconds=1.5)
    assert output.count("64 bytes from") == 2, "the third is a second later"
    port = str(psi.machine.cable_end("x1100c0s0b0n0h0"))
    psi.set_fault(Fault("f1", "port-drift", port, facts={"online": 0}))
    ended = user.type("", seconds=1)
    assert "Destination Host Unreachable" in ended, "the port went down on the way"
    assert "3 packets transmitted, 2 received, +1 errors, 33.3333% packet loss" in ended
    assert ended.endswith("# ")
    assert user.run("foo; echo $?; echo $?").splitlines()[1:] == ["127", "0"]


def test_ping_ends_with_ctrl_c(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    user.type(f"ping {address(psi, OTHER)}\r", seconds=2.5)
    assert user.type("hostname\r") == "", "the shell is busy"
    ended = user.type("\x03")
    assert "3 packets transmitted, 3 received" in ended
    assert ended.endswith("# ")
    assert user.type("", seconds=10) == ""


def test_ping_resolves_names_and_reports_unknown_ones(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert f"({address(psi, 'x1100c0s0b0n0')})" in user.run("ping -c 1 nid005000-hsn0", seconds=2)
    assert f"({address(psi, 'x1100c0s0b0n0', 'NMN')})" in user.run("ping -c 1 x1100c0s0b0n0", seconds=2)
    assert user.run("ping -c 1 nowhere") == "ping: nowhere: Name or service not known"


def test_a_ping_without_end_stays_small_and_counts_all(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    user.type("ping -i 0.2 10.253.0.10\r", seconds=400.1)
    state = psi.tables._tables["nodes.terminals"][OTHER]
    assert len(json.dumps(state)) < 500
    output = user.type("\x03")
    assert "2001 packets transmitted, 2001 received, 0% packet loss" in output
    low, mean, high, spread = (float(one) for one in output.partition("mdev = ")[2].partition(" ms")[0].split("/"))
    assert 0 < low < mean < high
    assert 0 < spread < high - low


def test_values_may_stand_next_to_their_options_and_flags_together(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    target = address(psi, "x1100c0s0b0n0")
    output = user.run(f"ping -c2 -i0.2 -w5 -W1 -s100 {target}", seconds=0.3)
    assert f"PING {target} ({target}) 100(128) bytes of data." in output
    assert output.count("108 bytes from") == 2
    assert "2 packets transmitted, 2 received, 0% packet loss, time 200ms" in output
    quiet = user.run(f"ping {target} -nqc 2", seconds=1.1).splitlines()
    assert [line.partition(" ")[0] for line in quiet] == ["PING", "", "---", "2", "rtt"], "only the statistics"
    small = user.run(f"ping -c 1 -s 8 {target}")
    assert "16 bytes from" in small
    assert "time=" not in small
    assert "rtt" not in small, "no room for the moment when it was sent"


def test_a_deadline_ends_it_on_time(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    target = address(psi, "x1100c0s0b0n0")
    assert "statistics" not in user.run(f"ping -w 3 {target}; echo $?", seconds=2.9)
    assert "3 packets transmitted, 3 received" in (ended := user.type("", seconds=0.2))
    assert "\n0\n" in ended
    assert user.run(f"ping -c 9 -w 2 {target}; echo $?", seconds=2.1).endswith("\n1"), "not all came in time"


def test_what_follows_a_ping_is_done_by_its_result(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    good, bad = f"ping -c 1 {address(psi, OTHER)}", f"ping -c 1 {UNUSED_ADDRESS}"
    assert user.run(f"{good} && echo yes || echo no; hostname").splitlines()[-2:] == ["yes", "nid001000"]
    assert user.run(f"{bad} && echo yes || echo no; hostname").splitlines()[-2:] == ["no", "nid001000"]
    assert user.run(f"{bad}; {good}; echo $?", seconds=0.1).endswith("\n0")
    assert user.type(f"{good}; exit\r").endswith("login: ")


def test_a_long_line_of_pings_is_done_to_its_end(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    user.type("ping -qc1 ::1;" * 280 + "hostname\r", seconds=1)
    assert user.run("echo $?") == "0"
    assert "\nnid001000\n" in psi.context.consoles.tail(OTHER, 5)[0].replace("\r\n", "\n")


def test_after_ctrl_c_the_line_goes_on(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    user.type(f"ping {address(psi, OTHER)}; echo $? it was\r", seconds=1.5)
    assert user.type("\x03").splitlines()[-2] == "0 it was", "ping ends by itself, and well"


@pytest.mark.parametrize("target", ["127.0.0.1", "localhost", "127.5.5.5", "::1", "nid001000", "nid001000-hsn0"])
def test_a_node_answers_itself(psi: Site, target: str) -> None:
    assert "1 received, 0% packet loss" in ConsoleUser(psi, OTHER).log_in().run(f"ping -c1 {target}")


def test_a_missing_host_is_reported_by_the_nodes_own_address(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    own, management = address(psi, OTHER), address(psi, OTHER, "NMN")
    assert f"From {own} icmp_seq=1 Destination Host Unreachable" in user.run(f"ping -c1 {UNUSED_ADDRESS}")
    assert f"From {management} icmp_seq=1 Destination Host Unreachable" in user.run("ping -c1 192.0.2.1")
    assert user.run("ping -c1 fe80::1; echo $?") == "ping: connect: Network is unreachable\n2"


def test_an_interface_may_be_named(psi: Site) -> None:
    boot(psi, GPU)
    user = ConsoleUser(psi, GPU).log_in()
    target, second = address(psi, OTHER), user.run("ip -br a s hsn1").split()[2].partition("/")[0]
    output = user.run(f"ping -c1 -I hsn1 {target}")
    assert f"PING {target} ({target}) from {second} hsn1: 56(84) bytes of data." in output
    assert "1 received" in output
    assert f"from {second} : 56(84)" in user.run(f"ping -c1 -I {second} {target}")
    assert f"From {address(psi, GPU, 'NMN')} icmp_seq=1" in user.run(f"ping -c1 -I nmn0 {target}"), "the wrong network"
    psi.set_fault(Fault("f1", "port-drift", str(psi.machine.cable_end(f"{GPU}h1")), facts={"online": 0}))
    assert f"From {second} icmp_seq=1 Destination" in user.run(f"ping -c1 -I hsn1 {target}"), "its own link is down"
    assert "1 received" in user.run(f"ping -c1 -I hsn2 {target}")
    psi.set_fault(Fault("f2", "port-drift", str(psi.machine.cable_end(f"{GPU}h0")), facts={"online": 0}))
    assert "1 received" in user.run(f"ping -c1 {target}"), "the kernel takes another"


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        ("-c 0 localhost", f"ping: invalid argument: '0': {RANGE}", 1),
        ("-c x localhost", "ping: invalid argument: 'x'", 1),
        ("-s 99999 localhost", "ping: invalid argument: '99999': out of range: 0 <= value <= 65507", 1),
        ("-i 0.1 localhost", "ping: cannot flood; minimal interval allowed for user is 200ms", 2),
        ("-i nan localhost", "ping: bad timing interval: nan", 2),
        ("-W x localhost", "ping: bad linger time: x", 2),
        ("-I hsn9 localhost", "ping: unknown iface: hsn9", 2),
        ("-I 192.0.2.1 localhost", "ping: bind: Cannot assign requested address", 2),
        ("-z localhost", "ping: invalid option -- 'z'", 2),
        ("localhost -c", "ping: option requires an argument -- 'c'", 2),
        ("-f localhost", "ping: -f is more than this console's ping can do", 2),
        ("", "ping: usage error: Destination address required", 1),
    ],
)
def test_wrong_arguments_have_the_errors_of_ping(psi: Site, arguments: str, message: str, code: int) -> None:
    lines = ConsoleUser(psi, OTHER).log_in().run(f"ping {arguments}; echo $?").splitlines()
    assert (lines[0], lines[-1]) == (message, str(code))


def test_an_unwatched_ping_ends(psi: Site) -> None:
    user, second_user = ConsoleUser(psi, OTHER).log_in(), ConsoleUser(psi, OTHER)
    user.type(f"ping {address(psi, OTHER)}\r", seconds=UNWATCHED + 50)
    user.leave()
    assert "statistics" not in user.type("", seconds=10), "another is there still"
    second_user.leave()
    ended = user.type("", seconds=2)
    assert "packets transmitted" in ended
    assert ended.endswith("# ")
    user.type(f"ping {address(psi, OTHER)}\r", seconds=UNWATCHED + 2)
    assert f"{UNWATCHED} packets transmitted" in psi.context.consoles.tail(OTHER, 4)[0], "nor does one begin anew"


def test_after_a_restart_no_user_is_at_a_console(psi: Site) -> None:
    ConsoleUser(psi, OTHER).log_in().type(f"ping {address(psi, OTHER)}; hostname\r", seconds=UNWATCHED + 50)
    reopened_site = reopen(psi)
    reopened_site.step(2)
    assert "packets transmitted" in reopened_site.context.consoles.tail(OTHER, 5)[0]
    assert "nid001000\r\n" in reopened_site.context.consoles.tail(OTHER, 2)[0], "what follows is not forgotten"
    reopened_site.state_file.close()
