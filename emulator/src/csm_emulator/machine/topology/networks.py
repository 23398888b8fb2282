"""The networks of a machine as HPE's installer plans them, with their subnets and reserved addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from csm_emulator.machine.parts import Network, Nic, NodePlace, Part
from csm_emulator.machine.topology.addresses import CABINET_NETWORKS, CABINET_SIZE, FIRST_HOST, AddressAllocator, dotted
from csm_emulator.records import Record

_CABINET_NAMES = {
    "NMN_MTN": "Mountain Compute Node Management Network",
    "HMN_MTN": "Mountain Compute Hardware Management Network",
    "NMN_RVR": "River Compute Node Management Network",
    "HMN_RVR": "River Compute Hardware Management Network",
}
_LOAD_BALANCERS = {
    "NMNLB": ("NMN", "10.92.100", "node-management"),
    "HMNLB": ("HMN", "10.94.100", "hardware-management"),
}
_PINNED = {
    "istio-ingressgateway": (71, "api-gw-service"),
    "cray-tftp": (60, "tftp-service"),
    "unbound": (225, "unbound"),
}
_CUSTOMER = {
    "CMN": ("Customer Management Network", "10.103.6", 7, "customer-management"),
    "CAN": ("Customer Access Network", "10.102.11", 6, "customer-access"),
    "CHN": ("Customer High-Speed Network", "10.102.13", 5, "customer-high-speed"),
}
_MANAGED = {
    "NMN": ("Node Management Network", "10.252", 2),
    "HMN": ("Hardware Management Network", "10.254", 4),
}
_SWITCH_ALIASES = {"MgmtHLSwitch": "sw-spine-{:03}", "MgmtSwitch": "sw-leaf-bmc-{:03}", "CDUMgmtSwitch": "sw-cdu-{:03}"}
MTU = 9000


def switch_aliases(parts: Mapping[str, Part]) -> dict[str, str]:
    """The names of the management networks' switches, by xname."""
    counts = dict.fromkeys(_SWITCH_ALIASES, 0)
    aliases = {}
    for part in parts.values():
        if part.type in counts:
            counts[part.type] += 1
            aliases[part.xname] = _SWITCH_ALIASES[part.type].format(counts[part.type])
    return aliases


def plan_networks(
    parts: Mapping[str, Part], places: Mapping[str, NodePlace], nics: Sequence[Nic], allotment: AddressAllocator
) -> tuple[Network, ...]:
    networks = [_bican(), *_customer(), *_load_balancers(), _high_speed(), _provisioning(parts)]
    for name, (full_name, block, vlan) in _MANAGED.items():
        hardware = _subnet("network_hardware", f"{name} Management Network Infrastructure", f"{block}.0.0/17", vlan)
        hardware |= {"Gateway": f"{block}.0.1", "IPReservations": _switch_addresses(parts, block)}
        dhcp = _subnet("bootstrap_dhcp", f"{name} Bootstrap DHCP Subnet", f"{block}.1.0/17", vlan)
        reserved = [
            _reservation("kubeapi-vip", f"{block}.1.2", "k8s-virtual-ip"),
            *_service_addresses(name, places, nics),
        ]
        dhcp |= {"Gateway": f"{block}.0.1", "IPReservations": reserved}
        dhcp |= {"DHCPStart": f"{block}.1.200", "DHCPEnd": f"{block}.1.250"}
        networks.append(_network(name, full_name, f"{block}.0.0/17", [vlan], [hardware, dhcp]))
    networks += [_cabinets(name, subnets) for name, subnets in allotment.subnets.items() if subnets]
    return tuple(sorted(networks, key=lambda network: network.name))


def _network(name: str, full_name: str, cidr: str, vlans: list[int] | None, subnets: list[Record]) -> Network:
    extra = {"CIDR": cidr, "VlanRange": vlans, "MTU": MTU, "Subnets": subnets}
    return Network(name, full_name, "slingshot11" if name == "HSN" else "ethernet", (cidr,), extra)


def _subnet(name: str, full_name: str, cidr: str, vlan: int) -> Record:
    return {"Name": name, "FullName": full_name, "CIDR": cidr, "VlanID": vlan}


def _reservation(name: str, address: str, comment: str, aliases: Iterable[str] = ()) -> Record:
    reservation: Record = {"Name": name, "IPAddress": address, "Comment": comment}
    return {**reservation, "Aliases": list(aliases)} if aliases else reservation


