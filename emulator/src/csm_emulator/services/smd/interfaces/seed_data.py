"""The Ethernet interfaces of a discovered machine: every NIC, with its address from DHCP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from csm_emulator.machine.machine import Machine
from csm_emulator.machine.parts import Nic
from csm_emulator.records import Json
from csm_emulator.state.clock import rfc3339

_DESCRIPTIONS = {"NMN": "Node Maintenance Network", "HMN": "", "HSN": "HPCNet"}


def interface_id(mac: str) -> str:
    return mac.replace(":", "").lower()


def interface(nic: Nic, kind: str, updated: str) -> Json:
    return {
        "ID": interface_id(nic.mac),
        "Description": _DESCRIPTIONS.get(nic.network, nic.network),
        "MACAddress": nic.mac.lower(),
        "LastUpdate": updated,
        "ComponentID": nic.owner,
        "Type": kind,
        "IPAddresses": [{"IPAddress": nic.address}] if nic.address else [],
    }


def addresses(machine: Machine) -> Iterator[tuple[str, str]]:
    """The IP address and the id of every interface."""
    return ((nic.address, interface_id(nic.mac)) for nic in machine.topology.nics)


class InterfaceSeeds(Mapping[str, Json]):
    def __init__(self, machine: Machine, discovery_time: float) -> None:
        self._machine = machine
        self._last_update = rfc3339(discovery_time)
        self._nics = {interface_id(nic.mac): nic for nic in machine.topology.nics}

    def __getitem__(self, name: str) -> Json:
        nic = self._nics[name]
        part = self._machine.part(nic.owner)
        return interface(nic, part.type if part else "", self._last_update)

    def __contains__(self, name: object) -> bool:
        return name in self._nics

    def __iter__(self) -> Iterator[str]:
        return iter(self._nics)

    def __len__(self) -> int:
        return len(self._nics)
