"""Facts that Ansible gathers from a host."""

from __future__ import annotations

from collections.abc import Mapping

from csm_emulator.context import Context
from csm_emulator.records import Json, Record

_ARCHITECTURES = {"X86": "x86_64", "ARM": "aarch64", "x86_64": "x86_64", "aarch64": "aarch64"}
_SYSTEM: Mapping[str, Json] = {
    "ansible_distribution": "SLES",
    "ansible_distribution_major_version": "15",
    "ansible_distribution_release": "5",
    "ansible_distribution_version": "15.5",
    "ansible_os_family": "Suse",
    "ansible_pkg_mgr": "zypper",
    "ansible_python_version": "3.6.15",
    "ansible_service_mgr": "systemd",
    "ansible_system": "Linux",
}


def node_facts(context: Context, xname: str) -> Record:
    part, place = context.machine.part(xname), context.machine.place(xname)
    architecture = _ARCHITECTURES.get(part.model.arch, "x86_64") if part and part.model else "x86_64"
    name = place.aliases[0] if place and place.aliases else xname
    networks = sorted(nic.network for nic in context.machine.nics(xname))
    interfaces = [f"{network.lower()}{networks[:index].count(network)}" for index, network in enumerate(networks)]
    addresses = [nic.address for nic in context.machine.nics(xname) if nic.network == "NMN" and nic.address]
    return {
        **_SYSTEM,
        **_architecture_facts(architecture),
        "ansible_hostname": name,
        "ansible_nodename": name,
        "ansible_interfaces": [*interfaces, "lo"],
        "ansible_all_ipv4_addresses": addresses,
        "ansible_default_ipv4": {"address": addresses[0]} if addresses else {},
    }


def image_facts(architecture: str) -> Record:
    """Facts of the container in which an image is customised."""
    architecture_facts = _architecture_facts(_ARCHITECTURES.get(architecture, "x86_64"))
    return {**_SYSTEM, **architecture_facts, "ansible_virtualization_type": "container"}


def _architecture_facts(architecture: str) -> Record:
    return {"ansible_architecture": architecture, "ansible_machine": architecture}
