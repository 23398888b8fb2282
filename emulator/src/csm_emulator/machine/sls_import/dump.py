"""A machine from the dump of a real one's SLS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

from csm_emulator.machine.parts import Network, Topology
from csm_emulator.machine.sls_import.blades import BladeFinder
from csm_emulator.machine.sls_import.entries import Entry, SlsDump, read_dump, read_file, refuse
from csm_emulator.machine.sls_import.hardware import add_hardware
from csm_emulator.machine.topology.addresses import CABINET_SIZE, Allotment
from csm_emulator.machine.topology.blades import load_catalogue
from csm_emulator.machine.topology.builder import finish
from csm_emulator.machine.topology.draft import Draft
from csm_emulator.machine.topology.sls import TYPES
from csm_emulator.records import Json


def load_sls(source: Path | str | Mapping[str, Json], name: str = "") -> Topology:
    """From a file or from what was read already; raises InvalidMachine with all that is wrong."""
    if isinstance(source, Mapping):
        return _build(read_dump(dict(source)), name or "sls")
    path = Path(source)
    return _build(read_dump(read_file(path)), name or path.stem)


def _build(dump: SlsDump, name: str) -> Topology:
    draft = Draft(load_catalogue())
    finder = BladeFinder(draft.catalogue)
    add_hardware(draft, dump, finder)
    allotment = Allotment(_known_subnets(dump, finder.mistakes))
    refuse(finder.mistakes)
    topology = finish(draft, name, _about(draft, finder), allotment=allotment)
    hardware = {str(entry.xname): _as_sls_keeps_it(entry) for entry in dump.hardware}
    networks = tuple(_network(key, value) for key, value in dump.networks.items())
    return replace(topology, networks=networks, sls={"Hardware": hardware, "Networks": dict(dump.networks)})


def _about(draft: Draft, finder: BladeFinder) -> str:
    computes = sum(place.role == "Compute" for place in draft.places.values())
    if not draft.parts:
        return "an SLS dump without hardware"
    said = f"an SLS dump with {computes} compute nodes; switch blades are put in as the nodes need them"
    guessed = ", ".join(sorted(finder.guessed))
    return f"{said}; it does not name all blade types, guessed are {guessed}" if guessed else said


def _as_sls_keeps_it(entry: Entry) -> dict[str, Json]:
    """SLS makes these four from the name, whatever the dump says."""
    made = {"Xname": str(entry.xname), "Parent": str(entry.xname.parent or ""), "TypeString": entry.type}
    kind = TYPES.get(entry.type, str(entry.raw.get("Type", "")))
    return {**entry.raw, **made, "Type": kind}


def _network(name: str, found: Mapping[str, Json]) -> Network:
    ranges = tuple(found.get("IPRanges") or ())
    extra = found.get("ExtraProperties") or {}
    return Network(name, str(found.get("FullName", "")), found["Type"], ranges, extra)


def _known_subnets(dump: SlsDump, mistakes: list[str]) -> dict[tuple[str, str], int]:
    """A cabinet's own networks, by network and cabinet."""
    known = {}
    for entry in dump.hardware:
        side = "RVR" if entry.hardware_class == "River" else "MTN"
        for network in ("NMN", "HMN") if entry.type == "Cabinet" else ():
            subnet = _subnet(entry, network, mistakes)
            if subnet is not None:
                known[f"{network}_{side}", str(entry.xname)] = int(subnet.network_address)
    return known


def _subnet(entry: Entry, network: str, mistakes: list[str]) -> IPv4Network | None:
    found: Json = entry.extra
    for key in ("Networks", "cn", network, "CIDR"):
        found = found.get(key) if isinstance(found, dict) else None
    if found is None:
        return None
    try:
        subnet = IPv4Network(found, strict=False)
    except ValueError:
        mistakes.append(f"{entry.xname} has an {network} that is no IPv4 network: {found!r}")
        return None
    if subnet.num_addresses < CABINET_SIZE:
        mistakes.append(f"{entry.xname} has {subnet} as its {network}, where a cabinet needs a /22")
    return subnet
