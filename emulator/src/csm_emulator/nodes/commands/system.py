"""hostname, uname, uptime and the like, and the files of a node."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from csm_emulator.nodes.shell import Outcome, Terminal, refuse
from csm_emulator.shell.builtins import date_text
from csm_emulator.shell.files import Files
from csm_emulator.shell.process import UsageProblem

_RELEASE = """NAME="SLES"
VERSION="15-SP5"
VERSION_ID="15.5"
PRETTY_NAME="SUSE Linux Enterprise Server 15 SP5"
ID="sles"
"""


_NAMES = ("bin", "boot", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "root", "run", "sbin", "srv", "sys", "tmp")
_FOLDERS = (*(f"/{name}" for name in _NAMES), "/usr/bin", "/var/log")


def hostname(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    if list(argv) not in ([], ["-s"]):
        return refuse(f"hostname: this console's hostname has -s, not {argv[0]}", 1)
    return Outcome(f"{terminal.node.hostname}\n")


def uname(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    node = terminal.node
    parts = {"s": "Linux", "n": node.hostname, "r": node.kernel, "m": node.arch}
    letters = "".join(word[1:] for word in argv if word.startswith("-")) or "s"
    if "a" in letters:
        return Outcome(f"Linux {node.hostname} {node.kernel} #1 SMP PREEMPT {node.arch} {node.arch} GNU/Linux\n")
    unknown = [letter for letter in letters if letter not in parts]
    if unknown:
        return refuse(f"uname: invalid option -- '{unknown[0]}'", 1)
    return Outcome(" ".join(value for letter, value in parts.items() if letter in letters) + "\n")


def whoami(terminal: Terminal, _: Sequence[str]) -> Outcome:
    return Outcome(f"{terminal.user}\n")


def identity(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    if argv:
        return refuse(f"id: this console's id has no operand {argv[0]}", 1)
    return Outcome("uid=0(root) gid=0(root) groups=0(root)\n" if terminal.user == "root" else f"{terminal.user}\n")


def date(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    try:
        return Outcome(f"{date_text(terminal.now, argv)}\n")
    except UsageProblem as problem:
        return refuse(f"date: {problem}", 1)


def uptime(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    """``-s`` prints the moment of the boot, ``-p`` the duration in words; without options, the usual line."""
    minutes = max(int(terminal.now - terminal.booted), 0) // 60
    if list(argv) in (["-s"], ["--since"]):
        return Outcome(datetime.fromtimestamp(terminal.booted, UTC).strftime("%Y-%m-%d %H:%M:%S\n"))
    if list(argv) in (["-p"], ["--pretty"]):
        parts = ((minutes // 1440, "day"), (minutes // 60 % 24, "hour"), (minutes % 60, "minute"))
        return Outcome("up " + (", ".join(_counted(*part) for part in parts if part[0]) or "0 minutes") + "\n")
    if argv:
        return refuse(f"uptime: this console's uptime has -p and -s, not {argv[0]}", 1)
    clock = datetime.fromtimestamp(terminal.now, UTC).strftime("%H:%M:%S")
    days = f"{_counted(minutes // 1440, 'day')}, " if minutes >= 1440 else ""
    hours = f"{minutes // 60 % 24:>2}:{minutes % 60:02}" if minutes % 1440 >= 60 else f"{minutes % 60} min"
    return Outcome(f" {clock} up {days}{hours},  1 user,  load average: 0.00, 0.00, 0.00\n")


def _counted(number: int, name: str) -> str:
    return f"{number} {name}" if number == 1 else f"{number} {name}s"


def files(terminal: Terminal) -> Files:
    """The read-only files of a node."""
    node, up = terminal.node, terminal.now - terminal.booted
    fixed = {
        "/proc/cmdline": f"{node.parameters}\n",
        "/etc/hosts": _hosts(terminal),
        "/etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
        "/etc/hostname": f"{node.hostname}\n",
        "/etc/os-release": _RELEASE,
        "/etc/cray/xname": f"{node.xname}\n",
        "/proc/uptime": f"{up:.2f} {up * node.cores:.2f}\n",
    }
    return Files(fixed, _FOLDERS)


def _hosts(terminal: Terminal) -> str:
    """/etc/hosts with the node itself; other nodes are in DNS."""
    node = terminal.node
    names = " ".join(dict.fromkeys((node.hostname, node.xname)))
    own = [link.address for link in node.interfaces if link.name.startswith("nmn") and link.address]
    return "127.0.0.1\tlocalhost\n::1\tlocalhost\n" + "".join(f"{address}\t{names}\n" for address in own[:1])


def mount(terminal: Terminal, _: Sequence[str]) -> Outcome:
    return Outcome(f"{terminal.node.root} on /run/rootfsbase type squashfs (ro)\noverlay on / type overlay (rw)\n")


def reboot(_: Terminal, __: Sequence[str]) -> Outcome:
    return Outcome(power="GracefulRestart")


def poweroff(_: Terminal, __: Sequence[str]) -> Outcome:
    return Outcome(power="GracefulShutdown")


def leave(_: Terminal, __: Sequence[str]) -> Outcome:
    return Outcome("logout\n", logs_out=True)
