"""lsblk, blkid, lscpu, free, dmesg."""

from __future__ import annotations

from collections.abc import Sequence
from getopt import GetoptError, gnu_getopt

from csm_emulator.machine.boot import KERNEL, SYSTEMD
from csm_emulator.nodes.boot_output import stage_output
from csm_emulator.nodes.shell import Outcome, Terminal, refuse

_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_LONG = {"bytes": "b", "kibi": "k", "mebi": "m", "gibi": "g", "human": "h"}
_USED, _SHARED, _CACHE = 0.03, 12 << 20, 96 << 20
"""Memory use of an idle node: a fraction, and bytes."""


def lsblk(terminal: Terminal, _: Sequence[str]) -> Outcome:
    """The disks of the node, with partitions if an earlier tenant left files."""
    fru, count = terminal.node.drives
    size = _size(int(fru.facts.get("CapacityBytes", 0))) if fru else ""  # type: ignore[call-overload]
    remnants = terminal.machine.remnants(terminal.node.xname)
    lines = [
        "NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS",
        "loop0         7:0    0   1.4G  1 loop /run/rootfsbase",
    ]
    for number in range(count):
        lines.append(f"nvme{number}n1     259:{number}    0 {size:>6}  0 disk ")
        if remnants:
            lines.append(f"└─nvme{number}n1p1 259:{count + number}    0 {size:>6}  0 part ")
    return Outcome("\n".join(lines) + "\n")


def blkid(terminal: Terminal, _: Sequence[str]) -> Outcome:
    remnants = terminal.machine.remnants(terminal.node.xname)
    if remnants is None:
        return Outcome(code=2)
    lines = [
        f'/dev/nvme{number}n1p1: LABEL="{remnants.of}-scratch" TYPE="xfs"' for number in range(len(remnants.drives))
    ]
    return Outcome("\n".join(lines) + "\n")


def _size(size: float) -> str:
    for unit in "BKMGT":
        if size < 1024:
            return f"{size:.1f}{unit}".replace(".0", "")
        size /= 1024
    return f"{size:.1f}P"


def lscpu(terminal: Terminal, _: Sequence[str]) -> Outcome:
    fru, count = terminal.node.processors
    node = terminal.node
    pairs = {
        "Architecture": node.arch,
        "CPU(s)": str(node.cores),
        "Model name": f"{fru.manufacturer} {fru.model}",
        "Socket(s)": str(count),
        "NUMA node(s)": str(count),
    }
    return Outcome("".join(f"{name + ':':<33}{value}\n" for name, value in pairs.items()))


def free(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    try:
        options, _ = gnu_getopt(list(argv), "bkmgh", list(_LONG))
    except GetoptError as error:
        return refuse(f"free: {error}; this console's free has -b, -k, -m, -g and -h", 1)
    unit = "k"
    for name, _ in options:
        unit = _LONG.get(name.strip("-"), name.strip("-"))
    total = terminal.node.memory_mib << 20
    used = int(total * _USED)
    memory = (total, used, total - used - _CACHE, _SHARED, _CACHE, total - used)
    head = "               total        used        free      shared  buff/cache   available\n"
    return Outcome(f"{head}{_columns('Mem:', memory, unit)}{_columns('Swap:', (0, 0, 0), unit)}")


def _columns(name: str, values: Sequence[int], unit: str) -> str:
    cells = [_human(value) if unit == "h" else str(value // _UNITS[unit]) for value in values]
    return f"{name:<8}{cells[0]:>12}" + "".join(f"{one:>12}" for one in cells[1:]) + "\n"


def _human(size: float) -> str:
    """A size with up to three digits, as in free."""
    unit, units = "B", iter(("Ki", "Mi", "Gi", "Ti", "Pi"))
    while size >= 1024:
        size, unit = size / 1024, next(units)
    return f"{size:.1f}{unit}" if size < 10 and unit != "B" else f"{int(size)}{unit}"


def dmesg(terminal: Terminal, _: Sequence[str]) -> Outcome:
    lines = [text for _, text in stage_output(KERNEL, terminal.node) if text.startswith("[")]
    later = [text for _, text in stage_output(SYSTEMD, terminal.node) if text.startswith("[  OK")]
    lines += [f"[{60 + number:12.6f}] systemd[1]: {text[9:]}" for number, text in enumerate(later)]
    for link in terminal.node.interfaces:
        if link.name.startswith("hsn"):
            state = "up" if terminal.machine.fabric.is_linked(link.nic) else "down"
            lines.append(f"[   75.000000] cxi_core: {link.name} link is {state}")
    return Outcome("\n".join(lines) + "\n")
