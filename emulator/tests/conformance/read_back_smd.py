"""HSM: writes, and where else they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from conformance.legal_values import (
    ADDRESSES,
    JSON_VALUES,
    LABELS,
    MACS,
    NEW_BMCS,
    NEW_NODES,
    NIDS,
    NODES,
    ROLES,
    SHORT,
    STATES,
    TEXT,
)
from conformance.read_back import ReadBack, Request, Row, get

HSM = "/hsm/v2"
COMPONENTS = f"{HSM}/State/Components"


def _without_empty(thing: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in thing.items() if value or name in names}


def _sorted_members(body: dict[str, Any]) -> dict[str, Any]:
    return body | {"members": {"ids": sorted(body["members"]["ids"])}}


def _ids(body: Any) -> list[str]:
    return sorted(record["ID"] for record in body["Components"])


def _one_of(key: str) -> Callable[[Any, Any], Any]:
    """Finds the record with the same name in a list of all."""
    return lambda body, thing: next(record for record in body if record[key] == thing[key])


_MEMBERS = st.lists(st.sampled_from(NODES), max_size=8, unique=True)
_GROUPS = st.fixed_dictionaries(
    {"label": LABELS, "description": TEXT, "members": st.fixed_dictionaries({"ids": _MEMBERS})},
    optional={"tags": st.lists(LABELS, max_size=12), "exclusiveGroup": LABELS},
).filter(lambda group: group["label"] != "labels")
_PARTITIONS = st.fixed_dictionaries(
    {
        "name": st.from_regex(r"p[0-9]{1,6}(\.[0-9]{1,6})?", fullmatch=True),
        "description": TEXT,
        "members": st.fixed_dictionaries({"ids": _MEMBERS}),
    },
    optional={"tags": st.lists(LABELS, max_size=12)},
)


def _removal(kind: str, key: str) -> Callable[[Any], Sequence[Request]]:
    return lambda thing: [("DELETE", f"{HSM}/{kind}/{thing[key]}", None)]


GROUP = Row(
    "group",
    "smd",
    _GROUPS,
    lambda group: ("POST", f"{HSM}/groups", group),
    [
        ReadBack(
            get(lambda group: f"{HSM}/groups/{group['label']}"),
            lambda body, _: _sorted_members(body),
            lambda group: _sorted_members(_without_empty(group, "description", "members")),
        ),
        ReadBack(
            get(lambda group: f"{HSM}/groups?group={group['label']}"),
            lambda body, _: [_sorted_members(record) for record in body],
            lambda group: [_sorted_members(_without_empty(group, "description", "members"))],
        ),
        ReadBack(get(lambda _: f"{HSM}/groups/labels"), lambda body, group: group["label"] in body, lambda _: True),
        ReadBack(
            get(lambda group: f"{COMPONENTS}?group={group['label']}"),
            lambda body, _: _ids(body),
            lambda group: sorted(group["members"]["ids"]),
        ),
        ReadBack(
            get(lambda _: f"{HSM}/memberships"),
            lambda body, group: sorted(record["id"] for record in body if group["label"] in record["groupLabels"]),
            lambda group: sorted(group["members"]["ids"]),
        ),
    ],
    _removal("groups", "label"),
    _removal("groups", "label"),
)

PARTITION = Row(
    "partition",
    "smd",
    _PARTITIONS,
    lambda partition: ("POST", f"{HSM}/partitions", partition),
    [
        ReadBack(
            get(lambda partition: f"{HSM}/partitions/{partition['name']}"),
            lambda body, _: _sorted_members(body),
            lambda partition: _sorted_members(_without_empty(partition, "members")),
        ),
        ReadBack(get(lambda _: f"{HSM}/partitions/names"), lambda body, thing: thing["name"] in body, lambda _: True),
        ReadBack(
            get(lambda partition: f"{COMPONENTS}?partition={partition['name']}"),
            lambda body, _: _ids(body),
            lambda partition: sorted(partition["members"]["ids"]),
        ),
        ReadBack(
            get(lambda _: f"{HSM}/memberships"),
            lambda body, thing: sorted(record["id"] for record in body if record["partitionName"] == thing["name"]),
            lambda partition: sorted(partition["members"]["ids"]),
        ),
    ],
    _removal("partitions", "name"),
    _removal("partitions", "name"),
)

_COMPONENT = st.fixed_dictionaries(
    {
        "ID": NEW_NODES,
        "State": STATES,
        "Flag": st.sampled_from(["OK", "Warning", "Alert"]),
        "Enabled": st.booleans(),
        "SoftwareStatus": SHORT,
        "Role": ROLES,
        "SubRole": st.sampled_from(["", "Master", "Worker", "Storage"]),
        "NID": NIDS,
        "Subtype": SHORT,
        "NetType": st.sampled_from(["Sling", "Infiniband", "Ethernet", "OEM", "None"]),
        "Arch": st.sampled_from(["X86", "ARM", "Other"]),
        "Class": st.sampled_from(["River", "Mountain", "Hill"]),
    }
)


def _stored(component: dict[str, Any]) -> dict[str, Any]:
    return {**_without_empty(component, "Enabled"), "Type": "Node"}


COMPONENT = Row(
    "component",
    "smd",
    _COMPONENT,
    lambda component: ("POST", COMPONENTS, {"Components": [component]}),
    [
        ReadBack(get(lambda thing: f"{COMPONENTS}/{thing['ID']}"), lambda body, _: body, _stored),
        ReadBack(get(lambda thing: f"{COMPONENTS}/ByNID/{thing['NID']}"), lambda body, _: body, _stored),
        ReadBack(
            get(lambda thing: f"{COMPONENTS}?nid={thing['NID']}"),
            lambda body, _: body["Components"],
            lambda thing: [_stored(thing)],
        ),
        ReadBack(
            lambda thing, _: ("POST", f"{COMPONENTS}/Query", {"ComponentIDs": [thing["ID"]]}),
            lambda body, _: body["Components"],
            lambda thing: [_stored(thing)],
        ),
        ReadBack(
            lambda thing, _: ("POST", f"{COMPONENTS}/ByNID/Query", {"NIDRanges": [f"{thing['NID']}-{thing['NID']}"]}),
            lambda body, _: body["Components"],
            lambda thing: [_stored(thing)],
        ),
    ],
    lambda _: [("DELETE", COMPONENTS, None)],
    changed="the type is that of the xname; empty texts are left out",
)

_ENDPOINT = st.fixed_dictionaries(
    {
        "ID": NEW_BMCS,
        "Enabled": st.booleans(),
        "Hostname": st.just(""),
        "Domain": st.just(""),
        "User": SHORT,
        "RediscoverOnUpdate": st.just(False),
    },
    optional={"UUID": st.uuids().map(str), "IPAddress": ADDRESSES, "MACAddr": MACS, "TemplateID": LABELS},
)


def _endpoint(thing: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in thing.items() if name != "TemplateID"}
    return {"Type": "NodeBMC", "FQDN": thing["ID"], "Password": "", **fields}


def _without_discovery(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "DiscoveryInfo"}


REDFISH = Row(
    "redfish endpoint",
    "smd",
    _ENDPOINT,
    lambda thing: ("POST", f"{HSM}/Inventory/RedfishEndpoints", thing),
    [
        ReadBack(
            get(lambda thing: f"{HSM}/Inventory/RedfishEndpoints/{thing['ID']}"),
            lambda body, _: _without_discovery(body),
            _endpoint,
        ),
        ReadBack(
            get(lambda thing: f"{HSM}/Inventory/RedfishEndpoints?id={thing['ID']}"),
            lambda body, _: [_without_discovery(record) for record in body["RedfishEndpoints"]],
            lambda thing: [_endpoint(thing)],
        ),
    ],
    lambda thing: [("DELETE", f"{HSM}/Inventory/RedfishEndpoints/{thing['ID']}", None)],
    changed="the type is that of the xname, which is the FQDN when none is given; a POST forgets the TemplateID "
    "(pkg/redfish/rfendpoints.go)",
)


def _address(mapping: Any) -> str:
    return str(mapping["IPAddress"])


_INTERFACE = st.fixed_dictionaries(
    {
        "MACAddress": MACS,
        "Description": TEXT,
        "ComponentID": st.sampled_from(NODES),
        "IPAddresses": st.lists(
            st.fixed_dictionaries({"IPAddress": ADDRESSES, "Network": st.sampled_from(["", "NMN", "HMN", "CAN"])}),
            max_size=6,
            unique_by=_address,
        ),
    }
)


def _interface(thing: dict[str, Any]) -> dict[str, Any]:
    addresses = [_without_empty(address) for address in thing["IPAddresses"]]
    return {**thing, "ID": thing["MACAddress"].replace(":", ""), "Type": "Node", "IPAddresses": addresses}


def _undated(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "LastUpdate"}


_INTERFACES = f"{HSM}/Inventory/EthernetInterfaces"


def _interface_by(query: str) -> ReadBack:
    return ReadBack(
        get(lambda thing: f"{_INTERFACES}?{query.format(**thing)}"),
        lambda body, thing: [_undated(record) for record in body if record["MACAddress"] == thing["MACAddress"]],
        lambda thing: [_interface(thing)],
    )


INTERFACE = Row(
    "ethernet interface",
    "smd",
    _INTERFACE,
    lambda thing: ("POST", _INTERFACES, thing),
    [
        ReadBack(
            get(lambda thing: f"{_INTERFACES}/{_interface(thing)['ID']}"), lambda body, _: _undated(body), _interface
        ),
        *map(_interface_by, ("MACAddress={MACAddress}", "ComponentID={ComponentID}", "Type=Node")),
        ReadBack(
            get(lambda thing: f"{_INTERFACES}/{_interface(thing)['ID']}/IPAddresses"),
            lambda body, _: body,
            lambda thing: _interface(thing)["IPAddresses"],
        ),
    ],
    lambda thing: [("DELETE", f"{_INTERFACES}/{thing['MACAddress'].replace(':', '')}", None)],
)

_NODE_MAP = st.fixed_dictionaries(
    {"ID": NEW_NODES, "NID": NIDS, "Role": ROLES},
    optional={
        "SubRole": st.sampled_from(["Master", "Worker"]),
        "NodeInfo": JSON_VALUES.filter(lambda v: v is not None),
    },
)
NODE_MAP = Row(
    "node map",
    "smd",
    _NODE_MAP,
    lambda thing: ("POST", f"{HSM}/Defaults/NodeMaps", {"NodeMaps": [thing]}),
    [
        ReadBack(
            get(lambda thing: f"{HSM}/Defaults/NodeMaps/{thing['ID']}"), lambda body, _: body, lambda thing: thing
        ),
        ReadBack(
            get(lambda _: f"{HSM}/Defaults/NodeMaps"),
            lambda body, thing: _one_of("ID")(body["NodeMaps"], thing),
            lambda thing: thing,
        ),
    ],
    lambda _: [("DELETE", f"{HSM}/Defaults/NodeMaps", None)],
)

_POWER_MAP = st.fixed_dictionaries(
    {
        "id": st.sampled_from(NODES),
        "poweredBy": st.lists(st.integers(1, 64).map(lambda outlet: f"x3000m0p0v{outlet}"), min_size=1, max_size=20),
    }
)
POWER_MAP = Row(
    "power map",
    "smd",
    _POWER_MAP,
    lambda thing: ("PUT", f"{HSM}/sysinfo/powermaps/{thing['id']}", thing),
    [
        ReadBack(
            get(lambda thing: f"{HSM}/sysinfo/powermaps/{thing['id']}"), lambda body, _: body, lambda thing: thing
        ),
        ReadBack(get(lambda _: f"{HSM}/sysinfo/powermaps"), _one_of("id"), lambda thing: thing),
    ],
)

LOCK = Row(
    "lock",
    "smd",
    st.lists(st.sampled_from(NODES), min_size=1, max_size=8, unique=True).map(sorted),
    lambda xnames: ("POST", f"{HSM}/locks/lock", {"ComponentIDs": xnames, "ProcessingModel": "rigid"}),
    [
        ReadBack(
            lambda xnames, _: ("POST", f"{HSM}/locks/status", {"ComponentIDs": xnames}),
            lambda body, _: sorted(record["ID"] for record in body["Components"] if record["Locked"]),
            lambda xnames: xnames,
        ),
        ReadBack(
            get(lambda _: f"{HSM}/locks/status?locked=true"),
            lambda body, _: _ids(body),
            lambda xnames: xnames,
        ),
        ReadBack(
            get(lambda _: COMPONENTS),
            lambda body, _: sorted(record["ID"] for record in body["Components"] if record.get("Locked")),
            lambda xnames: xnames,
        ),
    ],
    lambda _: [("POST", f"{HSM}/locks/unlock", {"ComponentIDs": NODES, "ProcessingModel": "flexible"})],
)

_SUBSCRIPTION = st.fixed_dictionaries(
    {"Subscriber": LABELS, "Url": LABELS.map(lambda path: f"http://127.0.0.1:9/{path}")},
    optional={
        "Enabled": st.just(True),
        "Roles": st.lists(ROLES, min_size=1, max_size=4, unique=True),
        "States": st.lists(STATES, min_size=1, max_size=5, unique=True),
        "SoftwareStatus": st.lists(LABELS, min_size=1, max_size=3, unique=True),
    },
).filter(lambda thing: len(thing) > 2)
SUBSCRIPTION = Row(
    "subscription",
    "smd",
    _SUBSCRIPTION,
    lambda thing: ("POST", f"{HSM}/Subscriptions/SCN", thing),
    [
        ReadBack(
            lambda _, answer: ("GET", f"{HSM}/Subscriptions/SCN/{answer['ID']}", None),
            lambda body, _: {name: value for name, value in body.items() if name != "ID"},
            lambda thing: thing,
        ),
        ReadBack(
            get(lambda _: f"{HSM}/Subscriptions/SCN"),
            lambda body, thing: [
                {name: value for name, value in record.items() if name != "ID"}
                for record in body["SubscriptionList"]
                if record["Subscriber"] == thing["Subscriber"]
            ],
            lambda thing: [thing],
        ),
    ],
    lambda _: [("DELETE", f"{HSM}/Subscriptions/SCN", None)],
)


def _fru(thing: dict[str, Any]) -> dict[str, Any]:
    return dict(thing["PopulatedFRU"])


_NAMED = ("Manufacturer", "PartNumber", "SerialNumber")
_NAMES = st.text("ABCDEFGHabcdefgh0123456789", min_size=1, max_size=12)


def _with_fru_id(fru: dict[str, Any]) -> dict[str, Any]:
    return {"FRUID": ".".join(["Node", *(fru["NodeFRUInfo"][name] for name in _NAMED)]), **fru}


_FRU = st.fixed_dictionaries(
    {
        "Type": st.just("Node"),
        "Subtype": st.just(""),
        "HWInventoryByFRUType": st.just("HWInvByFRUNode"),
        "NodeFRUInfo": st.fixed_dictionaries(
            dict.fromkeys(("AssetTag", "BiosVersion", "Model", "SKU", "SystemType", "UUID"), TEXT)
            | dict.fromkeys(_NAMED, _NAMES)
        ),
    }
).map(_with_fru_id)
_HARDWARE = st.fixed_dictionaries(
    {
        "ID": st.sampled_from(NODES),
        "Type": st.just("Node"),
        "Ordinal": st.integers(0, 7),
        "Status": st.just("Populated"),
        "HWInventoryByLocationType": st.just("HWInvByLocNode"),
        "NodeLocationInfo": st.fixed_dictionaries(
            dict.fromkeys(("Id", "Name", "Description", "HostName"), TEXT)
            | {
                "ProcessorSummary": st.fixed_dictionaries({"Count": st.integers(0, 2**31 - 1), "Model": TEXT}),
                "MemorySummary": st.fixed_dictionaries({"TotalSystemMemoryGiB": st.integers(0, 2**31 - 1)}),
            }
        ),
        "PopulatedFRU": _FRU,
    }
)


def _in_place(thing: dict[str, Any]) -> dict[str, Any]:
    return thing | {"Ordinal": int(thing["ID"][-1])}


HARDWARE = Row(
    "hardware",
    "smd",
    _HARDWARE,
    lambda thing: ("POST", f"{HSM}/Inventory/Hardware", {"Hardware": [thing]}),
    [
        ReadBack(get(lambda thing: f"{HSM}/Inventory/Hardware/{thing['ID']}"), lambda body, _: body, _in_place),
        ReadBack(get(lambda _: f"{HSM}/Inventory/Hardware"), _one_of("ID"), _in_place),
        ReadBack(
            get(lambda thing: f"{HSM}/Inventory/HardwareByFRU/{quote(_fru(thing)['FRUID'])}"),
            lambda body, _: body,
            _fru,
        ),
        ReadBack(
            get(lambda thing: f"{HSM}/Inventory/Hardware/Query/{thing['ID']}?children=false"),
            lambda body, thing: _one_of("ID")(body["Nodes"], thing),
            _in_place,
        ),
    ],
    lambda _: [("DELETE", f"{HSM}/Inventory/Hardware", None), ("DELETE", f"{HSM}/Inventory/HardwareByFRU", None)],
    changed="the FRUID is made of manufacturer, part and serial number, the ordinal of the xname (pkg/sm/hwinv.go)",
)

ROWS = (
    GROUP,
    PARTITION,
    COMPONENT,
    REDFISH,
    INTERFACE,
    NODE_MAP,
    POWER_MAP,
    LOCK,
    SUBSCRIPTION,
    HARDWARE,
)
