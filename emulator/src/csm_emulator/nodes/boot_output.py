"""The console output of a node during boot and shutdown.

Each line has a moment within its boot stage; lines after the end of the stage are not written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from csm_emulator.machine import boot, timings
from csm_emulator.nodes.description import Description

Timed = tuple[float, str]
"""Seconds since the stage began, and text."""
NO_IPXE = "no-ipxe"
"""The stage ``pxe`` of a node whose firmware gets no iPXE from TFTP."""


def stage_output(stage: str, node: Description) -> list[Timed]:
    writer = _WRITERS.get(stage)
    return list(writer(node)) if writer else []


def _post(node: Description) -> Iterator[Timed]:
    fru, count = node.processors
    lines = [
        "",
        f"HPE Cray EX BIOS  {node.model}",
        f"Copyright (C) Hewlett Packard Enterprise  node {node.xname}",
        f"CPU: {fru.manufacturer} {fru.model} x {count}, {node.cores} threads",
        f"Memory training ... {node.memory_mib} MiB installed",
        "PCIe enumeration ... done",
        *(f"  Cassini {interface.nic}  MAC {interface.mac}" for interface in node.interfaces if interface.mtu == 9000),
        "UEFI secure boot: disabled",
        "Boot option 1: UEFI PXEv4",
    ]
    return _spread(lines, timings.POST[0])


def _pxe(node: Description) -> Iterator[Timed]:
    nmn = next((interface for interface in node.interfaces if interface.name == "nmn0"), None)
    lines = [
        ">>Start PXE over IPv4.",
        f"  Station IP address is {nmn.address if nmn else 'unknown'}",
        "iPXE 1.21.1+ -- Open Source Network Boot Firmware",
        f"net0: {nmn.mac if nmn else 'no link'} using UEFI SNP",
        f"Configuring (net0 {nmn.mac if nmn else ''})...... ok",
        "api-gw-service-nmn.local/apis/bss/boot/v1/bootscript... ok",
    ]
    return _spread(lines, timings.PXE[0])


def _no_ipxe(node: Description) -> Iterator[Timed]:
    nmn = next((interface for interface in node.interfaces if interface.name == "nmn0"), None)
    lines = [
        ">>Start PXE over IPv4.",
        f"  Station IP address is {nmn.address if nmn else 'unknown'}",
        "  NBP filename is ipxe.efi",
        "  NBP filesize is 0 Bytes",
        "  PXE-E18: Server response timeout.",
    ]
    return _spread(lines, timings.TFTP_AGAIN)


def _kernel(node: Description) -> Iterator[Timed]:
    loaded = [f"{name}... ok" for name in (node.loaded.partition("?")[0], "initrd")]
    lines = [
        f"Linux version {node.kernel} (geeko@buildhost) #1 SMP PREEMPT",
        f"Command line: {node.parameters}",
        f"smp: Brought up {node.processors[1]} nodes, {node.cores} CPUs",
        f"Memory: {node.memory_mib * 1024}K available",
        *(f"cxi_core {interface.nic}: Cassini 2 NIC" for interface in node.interfaces if interface.mtu == 9000),
        *([f"nvme nvme0: {node.drives[0].model}"] if node.drives[0] else []),
        "dracut: Starting dracut initqueue",
        "dracut: Mounting root filesystem " + node.root,
        "dracut: Switching root",
    ]
    yield from ((0.0, line) for line in loaded)
    for when, line in _spread(lines, timings.KERNEL[0]):
        yield when, f"[{when:12.6f}] {line}"


def _systemd(node: Description) -> Iterator[Timed]:
    units = [
        "Network Name Resolution",
        "OpenSSH Daemon",
        "SPIRE agent",
        "Slingshot high-speed network",
        "NVIDIA Persistence Daemon" if node.accelerators[1] else "Machine Check Exception Logging Daemon",
        "BOS reporter",
        "CFS state reporter",
    ]
    lines = [
        "Welcome to SUSE Linux Enterprise Server 15 SP5!",
        "",
        *(f"[  OK  ] Started {unit}." for unit in units),
        "[  OK  ] Reached target Multi-User System.",
    ]
    return _spread(lines, timings.SYSTEMD[0])


def _up(node: Description) -> Iterator[Timed]:
    yield 0.0, ""
    yield 0.0, f"SUSE Linux Enterprise Server 15 SP5 ({node.arch}) - Kernel {node.kernel} (ttyS0)."
    yield 0.0, ""
    for interface in node.interfaces:
        yield 0.0, f"{interface.name}: {interface.address or 'no address'}"
    yield 0.0, ""


def _stopping(_: Description) -> Iterator[Timed]:
    lines = ["[  OK  ] Stopped target Multi-User System.", "[  OK  ] Reached target System Power Off."]
    return _spread(lines, timings.SHUTDOWN[0])


def _spread(lines: list[str], seconds: float) -> Iterator[Timed]:
    """Spreads lines evenly over 90 % of the shortest duration of the stage."""
    step = 0.9 * seconds / max(len(lines), 1)
    return ((round(number * step, 6), line) for number, line in enumerate(lines))


_WRITERS: dict[str, Callable[[Description], Iterator[Timed]]] = {
    boot.POST: _post,
    boot.PXE: _pxe,
    NO_IPXE: _no_ipxe,
    boot.KERNEL: _kernel,
    boot.SYSTEMD: _systemd,
    boot.UP: _up,
    boot.STOPPING: _stopping,
}
