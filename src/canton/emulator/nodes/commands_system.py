"""hostname, uname, systemctl, cat and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from canton.emulator.nodes.links import linked
from canton.emulator.nodes.shell import Outcome, Terminal

_RELEASE = """NAME="SLES"
VERSION="15-SP5"
VERSION_ID="15.5"
PRETTY_NAME="SUSE Linux Enterprise Server 15 SP5"
ID="sles"
"""


def hostname(terminal: Terminal, _: Sequence[str]) -> Outcome:
    return Outcome(f"{terminal.node.hostname}\n")


def uname(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    node = terminal.node
    parts = {"s": "Linux", "n": node.hostname, "r": node.kernel, "m": node.arch}
    asked = "".join(word[1:] for word in argv if word.startswith("-")) or "s"
    if "a" in asked:
        return Outcome(f"Linux {node.hostname} {node.kernel} #1 SMP PREEMPT {node.arch} {node.arch} GNU/Linux\n")
    unknown = [letter for letter in asked if letter not in parts]
    if unknown:
        return Outcome(f"uname: invalid option -- '{unknown[0]}'\n", 1)
    return Outcome(" ".join(value for letter, value in parts.items() if letter in asked) + "\n")


def whoami(terminal: Terminal, _: Sequence[str]) -> Outcome:
    return Outcome(f"{terminal.user}\n")


def identity(terminal: Terminal, _: Sequence[str]) -> Outcome:
    return Outcome("uid=0(root) gid=0(root) groups=0(root)\n" if terminal.user == "root" else f"{terminal.user}\n")


def echo(_: Terminal, argv: Sequence[str]) -> Outcome:
    return Outcome(" ".join(argv) + "\n")


def date(terminal: Terminal, _: Sequence[str]) -> Outcome:
    return Outcome(datetime.fromtimestamp(terminal.now, UTC).strftime("%a %b %e %H:%M:%S UTC %Y\n"))


def uptime(terminal: Terminal, _: Sequence[str]) -> Outcome:
    minutes = int(terminal.now - terminal.machine.power.since(terminal.node.xname)) // 60
    clock = datetime.fromtimestamp(terminal.now, UTC).strftime("%H:%M:%S")
    return Outcome(f" {clock}  up {minutes // 1440} days, {minutes // 60 % 24}:{minutes % 60:02},  1 user\n")


def cat(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    node = terminal.node
    files: dict[str, Callable[[], str]] = {
        "/proc/cmdline": lambda: f"{node.parameters}\n",
        "/etc/hostname": lambda: f"{node.hostname}\n",
        "/etc/os-release": lambda: _RELEASE,
        "/etc/cray/xname": lambda: f"{node.xname}\n",
        "/proc/uptime": lambda: f"{terminal.now - terminal.machine.power.since(node.xname):.2f} 0.00\n",
    }
    text, code = "", 0
    for path in argv:
        if path in files:
            text += files[path]()
        else:
            text, code = f"{text}cat: {path}: No such file or directory\n", 1
    return Outcome(text, code)


def mount(terminal: Terminal, _: Sequence[str]) -> Outcome:
    return Outcome(f"{terminal.node.root} on /run/rootfsbase type squashfs (ro)\noverlay on / type overlay (rw)\n")


UNITS = {
    "sshd.service": "OpenSSH Daemon",
    "spire-agent.service": "SPIRE agent",
    "bos-reporter.service": "BOS reporter",
    "cfs-state-reporter.service": "CFS state reporter",
    "slingshot-hsn.service": "Slingshot high-speed network",
    "nvidia-persistenced.service": "NVIDIA Persistence Daemon",
}


def _units(terminal: Terminal) -> dict[str, str]:
    """Without links the high-speed network's unit has failed; without GPUs there is no daemon for them."""
    states = dict.fromkeys(UNITS, "active")
    if not terminal.node.accelerators[1]:
        del states["nvidia-persistenced.service"]
    fast = [link for link in terminal.node.interfaces if link.name.startswith("hsn")]
    if fast and not any(linked(terminal.machine, link.nic) for link in fast):
        states["slingshot-hsn.service"] = "failed"
    return states


def systemctl(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    states = _units(terminal)
    failed = [unit for unit, state in states.items() if state == "failed"]
    words = [word for word in argv if not word.startswith("-")]
    verb = words[0] if words else ("list-failed" if "--failed" in argv else "list-units")
    if verb == "is-system-running":
        return Outcome("degraded\n" if failed else "running\n", 1 if failed else 0)
    if verb in ("list-units", "list-failed"):
        shown = {unit: state for unit, state in states.items() if verb == "list-units" or state == "failed"}
        rows = [f"  {unit:<30} loaded {state:<8} {_sub(state):<8} {UNITS[unit]}" for unit, state in shown.items()]
        return Outcome(
            "\n".join(["  UNIT" + " " * 27 + "LOAD   ACTIVE   SUB      DESCRIPTION", *rows, ""])
            + f"\n{len(shown)} loaded units listed.\n"
        )
    if verb in ("status", "is-active") and len(words) > 1:
        return _of_unit(verb, words[1], states)
    if verb in ("reboot", "poweroff"):
        return Outcome(power="GracefulRestart" if verb == "reboot" else "GracefulShutdown")
    return Outcome(f"Unknown command verb {verb}.\n", 1)


def _sub(state: str) -> str:
    return "running" if state == "active" else state


def _of_unit(verb: str, name: str, states: dict[str, str]) -> Outcome:
    unit = name if "." in name else f"{name}.service"
    if unit not in states:
        text = "inactive\n" if verb == "is-active" else f"Unit {unit} could not be found.\n"
        return Outcome(text, 3 if verb == "is-active" else 4)
    state = states[unit]
    if verb == "is-active":
        return Outcome(f"{state}\n", 0 if state == "active" else 3)
    mark = "●" if state == "active" else "×"
    text = f"{mark} {unit} - {UNITS[unit]}\n     Loaded: loaded (/usr/lib/systemd/system/{unit}; enabled)\n"
    return Outcome(f"{text}     Active: {state} ({_sub(state)})\n", 0 if state == "active" else 3)


def reboot(_: Terminal, __: Sequence[str]) -> Outcome:
    return Outcome(power="GracefulRestart")


def poweroff(_: Terminal, __: Sequence[str]) -> Outcome:
    return Outcome(power="GracefulShutdown")


def leave(_: Terminal, __: Sequence[str]) -> Outcome:
    return Outcome("logout\n", logs_out=True)
