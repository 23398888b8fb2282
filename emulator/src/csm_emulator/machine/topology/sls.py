"""The SLS dump of a machine: the hardware that HPE's installer enters, and the networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from csm_emulator.machine.parts import Network, NodePlace, Part
from csm_emulator.machine.topology.addresses import AddressAllocator, cabinet_of, side_of
from csm_emulator.machine.topology.networks import cabinet_subnet, switch_address, switch_aliases
from csm_emulator.records import Record

TYPES = {
    "CDU": "comptype_cdu",
    "CDUMgmtSwitch": "comptype_cdu_mgmt_switch",
    "CabinetCDU": "comptype_cab_cdu",
    "Cabinet": "comptype_cabinet",
    "CabinetPDUController": "comptype_cab_pdu_controller",
    "CabinetPDU": "comptype_cab_pdu",
    "CabinetPDUNic": "comptype_cab_pdu_nic",
    "CabinetPDUOutlet": "comptype_cab_pdu_outlet",
    "CabinetPDUPowerConnector": "comptype_cab_pdu_pwr_connector",
    "Chassis": "comptype_chassis",
    "ChassisBMC": "comptype_chassis_bmc",
    "CMMRectifier": "comptype_cmm_rectifier",
    "CMMFpga": "comptype_cmm_fpga",
    "CEC": "comptype_cec",
    "ComputeModule": "comptype_compmod",
    "RouterModule": "comptype_rtrmod",
    "NodeBMC": "comptype_ncard",
    "NodeBMCNic": "comptype_bmc_nic",
    "NodeEnclosure": "comptype_node_enclosure",
    "NodePowerConnector": "comptype_compmod_power_connector",
    "Node": "comptype_node",
    "VirtualNode": "comptype_virtual_node",
    "Processor": "comptype_node_processor",
    "NodeNic": "comptype_node_nic",
    "NodeHsnNic": "comptype_node_hsn_nic",
    "Memory": "comptype_dimm",
    "NodeAccel": "comptype_node_accel",
    "NodeFpga": "comptype_node_fpga",
    "HSNAsic": "comptype_hsn_asic",
    "RouterFpga": "comptype_rtr_fpga",
    "RouterTORFpga": "comptype_rtr_tor_fpga",
    "RouterBMC": "comptype_rtr_bmc",
    "RouterBMCNic": "comptype_rtr_bmc_nic",
    "HSNBoard": "comptype_hsn_board",
    "HSNLink": "comptype_hsn_link",
    "HSNConnector": "comptype_hsn_connector",
    "HSNConnectorPort": "comptype_hsn_connector_port",
    "MgmtSwitch": "comptype_mgmt_switch",
    "MgmtSwitchConnector": "comptype_mgmt_switch_connector",
    "MgmtHLSwitch": "comptype_hl_switch",
    "SMSBox": "comptype_ncn_box",
    "Partition": "comptype_partition",
}
"""SLS's names of the types of HMS."""
INSTALLED_TYPES = frozenset(
    {"Cabinet", "Chassis", "ChassisBMC", "Node", "MgmtSwitch", "MgmtHLSwitch", "CDUMgmtSwitch", "CabinetPDUController"}
)
"""Types that HPE's installer enters in SLS, beside controllers of rack switches and ports of leaf switches."""
_ON_A_LEAF = frozenset({"NodeBMC", "RouterBMC", "CabinetPDUController"})


Dump = dict[str, dict[str, Record]]
"""Hardware and Networks, by xname and by name; the fields of entries differ by type, as their ExtraProperties do."""


class LazyDump(Mapping[str, Mapping[str, Record]]):
    """Built on first access: it is as large as the machine, and only SLS uses it."""

    def __init__(self, make: Callable[[], Dump]) -> None:
        self._build = make

    @cached_property
    def _dump(self) -> Dump:
        return self._build()

    def __getitem__(self, key: str) -> Mapping[str, Record]:
        return self._dump[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dump)

    def __len__(self) -> int:
        return len(self._dump)


def dump(
    parts: Mapping[str, Part], places: Mapping[str, NodePlace], networks: Sequence[Network], allotment: AddressAllocator
) -> Dump:
    maker = _EntryBuilder(parts, places, allotment)
    hardware = {part.xname: maker.entry(part) for part in parts.values() if maker.knows(part)}
    hardware |= _leaf_ports(parts)
    return {"Hardware": hardware, "Networks": {network.name: network_entry(network) for network in networks}}


