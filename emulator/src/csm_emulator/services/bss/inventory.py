"""BSS's copy of HSM's nodes: BSS reads all of them at once, and uses the copy until it is outdated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from csm_emulator.clients.hsm import HsmClient, HsmResponse
from csm_emulator.context import Context
from csm_emulator.dialects.hms.names import COMPONENT_FIELDS
from csm_emulator.records import Json
from csm_emulator.state.tables import RecordTable

T = TypeVar("T")
EVICTION = 600
"""The longest age of the copy in seconds; BSS's own default."""
LARGE_MACHINE = 1000
MIN_RETRIEVAL_INTERVAL = 10
"""Seconds between two reads of a machine with more than ``LARGE_MACHINE`` nodes. Unknown nodes retry after 10 s anyway,
and more frequent reads would delay all requests: the real BSS reads in the background."""
_REQUIRED_FIELDS = frozenset({"ID", "Type"})
_NO_MAC = frozenset({"", "not available"})
_MAC = re.compile("[0-9a-fA-F]{12}")


@dataclass(slots=True)
class NodeIndex:
    """HSM's nodes, indexed by name, MAC, NID and address."""

    components: list[Json] = field(default_factory=list)
    by_name: dict[str, Json] = field(default_factory=dict)
    by_mac: dict[str, Json] = field(default_factory=dict)
    by_nid: dict[int, Json] = field(default_factory=dict)
    names_by_address: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, Json], list[str]] = field(default_factory=dict)
    """``("FQDN", …)``, ``("MAC", …)`` or ``("NID", …)`` → xnames of all nodes that have it, not only of the first."""

    def names_of(self, hosts: Iterable[str], macs: Iterable[str], nids: Iterable[int]) -> list[str] | None:
        """The names of nodes with one of these; None when any node may match."""
        hosts = list(hosts)
        if "" in hosts:
            return None
        keys = [*(("FQDN", host) for host in hosts), *(("MAC", mac) for mac in macs), *(("NID", nid) for nid in nids)]
        return [*hosts, *(name for key in keys for name in self.names.get(key, ()))]


class Inventory:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._hsm = HsmClient(context.mesh)
        self._nodes: NodeIndex | None = None
        self._as_of = 0
        self._retrieved_at = 0.0
        self._updates: RecordTable[int] = context.tables.open("bss.updates")

    def clear(self) -> None:
        """A restart empties the copy."""
        self._nodes, self._as_of = None, 0

    @property
    def nodes(self) -> NodeIndex:
        return self.refreshed(0)

    def by_mac(self, mac: str) -> Json | None:
        return self.nodes.by_mac.get(mac.lower())

    def by_name(self, name: str) -> Json | None:
        return self.nodes.by_name.get(name)

    def by_nid(self, nid: int) -> Json | None:
        return self.nodes.by_nid.get(nid)

    def name_at(self, address: str) -> str | None:
        """The node with this address. The copy is at most ``EVICTION`` old; an unknown address causes a new read."""
        names = self.refreshed(self._now() - EVICTION).names_by_address
        if address not in names:
            names = self.refreshed(self._now()).names_by_address
        return names.get(address)

    def refreshed(self, stamp: int) -> NodeIndex:
        """HSM's nodes at this time (seconds since 1970) or later; 0 accepts any copy, -1 reads a new one."""
        if self._nodes is None or stamp < 0 or stamp > self._as_of:
            now = self._now()
            if stamp <= 0:
                self._as_of = now
            else:
                self._as_of = stamp + EVICTION if now - stamp >= EVICTION else stamp
            self._retrieve()
        return self._nodes or NodeIndex()

    def note_change(self) -> None:
        """Record a change notification of HSM."""
        self._updates["at"] = self._now()

    def refresh_if_changed(self, *, force: bool = False) -> bool:
        """Read HSM again after a change. Whether it did, in which case the node has to retry later."""
        changed = self._updates.get("at", -1)
        if force:
            self.refreshed(-1)
        elif self._as_of < changed:
            self.refreshed(changed)
        else:
            return False
        return True

    def _now(self) -> int:
        return int(self._context.clock.now())

    def _retrieve(self) -> None:
        now = self._context.clock.now()
        if (
            self._nodes is not None
            and len(self._nodes.components) > LARGE_MACHINE
            and now - self._retrieved_at < MIN_RETRIEVAL_INTERVAL
        ):
            return
        self._retrieved_at = now
        self._nodes = build_index(
            _records(self._hsm.components("type=Node")),
            _records(self._hsm.component_endpoints("type=Node")),
            _records(self._hsm.ethernet_interfaces("type=Node")),
        )


