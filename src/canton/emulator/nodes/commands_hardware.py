"""lsblk, nvidia-smi, lscpu, free, dmesg."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from canton.emulator.machine.boot import KERNEL, SYSTEMD
from canton.emulator.nodes.boot_output import stage_output
from canton.emulator.nodes.links import linked
from canton.emulator.nodes.shell import Outcome, Terminal

DRIVER, CUDA = "550.54.15", "12.4"


def lsblk(terminal: Terminal, _: Sequence[str]) -> Outcome:
    """Disks of the node; where another tenant left something there are partitions on them."""
    fru, count = terminal.node.drives
    size = _size(int(fru.facts.get("CapacityBytes", 0))) if fru else ""  # type: ignore[call-overload]
    left = terminal.machine.remnants(terminal.node.xname)
    lines = [
        "NAME        MAJ:MIN RM   SIZE RO TYPE MOUNTPOINTS",
        "loop0         7:0    0   1.4G  1 loop /run/rootfsbase",
    ]
    for number in range(count):
        lines.append(f"nvme{number}n1     259:{number}    0 {size:>6}  0 disk ")
        if left:
            lines.append(f"└─nvme{number}n1p1 259:{count + number}    0 {size:>6}  0 part ")
    return Outcome("\n".join(lines) + "\n")


def blkid(terminal: Terminal, _: Sequence[str]) -> Outcome:
    left = terminal.machine.remnants(terminal.node.xname)
    if left is None:
        return Outcome(code=2)
    lines = [f'/dev/nvme{number}n1p1: LABEL="{left.of}-scratch" TYPE="xfs"' for number in range(len(left.drives))]
    return Outcome("\n".join(lines) + "\n")


def _size(size: float) -> str:
    for unit in "BKMGT":
        if size < 1024:
            return f"{size:.1f}{unit}".replace(".0", "")
        size /= 1024
    return f"{size:.1f}P"


def nvidia_smi(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    fru, count = terminal.node.accelerators
    if fru is None or "NVIDIA" not in fru.manufacturer.upper():
        return Outcome("-bash: nvidia-smi: command not found\n", 127)
    memory = int(fru.facts.get("MemoryMiB", 0))  # type: ignore[call-overload]
    if "-L" in argv:
        ids = [terminal.machine.means.dice.uuid("gpu", terminal.node.xname, number) for number in range(count)]
        return Outcome("".join(f"GPU {number}: {fru.model} (UUID: GPU-{ids[number]})\n" for number in range(count)))
    return Outcome("\n".join(_table(fru.model, memory, count)) + "\n")


_WIDTHS = (41, 24, 22)
_RULE = "+" + "+".join("-" * width for width in _WIDTHS) + "+"


def _row(*cells: str) -> str:
    return "|" + "|".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)) + "|"


def _table(model: str, memory: int, count: int) -> Iterator[str]:
    yield "+" + "-" * (len(_RULE) - 2) + "+"
    yield f"| NVIDIA-SMI {DRIVER}   Driver Version: {DRIVER}   CUDA Version: {CUDA}".ljust(len(_RULE) - 1) + "|"
    yield _RULE
    yield _row(" GPU  Name                 Persistence-M ", " Bus-Id          Disp.A ", " Volatile Uncorr. ECC ")
    yield _RULE.replace("-", "=").replace("+", "|")
    for number in range(count):
        yield _row(f" {number:>3}  {model:<29.29}  On", f" {number:08x}:01:00.0 Off", f"{0:>21}")
        yield _row(" N/A   31C    P0              88W / 900W", f"      1MiB / {memory:>7}MiB", "      0%      Default")
        yield _RULE


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


def free(terminal: Terminal, _: Sequence[str]) -> Outcome:
    total = terminal.node.memory_mib * 1024
    used = round(total * 0.03)
    head = "               total        used        free      shared  buff/cache   available\n"
    return Outcome(
        f"{head}Mem:   {total:>13} {used:>11} {total - used:>11}       12288       98304 {total - used:>11}\n"
    )


def dmesg(terminal: Terminal, _: Sequence[str]) -> Outcome:
    lines = [text for _, text in stage_output(KERNEL, terminal.node) if text.startswith("[")]
    later = [text for _, text in stage_output(SYSTEMD, terminal.node) if text.startswith("[  OK")]
    lines += [f"[{60 + number:12.6f}] systemd[1]: {text[9:]}" for number, text in enumerate(later)]
    for link in terminal.node.interfaces:
        if link.name.startswith("hsn"):
            state = "up" if linked(terminal.machine, link.nic) else "down"
            lines.append(f"[   75.000000] cxi_core: {link.name} link is {state}")
    return Outcome("\n".join(lines) + "\n")