def _bican() -> Network:
    full_name = "SystemDefaultRoute points the network name of the default route"
    extra = {"CIDR": "0.0.0.0/0", "VlanRange": [0], "MTU": MTU, "Subnets": [], "SystemDefaultRoute": "CMN"}
    return Network("BICAN", full_name, "ethernet", ("0.0.0.0/0",), extra)


def _customer() -> Iterable[Network]:
    for name, (full_name, block, vlan, pool) in _CUSTOMER.items():
        dynamic = _subnet(f"{name.lower()}_metallb_address_pool", f"{name} Dynamic MetalLB", f"{block}.64/26", vlan)
        dynamic |= {"Gateway": f"{block}.65", "MetalLBPoolName": pool}
        yield _network(name, full_name, f"{block}.0/24", [vlan], [dynamic])


def _load_balancers() -> Iterable[Network]:
    for name, (network, block, pool) in _LOAD_BALANCERS.items():
        full_name = _MANAGED[network][0] + " LoadBalancers"
        subnet = _subnet(
            f"{network.lower()}_metallb_address_pool", f"{network} MetalLB", f"{block}.0/24", _MANAGED[network][2]
        )
        pinned = [_reservation(name, f"{block}.{last}", alias, [alias]) for name, (last, alias) in _PINNED.items()]
        subnet |= {"Gateway": f"{block}.1", "MetalLBPoolName": pool, "IPReservations": pinned}
        yield _network(name, full_name, f"{block}.0/24", None, [subnet])


def _high_speed() -> Network:
    subnet = _subnet("hsn_base_subnet", "HSN Base Subnet", "10.253.0.0/16", 613) | {"Gateway": "10.253.0.1"}
    return _network("HSN", "High Speed Network", "10.253.0.0/16", [613, 868], [subnet])


def _provisioning(parts: Mapping[str, Part]) -> Network:
    subnet = _subnet("network_hardware", "MTL Management Network Infrastructure", "10.1.0.0/16", 0)
    subnet |= {"Gateway": "10.1.0.1", "IPReservations": _switch_addresses(parts, "10.1")}
    return _network("MTL", "Provisioning Network (untagged)", "10.1.1.0/16", [0], [subnet])


def switch_address(block: str, place: int) -> str:
    """The address of the switch number ``place`` in one of the networks."""
    return f"{block}.0.{place + 2}"


def _switch_addresses(parts: Mapping[str, Part], block: str) -> list[Record]:
    return [
        _reservation(alias, switch_address(block, place), xname)
        for place, (xname, alias) in enumerate(switch_aliases(parts).items())
    ]


def _service_addresses(network: str, places: Mapping[str, NodePlace], nics: Sequence[Nic]) -> list[Record]:
    """Reservations for management and login nodes: of the nodes on the NMN, of their BMCs on the HMN."""
    addresses = {nic.owner: nic.address for nic in nics if nic.network == network}
    reserved = []
    for place in places.values():
        if place.role == "Compute":
            continue
        name = place.aliases[0] if place.aliases else place.xname
        bmc = place.xname[: place.xname.rindex("n")]
        if network == "NMN":
            reserved.append(_reservation(name, addresses[place.xname], place.xname, [f"{name}-nmn", place.xname]))
        else:
            reserved.append(_reservation(bmc, addresses[bmc], bmc, [f"{name}-mgmt"]))
    return reserved


def _cabinets(name: str, subnets: Mapping[str, int]) -> Network:
    plan = CABINET_NETWORKS[name]
    bits = 17 if len(subnets) <= 1 << 5 else 16
    cidr = f"{dotted(plan.first)}/{bits}"
    vlans = [plan.vlan, plan.vlan + len(subnets) - 1]
    return _network(name, _CABINET_NAMES[name], cidr, vlans, [cabinet_subnet(name, *item) for item in subnets.items()])


def cabinet_subnet(network: str, cabinet: str, first: int) -> Record:
    plan = CABINET_NETWORKS[network]
    subnet = _subnet(
        f"cabinet_{cabinet[1:]}", "", f"{dotted(first)}/22", plan.vlan + (first - plan.first) // CABINET_SIZE
    )
    dhcp = {"DHCPStart": dotted(first + FIRST_HOST), "DHCPEnd": dotted(first + CABINET_SIZE - 2)}
    return subnet | {"Gateway": dotted(first + 1)} | dhcp