def network_entry(network: Network) -> Record:
    return {
        "Name": network.name,
        "FullName": network.full_name,
        "IPRanges": list(network.cidrs),
        "Type": network.kind,
        "ExtraProperties": network.extra,
    }


class _EntryBuilder:
    def __init__(self, parts: Mapping[str, Part], places: Mapping[str, NodePlace], allotment: AddressAllocator) -> None:
        self._places = places
        self._allotment = allotment
        self._aliases = switch_aliases(parts)
        self._extra: dict[str, Callable[[Part], Record]] = {
            "Cabinet": self._cabinet,
            "Node": self._node,
            "MgmtSwitch": self._leaf,
            "MgmtHLSwitch": self._switch,
            "CDUMgmtSwitch": self._switch,
            "RouterBMC": _credentials,
        }

    def knows(self, part: Part) -> bool:
        """Whether SLS has it: of switches only those in racks, since switch blades are discovered from the chassis."""
        return part.type in INSTALLED_TYPES or (part.type == "RouterBMC" and part.hardware_class == "River")

    def entry(self, part: Part) -> Record:
        extra = self._extra[part.type](part) if part.type in self._extra else {}
        return _entry(part.xname, part.type, part.parent, part.hardware_class, extra)

    def _cabinet(self, part: Part) -> Record:
        river = part.hardware_class == "River"
        networks = {name: self._cabinet_network(f"{name}_{side_of(part)}", part.xname) for name in ("HMN", "NMN")}
        extra: Record = {"Networks": {"cn": networks, "ncn": networks} if river else {"cn": networks}}
        if part.fru is not None and not river:
            extra["Model"] = part.fru.model
        return extra

    def _cabinet_network(self, network: str, cabinet: str) -> Record:
        subnet = cabinet_subnet(network, cabinet, self._allotment.subnets[network][cabinet])
        return {"CIDR": subnet["CIDR"], "Gateway": subnet["Gateway"], "VLan": subnet["VlanID"]}

    def _node(self, part: Part) -> Record:
        place = self._places[part.xname]
        extra: Record = {"NID": place.nid, "Role": place.role}
        if place.sub_role:
            extra["SubRole"] = place.sub_role
        return extra | {"Aliases": list(place.aliases)}

    def _switch(self, part: Part) -> Record:
        address = switch_address("10.254", list(self._aliases).index(part.xname))
        return {"IP4addr": address, "Brand": "Aruba", "Aliases": [self._aliases[part.xname]]}

    def _leaf(self, part: Part) -> Record:
        secret = f"vault://hms-creds/{part.xname}"
        snmp = {"SNMPAuthPassword": secret, "SNMPAuthProtocol": "MD5", "SNMPPrivPassword": secret}
        return self._switch(part) | snmp | {"SNMPPrivProtocol": "DES", "SNMPUsername": "testuser"}


def _credentials(part: Part) -> Record:
    secret = f"vault://hms-creds/{part.xname}"
    return {"Username": secret, "Password": secret}


def _entry(xname: str, kind: str, parent: str, hardware_class: str, extra: Record) -> Record:
    entry: Record = {
        "Parent": parent,
        "Xname": xname,
        "Type": TYPES[kind],
        "Class": hardware_class,
        "TypeString": kind,
    }
    return {**entry, "ExtraProperties": extra} if extra else entry


def _leaf_ports(parts: Mapping[str, Part]) -> dict[str, Record]:
    """The ports of leaf switches with the controllers of rack hardware, by which these are discovered."""
    leaves = {cabinet_of(part.xname): part.xname for part in parts.values() if part.type == "MgmtSwitch"}
    used = dict.fromkeys(leaves, 0)
    ports = {}
    for part in parts.values():
        if part.type not in _ON_A_LEAF or part.hardware_class != "River":
            continue
        cabinet = cabinet_of(part.xname)
        if cabinet not in leaves:
            continue
        used[cabinet] += 1
        port = f"{leaves[cabinet]}j{used[cabinet]}"
        extra = {"NodeNics": [part.xname], "VendorName": f"1/1/{used[cabinet]}"}
        ports[port] = _entry(port, "MgmtSwitchConnector", leaves[cabinet], "River", extra)
    return ports
