"""Commands at a node's console that show its system, its network and its hardware."""

from __future__ import annotations

import re

import pytest

from csm_emulator.machine.faults.faults import Fault
from csm_emulator.nodes.uptimes import DAY, EARLIER
from csm_emulator.site import Site
from nodes.console_user import GPU, OTHER, ConsoleUser, boot
from service_client import reopen


def test_a_node_that_was_up_all_the_time_was_booted_days_ago(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    up = float(user.run("cat /proc/uptime").split()[0])
    assert EARLIER[0] <= up <= EARLIER[1]
    assert re.fullmatch(
        rf" ..:..:.. up {int(up // DAY)} days, +[0-9: a-z]+,  1 user,  load average: .*", user.run("uptime")
    )
    psi.step(3600)
    assert float(user.run("cat /proc/uptime").split()[0]) == pytest.approx(up + 3600, abs=1)
    reopened_site = reopen(psi)
    assert float(ConsoleUser(reopened_site, OTHER).run("cat /proc/uptime").split()[0]) == pytest.approx(
        up + 3600, abs=1
    )
    reopened_site.state_file.close()


def test_such_a_node_knows_what_it_was_booted_with(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    parameters = user.run("cat /proc/cmdline")
    assert parameters.startswith("console=ttyS0,115200 ")
    assert f" root=live:http://rgw-vip.nmn/boot-images/x86_64/rootfs xname={OTHER} nid=1000" in parameters
    assert user.run("dmesg | grep Command").endswith(f"Command line: {parameters}")
    assert "Mounting root filesystem live:http://" in user.run("dmesg")
    assert psi.machine.boot.record(OTHER)["parameters"] == "", "the machine's own record is as it was"


def test_a_reboot_begins_the_uptime_anew(psi: Site) -> None:
    boot(psi, GPU)
    psi.step(7200)
    assert "up  2:" in ConsoleUser(psi, GPU).log_in().run("uptime")
    ConsoleUser(psi, GPU).type("reboot\r", seconds=1200)
    assert re.search(r"up [0-9]{1,2} min,", ConsoleUser(psi, GPU).log_in().run("uptime")), "though its power stayed on"
    assert ConsoleUser(psi, GPU).run("uptime -p").startswith("up ")


def _lose_links(site: Site, node: str) -> None:
    for number, nic in enumerate(nic for nic in site.machine.nics(node) if nic.network == "HSN"):
        port = str(site.machine.cable_end(nic.xname))
        site.set_fault(Fault(f"f{number}", "port-drift", port, facts={"online": 0}))


@pytest.mark.parametrize(
    "arguments", ["--failed", "list-units --failed", "--state=failed", "list-units --state failed"]
)
def test_units_that_failed_can_be_asked_for(psi: Site, arguments: str) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert "0 loaded units listed." in user.run(f"systemctl {arguments}")
    _lose_links(psi, OTHER)
    output = user.run(f"systemctl {arguments}")
    assert "● slingshot-hsn.service" in output
    assert "1 loaded units listed." in output


def test_words_behind_a_small_command_count(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert user.run("hostname -s; date +%Y-%m-%d").startswith("nid001000\n20")
    assert "has no operand -u" in user.run("id -u")
    assert "takes -u and +FORMAT" in user.run("date -d yesterday")
    assert "hostname has -s, not -I" in user.run("hostname -I")


def test_the_system_as_a_whole_has_a_status(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    output = user.run("systemctl status --no-pager")
    assert output.startswith("● nid001000\n    State: running\n")
    assert re.search(r"Since: ... 20..-..-.. ..:..:.. UTC; [0-9]+ days ago", output)
    _lose_links(psi, OTHER)
    assert "State: degraded" in (worse := user.run("systemctl status"))
    assert "Failed: 1 units" in worse
    assert user.run("systemctl is-failed slingshot-hsn; echo $?") == "failed\n0"


@pytest.mark.parametrize(
    "line",
    [
        "ip link set hsn0 down",
        "ip l set hsn0 mtu 1500",
        "ip addr add 10.0.0.1/8 dev hsn0",
        "ip a del 10.0.0.1/8 dev hsn0",
        "ip route add default via 10.0.0.1",
        "ip addr flush dev hsn0",
        "systemctl restart sshd",
        "systemctl stop bos-reporter",
    ],
)
def test_commands_that_would_change_the_node_are_refused(psi: Site, line: str) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    output_before = user.run("ip addr; ip route; systemctl")
    output = user.run(f"{line} || echo refused")
    assert "this console shows" in output
    assert "not done: " in output
    assert output.endswith("refused")
    assert user.run("ip addr; ip route; systemctl") == output_before


def test_an_interface_has_the_same_index_however_it_is_asked_for(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    heads = [line for line in user.run("ip addr").splitlines() if line[0].isdigit()]
    assert [line.split(":")[1].strip() for line in heads] == ["lo", "nmn0", "hsn0"]
    for command in ("ip a s hsn0", "ip addr show dev hsn0", "ip -4 addr show hsn0"):
        assert user.run(command).splitlines()[0] == heads[2]
    assert user.run("ip link").startswith("1: lo: <LOOPBACK,UP,LOWER_UP>")
    assert user.run("ip link show hsn0").startswith("3: hsn0: ")
    assert [line.split()[0] for line in user.run("ip -br l").splitlines()] == ["lo", "nmn0", "hsn0"]
    assert user.run("ip a s hsn7; echo $?") == 'Device "hsn7" does not exist.\n1'
    assert user.run("ip addr hsn0; echo $?") == 'Command "hsn0" is unknown, try "ip address help".\n255'


def test_the_route_to_an_address_is_shown(psi: Site) -> None:
    user = ConsoleUser(psi, OTHER).log_in()
    assert user.run("ip route get 10.253.1.10").startswith("10.253.1.10 dev hsn0 src 10.253.0.10 ")
    assert user.run("ip r get 192.0.2.1").startswith("192.0.2.1 via 10.100.0.1 dev nmn0 src 10.100.0.10 ")
    assert user.run("ip r get nonsense; echo $?").endswith("1")
    assert user.run("ip route show dev hsn0").count("\n") == 0


@pytest.mark.parametrize(
    ("option", "total"),
    [("", "536870912"), ("-k", "536870912"), ("-b", "549755813888"), ("-m", "524288"), ("-g", "512"), ("-h", "512Gi")],
)
def test_free_counts_in_the_unit_that_is_asked_for(psi: Site, option: str, total: str) -> None:
    head, memory, swap = ConsoleUser(psi, OTHER).log_in().run(f"free {option}").splitlines()
    assert memory.split()[:2] == ["Mem:", total]
    assert len(memory) == len(head)
    assert swap.split()[0] == "Swap:"


def test_gpus_are_listed_by_fields(psi: Site) -> None:
    boot(psi, GPU)
    user = ConsoleUser(psi, GPU).log_in()
    fields = "index,name,uuid,memory.total,memory.used,driver_version,utilization.gpu,temperature.gpu,power.draw"
    rows = user.run(f"nvidia-smi --query-gpu={fields},pci.bus_id,serial --format=csv").splitlines()
    assert rows[0] == (
        "index, name, uuid, memory.total [MiB], memory.used [MiB], driver_version, utilization.gpu [%], "
        "temperature.gpu, power.draw [W], pci.bus_id, serial"
    )
    assert len(rows) == 5
    first = rows[1].split(", ")
    assert (first[0], first[1]) == ("0", "NVIDIA GH200 120GB")
    assert first[2] in user.run("nvidia-smi -L").splitlines()[0]
    assert first[9] in user.run("nvidia-smi")
    assert first[4:9] == ["1 MiB", "550.54.15", "0 %", "31", "88.00 W"]
    bare = user.run("nvidia-smi --query-gpu=memory.total,index --format=csv,noheader,nounits")
    assert bare.splitlines()[3] == f"{first[3].partition(' ')[0]}, 3"
    assert user.run("nvidia-smi -i 2 --query-gpu=index --format=csv,noheader") == "2"
    assert user.run("nvidia-smi --query-gpu=colour --format=csv; echo $?").splitlines() == [
        'Field "colour" is not a valid field to query.',
        "",
        "2",
    ]
    assert "--format=csv" in user.run("nvidia-smi --query-gpu=name")
    assert "this console has nvidia-smi, -L, and --query-gpu" in user.run("nvidia-smi -q")
    assert user.run("nvidia-smi -i 9; echo $?") == "No devices were found\n6"
