"""The output of a node's console, and its answers to a user."""

from __future__ import annotations

import json

import pytest

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.nodes.consoles import MOST_PIECES, START
from csm_emulator.seed_data.secrets import node_password
from csm_emulator.site import Site
from nodes.console_user import GPU, OTHER, ConsoleUser, address, boot
from service_client import reopen


def _all(site: Site, node: str) -> str:
    return "".join(site.context.consoles.read(node, START)[0]).replace("\r\n", "\n")


def test_a_boot_is_written_as_it_goes_on(psi: Site) -> None:
    body = {"hosts": [GPU], "kernel": "s3://boot-images/abc/kernel", "params": "console=ttyS0"}
    psi.mesh.ask("bss", "PUT", "/boot/v1/bootparameters", body)
    psi.machine.power.reset(GPU, "On", "test")
    output, stages = "", []
    position = START
    for _ in range(90):
        psi.step(10)
        texts, position = psi.context.consoles.read(GPU, position)
        output += "".join(texts)
        stages.append(psi.machine.boot.stage(GPU))
        if stages[-1] == "kernel" and "Switching root" not in output:
            assert "login:" not in output
    assert output.replace("\r\n", "\n") == _all(psi, GPU), "read bit by bit it is the same"
    order = [
        "BIOS",
        "Start PXE",
        "boot-images/abc/kernel... ok",
        "Linux version",
        "Welcome to SUSE",
        "nid005008 login: ",
    ]
    places = [output.index(word) for word in order]
    assert places == sorted(places)
    assert "X-Amz-Signature" not in output, (
        "the address of the kernel is signed, and a reader could fetch the kernel with it"
    )
    assert f"xname={GPU}" in output, "the kernel's own parameters"


def test_a_boot_that_hangs_prints_no_more(psi: Site) -> None:
    psi.set_fault(Fault("f1", "boot-hangs", GPU, facts={"stage": "kernel"}))
    body = {"hosts": [GPU], "kernel": "s3://boot-images/abc/kernel"}
    psi.mesh.ask("bss", "PUT", "/boot/v1/bootparameters", body)
    psi.machine.power.reset(GPU, "On", "test")
    psi.step(3600)
    assert "Linux version" in _all(psi, GPU)
    assert "Welcome" not in _all(psi, GPU)
    assert ConsoleUser(psi, GPU).type("root\r") == "", "no program reads the keys"


def test_a_second_boot_does_not_rewrite_the_first(psi: Site) -> None:
    boot(psi, GPU)
    console_before = _all(psi, GPU)
    body = {"hosts": [GPU], "kernel": "s3://boot-images/other/kernel", "params": "quiet"}
    psi.mesh.ask("bss", "PUT", "/boot/v1/bootparameters", body)
    psi.machine.power.reset(GPU, "ForceRestart", "test")
    psi.step(900)
    assert _all(psi, GPU).startswith(console_before)
    assert "boot-images/other/kernel" in _all(psi, GPU)[len(console_before) :]


def test_only_root_with_the_right_password_gets_in(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER)
    assert user.type("\r").endswith("login: ")
    output = user.type("root\rwrong\r")
    assert "Login incorrect" in output
    assert "wrong" not in output, "a password is not shown"
    assert "Login incorrect" in user.type(f"bea\r{node_password(psi.random)}\r")
    assert user.type(f"root\r{node_password(psi.random)}\r").endswith(":~ # ")
    assert user.type("exit\r").endswith("login: ")


def test_answers_come_from_the_truth(psi: Site) -> None:
    boot(psi, GPU)
    user = ConsoleUser(psi, GPU).log_in()
    assert user.run("hostname") == "nid005008"
    assert user.run("uname -m") == "aarch64"
    brief = user.run("ip -br addr").splitlines()
    assert [line.split()[0] for line in brief] == ["lo", "nmn0", "hsn0", "hsn1", "hsn2", "hsn3"]
    assert f"{address(psi, GPU)}/16" in brief[2]
    assert user.run("ip route").startswith("default via 10.100.0.1 dev nmn0")
    assert user.run("nvidia-smi -L").count("NVIDIA GH200 120GB") == 4
    assert "part" not in user.run("lsblk")
    assert user.run("cat /proc/cmdline") == psi.machine.boot.record(GPU)["parameters"]
    assert "link is up" in user.run("dmesg")
    assert user.run("systemctl is-system-running") == "running"
    x86 = ConsoleUser(psi, OTHER).log_in()
    assert x86.run("nvidia-smi") == "-bash: nvidia-smi: command not found"
    assert x86.run("uname -m") == "x86_64"


