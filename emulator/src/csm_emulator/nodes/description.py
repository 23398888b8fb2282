"""A node as its own operating system sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Fitting, Fru, Nic, NodeModel, NodePlace

MACHINES = {"X86": "x86_64", "ARM": "aarch64"}
KERNEL = "5.14.21-150500.55.65_13.0.73-cray_shasta_c"
KERNEL_64K = "5.14.21-150500.55.65_13.0.73-cray_shasta_c_64k"
_ROOT = re.compile(r"(?:^| )root=(\S+)")
_CONSOLES = {"x86_64": "ttyS0", "aarch64": "ttyAMA0"}
_EARLIER = "http://rgw-vip.nmn/boot-images/{arch}/"
"""The boot URL of nodes that are up from the start; BSS may have another one by now."""


@dataclass(frozen=True, slots=True)
class Interface:
    name: str
    mac: str
    address: str
    prefix: int
    mtu: int
    nic: str
    """Its xname."""


@dataclass(frozen=True, slots=True)
class Description:
    xname: str
    hostname: str
    model: str
    arch: str
    """As in ``uname -m``."""
    interfaces: tuple[Interface, ...]
    processors: tuple[Fru, int]
    memory_mib: int
    accelerators: tuple[Fru | None, int]
    drives: tuple[Fru | None, int]
    loaded: str
    """The URL of its kernel."""
    parameters: str
    """Kernel parameters."""

    @property
    def kernel(self) -> str:
        return KERNEL_64K if self.arch == "aarch64" else KERNEL

    @property
    def root(self) -> str:
        match = _ROOT.search(self.parameters)
        return match[1] if match else "live"

    @property
    def cores(self) -> int:
        fru, count = self.processors
        return int(_number(fru, "TotalThreads", 64)) * count


def describe(machine: Machine, node: str, loaded: str | None = None, parameters: str = "") -> Description:
    """The node as it is now, or with the given kernel and parameters."""
    part, place = machine.part(node), machine.place(node)
    if loaded is None:
        record = machine.boot.record(node)
        loaded, parameters = record["kernel"], record["parameters"]
    if part is None or part.model is None:
        raise LookupError(node)
    model = part.model
    arch = MACHINES.get(model.arch, "x86_64")
    if not loaded:
        loaded, parameters = _initial_kernel(node, place, arch)
    hostname = place.aliases[0] if place and place.aliases else node
    return Description(
        node,
        hostname,
        model.board.model,
        arch,
        tuple(_interfaces(machine, node)),
        _fitted(model, "Processor") or (model.board, 1),
        sum(int(_number(fitting.fru, "CapacityMiB", 0)) * fitting.count for fitting in _all(model, "Memory")),
        _fitted(model, "NodeAccel") or (None, 0),
        _fitted(model, "Drive") or (None, 0),
        loaded,
        parameters,
    )


def _initial_kernel(node: str, place: NodePlace | None, arch: str) -> tuple[str, str]:
    """Kernel and parameters of a node that was up from the start."""
    where = _EARLIER.format(arch=arch)
    names = f"xname={node}" + (f" nid={place.nid}" if place else "")
    parameters = f"console={_CONSOLES[arch]},115200 crashkernel=512M rd.neednet=1 rd.retry=10 ip=dhcp quiet"
    return f"{where}kernel", f"{parameters} root=live:{where}rootfs {names}"


def _interfaces(machine: Machine, node: str) -> Iterator[Interface]:
    prefixes = {network.name: network.cidrs for network in machine.topology.networks}
    counts = {"hsn": 0, "nmn": 0}
    for nic in machine.nics(node):
        kind = "hsn" if nic.network == "HSN" else "nmn"
        name = f"{kind}{counts[kind]}"
        counts[kind] += 1
        yield Interface(name, nic.mac, nic.address, _prefix(nic, prefixes), 9000 if kind == "hsn" else 1500, nic.xname)


def _prefix(nic: Nic, cidrs: dict[str, tuple[str, ...]]) -> int:
    network_cidrs = cidrs.get(nic.network) or ("/17",)
    return int(network_cidrs[0].rpartition("/")[2])


def _all(model: NodeModel, kind: str) -> list[Fitting]:
    return [fitting for fitting in model.fittings if fitting.fru.kind == kind]


def _fitted(model: NodeModel, kind: str) -> tuple[Fru, int] | None:
    fittings = _all(model, kind)
    return (fittings[0].fru, sum(fitting.count for fitting in fittings)) if fittings else None


def _number(fru: Fru, name: str, default: float) -> float:
    value = fru.facts.get(name, default)
    return value if isinstance(value, int | float) else default