def _records(response: HsmResponse[list[T]]) -> list[T]:
    """The records of a collection; none when HSM answers with an error, since BSS ignores the status."""
    try:
        return response.value()
    except ValueError:
        return []


def build_index(components: Iterable[Json], endpoints: Iterable[Json], interfaces: Iterable[Json]) -> NodeIndex:
    index = NodeIndex([_component(record) for record in components])
    index.by_name = {record["ID"]: record for record in index.components}
    for endpoint in endpoints:
        if endpoint["ID"] in index.by_name:
            _add_endpoint(index.by_name[endpoint["ID"]], endpoint)
    for interface in interfaces:
        for address in interface.get("IPAddresses") or ():
            if address.get("IPAddress"):
                index.names_by_address[address["IPAddress"]] = interface.get("ComponentID", "")
        if interface.get("ComponentID") in index.by_name:
            _add_macs(index.by_name[interface["ComponentID"]], [_formatted_mac(interface.get("MACAddress", ""))])
    _add_keys(index)
    return index


def _component(record: Json) -> Json:
    fields = {name: record.get(name) for name in COMPONENT_FIELDS}
    present = {
        name: fields[name] for name in COMPONENT_FIELDS if name in _REQUIRED_FIELDS or _is_present(name, fields[name])
    }
    return present | {"FQDN": "", "MAC": None, "EndpointEnabled": False}


def _is_present(name: str, value: Json) -> bool:
    return value is not None and (value != "" if name in ("Enabled", "NID") else bool(value))


def _add_endpoint(component: Json, endpoint: Json) -> None:
    component["FQDN"] = endpoint.get("FQDN", "")
    mac = endpoint.get("MACAddr", "")
    if mac.lower() not in _NO_MAC | {"ff:ff:ff:ff:ff:ff"}:
        _add_macs(component, [mac])
    component["EndpointEnabled"] = endpoint.get("Enabled") is not False
    kind = {"ComponentEndpointComputerSystem": "System", "ComponentEndpointManager": "Manager"}.get(
        endpoint.get("ComponentEndpointType", ""), ""
    )
    for nic in (endpoint.get(f"Redfish{kind}Info") or {}).get("EthernetNICInfo") or ():
        mac = nic.get("MACAddress", "")
        if mac.lower() not in _NO_MAC and mac not in (component["MAC"] or ()):
            _add_macs(component, [mac])


def _add_macs(component: Json, macs: list[str]) -> None:
    component["MAC"] = [*(component["MAC"] or ()), *macs]


def _formatted_mac(mac: str) -> str:
    """The MAC with colons, which BSS inserts again; HSM may omit them."""
    digits = mac.replace(":", "").replace("-", "").replace(".", "")
    if not _MAC.fullmatch(digits):
        return "not available"
    return ":".join(digits[at : at + 2] for at in range(0, 12, 2)).lower()


def _add_keys(index: NodeIndex) -> None:
    """Add the keys of all components: of several with one key the first wins, and an empty slot has no MAC."""
    for component in index.components:
        keys = [("FQDN", component["FQDN"]), ("NID", component.get("NID"))]
        keys += [("MAC", mac.lower()) for mac in component["MAC"] or ()]
        for key in keys:
            index.names.setdefault(key, []).append(component["ID"])
        if component.get("State", "").lower() != "empty":
            for mac in component["MAC"] or ():
                index.by_mac.setdefault(mac.lower(), component)
        nid = component.get("NID")
        if isinstance(nid, int):
            index.by_nid.setdefault(nid, component)