def test_what_another_tenant_left_can_be_seen(psi: Site) -> None:
    psi.set_fault(Fault("f1", "disk-remnants", GPU, facts={"of": "mch"}))
    boot(psi, GPU)
    user = ConsoleUser(psi, GPU).log_in()
    assert "nvme0n1p1" in user.run("lsblk")
    assert 'LABEL="mch-scratch"' in user.run("blkid")


def test_a_port_that_is_down_is_a_link_that_is_down(psi: Site) -> None:
    boot(psi, GPU)
    user = ConsoleUser(psi, GPU).log_in()
    port = psi.machine.cable_end(f"{GPU}h0")
    psi.set_fault(Fault("f1", "port-drift", str(port), facts={"online": 0}))
    assert "hsn0             DOWN" in user.run("ip -br addr")
    assert "hsn1             UP" in user.run("ip -br addr")
    assert "hsn0 link is down" in user.run("dmesg")


def test_keys_are_edited_and_lines_bounded(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert user.run("hostnamee\x7f") == "nid001000"
    assert user.run("rubbish\x15hostname") == "nid001000"
    assert user.type("never\x03").endswith("# ")
    user.type("x" * 10_000)
    assert len(user.run("")) < 5000


@pytest.mark.parametrize(
    "line", ["'", '"', "a | b", "cat", "ip", "ip nonsense", "ping", "systemctl blah", "uname -z", ";;", "&&", "echo ü€"]
)
def test_odd_lines_get_an_answer_and_a_prompt(psi: Site, line: str) -> None:
    assert ConsoleUser(psi, OTHER).log_in().type(f"{line}\r").endswith("# ")


def test_root_reboots_the_node(psi: Site) -> None:
    boot(psi, GPU)
    boots = psi.machine.boot.record(GPU)["boots"]
    ConsoleUser(psi, GPU).log_in().type("reboot\r", seconds=1200)
    assert psi.machine.boot.record(GPU)["boots"] == boots + 1
    assert psi.machine.boot.stage(GPU) == "up"
    assert ConsoleUser(psi, GPU).type("\r").endswith("login: "), "the boot ended the login"


def test_a_console_survives_a_restart_of_the_machine_s_process(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    user.type("ping -c 5 10.253.0.10\r", seconds=1.5)
    console_before = _all(psi, OTHER)
    reopened_site = reopen(psi)
    assert _all(reopened_site, OTHER) == console_before
    reopened_site.step(10)
    assert "5 packets transmitted" in _all(reopened_site, OTHER)
    reopened_site.state_file.close()


def test_a_console_is_bounded(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    for _ in range(400):
        user.run("ip addr")
    assert len(psi.tables._tables["nodes.consoles"]) <= MOST_PIECES
    assert len(_all(psi, OTHER)) < 400_000


@pytest.mark.parametrize(
    "typed", ["a" * (1 << 20), "ab\x7f" * 3000, "\x03" * 3000, "dmesg;" * 680 + "\r", "\x1b[2J\x00\ud7ff" * 99]
)
def test_no_typing_makes_a_console_grow(psi: Site, typed: str) -> None:
    """Neither many single keys nor one command with a long answer makes it grow; and it is fast."""
    user = ConsoleUser(psi, OTHER).log_in()
    for _ in range(3):
        for key in typed[:2000]:
            user.type(key, seconds=0.001)
        user.type(f"{typed}\x03")
    console_table = psi.tables._tables["nodes.consoles"]
    assert sum(len(json.dumps(piece)) for piece in console_table.values()) < 400_000
    assert all(len(json.dumps(piece)) < 12_000 for piece in console_table.values()), "a key writes all of it again"
    assert "\x1b" not in _all(psi, OTHER)
    assert user.run("hostname") == "nid001000"


def test_tail_gives_the_last_lines(psi: Site) -> None:
    boot(psi, GPU)
    text, position = psi.context.consoles.tail(GPU, 2)
    assert text.endswith("nid005008 login: ")
    assert text.count("\n") == 1
    assert psi.context.consoles.read(GPU, position)[0] == []
