"""Builds a machine from an SLS dump of a real one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

from csm_emulator.machine.parts import Network, Topology
from csm_emulator.machine.sls_import.blades import BladeFinder
from csm_emulator.machine.sls_import.entries import Entry, SlsDump, raise_if_any, read_dump, read_file
from csm_emulator.machine.sls_import.hardware import add_hardware
from csm_emulator.machine.topology.addresses import CABINET_SIZE, AddressAllocator
from csm_emulator.machine.topology.blades import load_catalogue
from csm_emulator.machine.topology.builder import finish
from csm_emulator.machine.topology.draft import Draft
from csm_emulator.machine.topology.sls import TYPES
from csm_emulator.records import Json


def load_sls(source: Path | str | Mapping[str, Json], name: str = "") -> Topology:
    """From a file or from data that was read already; raises ``InvalidMachine`` with all mistakes."""
    if isinstance(source, Mapping):
        return _build(read_dump(dict(source)), name or "sls")
    path = Path(source)
    return _build(read_dump(read_file(path)), name or path.stem)


def _build(dump: SlsDump, name: str) -> Topology:
    draft = Draft(load_catalogue())
    finder = BladeFinder(draft.catalogue)
    add_hardware(draft, dump, finder)
    allotment = AddressAllocator(_given_subnets(dump, finder.mistakes))
    raise_if_any(finder.mistakes)
    topology = finish(draft, name, _about(draft, finder), allotment=allotment)
    hardware = {str(entry.xname): _stored_entry(entry) for entry in dump.hardware}
    networks = tuple(_network(key, value) for key, value in dump.networks.items())
    return replace(topology, networks=networks, sls={"Hardware": hardware, "Networks": dict(dump.networks)})


def _about(draft: Draft, finder: BladeFinder) -> str:
    computes = sum(place.role == "Compute" for place in draft.places.values())
    if not draft.parts:
        return "an SLS dump without hardware"
    text = f"an SLS dump with {computes} compute nodes; switch blades are added as the nodes need them"
    guessed = ", ".join(sorted(finder.guessed))
    return f"{text}; blade types that it does not name are guessed: {guessed}" if guessed else text


def _stored_entry(entry: Entry) -> dict[str, Json]:
    """The entry as SLS stores it: it derives these four fields from the name, whatever the dump has."""
    derived = {"Xname": str(entry.xname), "Parent": str(entry.xname.parent or ""), "TypeString": entry.type}
    kind = TYPES.get(entry.type, str(entry.raw.get("Type", "")))
    return {**entry.raw, **derived, "Type": kind}


def _network(name: str, data: Mapping[str, Json]) -> Network:
    ranges = tuple(data.get("IPRanges") or ())
    extra = data.get("ExtraProperties") or {}
    return Network(name, str(data.get("FullName", "")), data["Type"], ranges, extra)


def _given_subnets(dump: SlsDump, mistakes: list[str]) -> dict[tuple[str, str], int]:
    """First addresses of the cabinets' subnets that the dump has, by network and cabinet."""
    subnets = {}
    for entry in dump.hardware:
        side = "RVR" if entry.hardware_class == "River" else "MTN"
        for network in ("NMN", "HMN") if entry.type == "Cabinet" else ():
            subnet = _subnet(entry, network, mistakes)
            if subnet is not None:
                subnets[f"{network}_{side}", str(entry.xname)] = int(subnet.network_address)
    return subnets


def _subnet(entry: Entry, network: str, mistakes: list[str]) -> IPv4Network | None:
    cidr: Json = entry.extra
    for key in ("Networks", "cn", network, "CIDR"):
        cidr = cidr.get(key) if isinstance(cidr, dict) else None
    if cidr is None:
        return None
    try:
        subnet = IPv4Network(cidr, strict=False)
    except ValueError:
        mistakes.append(f"{entry.xname} has an {network} that is not an IPv4 network: {cidr!r}")
        return None
    if subnet.num_addresses < CABINET_SIZE:
        mistakes.append(f"{entry.xname} has {subnet} as its {network}, but a cabinet needs a /22")
    return subnet
