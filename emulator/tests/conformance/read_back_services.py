"""All services but HSM: writes, and where else they show."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from conformance.legal_values import LABELS, MACS, NEW_NODES, NODES, OBJECTS, SHORT, TEXT
from conformance.read_back import ReadBack, Row, get
from conformance.seed_records import BMC
from csm_emulator.machine.topology import catalog as topologies

_DATED = ("LastUpdated", "LastUpdatedTime")


def _undated(body: dict[str, Any], *more: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in (*_DATED, *more)}


def _only(body: list[Any], key: str, thing: Any) -> Any:
    return next(record for record in body if record[key] == thing[key])


_SLS_HARDWARE = st.fixed_dictionaries(
    {"Xname": NEW_NODES, "Class": st.sampled_from(["River", "Mountain", "Hill"])},
    optional={"ExtraProperties": OBJECTS.filter(bool)},
)


def _sls_hardware(thing: dict[str, Any]) -> dict[str, Any]:
    parent = thing["Xname"].rpartition("n")[0]
    return {**thing, "Parent": parent, "Type": "comptype_node", "TypeString": "Node"}


SLS_HARDWARE = Row(
    "hardware",
    "sls",
    _SLS_HARDWARE,
    lambda thing: ("POST", "/v1/hardware", thing),
    [
        ReadBack(get(lambda thing: f"/v1/hardware/{thing['Xname']}"), lambda body, _: _undated(body), _sls_hardware),
        ReadBack(
            get(lambda thing: f"/v1/search/hardware?xname={thing['Xname']}"),
            lambda body, _: [_undated(record) for record in body],
            lambda thing: [_sls_hardware(thing)],
        ),
        ReadBack(
            get(lambda thing: f"/v1/search/hardware?class={thing['Class']}&type=comptype_node"),
            lambda body, thing: _undated(_only(body, "Xname", thing)),
            _sls_hardware,
        ),
        ReadBack(
            get(lambda _: "/v1/dumpstate"),
            lambda body, thing: _undated(body["Hardware"][thing["Xname"]]),
            _sls_hardware,
        ),
    ],
    lambda thing: [("DELETE", f"/v1/hardware/{thing['Xname']}", None)],
    changed="parent and type follow from the xname",
)

_NETWORK = st.fixed_dictionaries(
    {
        "Name": st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabc_0123456789", min_size=1, max_size=30),
        "FullName": TEXT,
        "IPRanges": st.lists(st.builds("{}/{}".format, st.ip_addresses(v=4), st.integers(1, 32)), max_size=8),
        "Type": st.sampled_from(["ethernet", "slingshot10", "slingshot11", "infiniband", "mixed"]),
    },
    optional={"ExtraProperties": OBJECTS.filter(bool)},
)


def _network(thing: dict[str, Any]) -> dict[str, Any]:
    return thing | {"IPRanges": [cidr.removesuffix("/32") for cidr in thing["IPRanges"]]}


SLS_NETWORK = Row(
    "network",
    "sls",
    _NETWORK,
    lambda thing: ("PUT", f"/v1/networks/{thing['Name']}", thing),
    [
        ReadBack(get(lambda thing: f"/v1/networks/{thing['Name']}"), lambda body, _: _undated(body), _network),
        ReadBack(
            get(lambda _: "/v1/networks"),
            lambda body, thing: _undated(_only(body, "Name", thing)),
            _network,
        ),
        ReadBack(
            get(lambda thing: f"/v1/search/networks?name={thing['Name']}"),
            lambda body, _: [_undated(record) for record in body],
            lambda thing: [_network(thing)],
        ),
        ReadBack(
            get(lambda _: "/v1/dumpstate"),
            lambda body, thing: _undated(body["Networks"][thing["Name"]]),
            _network,
        ),
    ],
    changed="PostgreSQL shows the range of one address as the address",
)


def _dump(things: list[dict[str, Any]]) -> bytes:
    """A form with the dump as its file."""
    dump = {"Hardware": {thing["Xname"]: _sls_hardware(thing) for thing in things}, "Networks": {}}
    head = 'Content-Disposition: form-data; name="sls_dump"; filename="dump.json"'
    return f"--edge\r\n{head}\r\n\r\n{json.dumps(dump)}\r\n--edge--\r\n".encode()


SLS_STATE = Row(
    "whole state",
    "sls",
    st.lists(_SLS_HARDWARE, max_size=5, unique_by=lambda thing: thing["Xname"]),
    lambda things: ("POST", "/v1/loadstate", _dump(things)),
    [
        ReadBack(
            get(lambda _: "/v1/dumpstate"),
            lambda body, _: {xname: _undated(record) for xname, record in body["Hardware"].items()},
            lambda things: {thing["Xname"]: _sls_hardware(thing) for thing in things},
        ),
        ReadBack(
            get(lambda _: "/v1/dumpstate"),
            lambda body, _: body["Networks"],
            lambda _: {},
        ),
    ],
)

_BOOT = st.fixed_dictionaries(
    {
        "host": st.sampled_from(range(len(NODES))),
        "params": TEXT.filter(bool),
        "kernel": LABELS.map(lambda name: f"s3://boot-images/{name}/kernel"),
        "initrd": LABELS.map(lambda name: f"s3://boot-images/{name}/initrd"),
    },
    optional={
        "cloud-init": st.fixed_dictionaries({"meta-data": OBJECTS.filter(bool), "user-data": OBJECTS.filter(bool)})
    },
)
_FIRST_NID = 1000
_PHONE_HOME = dict.fromkeys(("pub_key_dsa", "pub_key_rsa", "pub_key_ecdsa", "instance_id", "hostname", "fqdn"), "")
_NO_CLOUD = {"meta-data": None, "user-data": None}


@cache
def _mac(xname: str) -> str:
    """The MAC of the node's card in the node network."""
    return next(nic.mac for nic in topologies.load("tiny").nics if nic.owner == xname and nic.network == "NMN")


def _boot(thing: dict[str, Any]) -> dict[str, Any]:
    cloud = thing.get("cloud-init", _NO_CLOUD)
    fields = {name: thing[name] for name in ("params", "kernel", "initrd")}
    return {"hosts": [NODES[thing["host"]]], **fields, "cloud-init": {**cloud, "phone-home": _PHONE_HOME}}


def _boot_request(thing: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in thing.items() if name != "host"}
    return {"hosts": [NODES[thing["host"]]], **fields}


def _boot_by(query: Callable[[Any], str]) -> ReadBack:
    return ReadBack(
        get(lambda thing: f"/boot/v1/bootparameters?{query(thing)}"),
        lambda body, _: body,
        lambda thing: [_boot(thing)],
    )


BSS_BOOT = Row(
    "boot parameters",
    "bss",
    _BOOT,
    lambda thing: ("PUT", "/boot/v1/bootparameters", _boot_request(thing)),
    [
        *map(
            _boot_by,
            (
                lambda thing: f"name={NODES[thing['host']]}",
                lambda thing: f"nid={_FIRST_NID + thing['host']}",
                lambda thing: f"mac={_mac(NODES[thing['host']])}",
            ),
        ),
        ReadBack(
            get(lambda _: "/boot/v1/bootparameters"),
            lambda body, thing: [record for record in body if record.get("hosts") == [NODES[thing["host"]]]],
            lambda thing: [_boot(thing)],
        ),
        ReadBack(
            get(lambda _: "/boot/v1/dumpstate"),
            lambda body, thing: [
                {name: record[name] for name in ("params", "kernel", "initrd")}
                for record in body["Params"]
                if record.get("hosts") == [NODES[thing["host"]]]
            ],
            lambda thing: [{name: thing[name] for name in ("params", "kernel", "initrd")}],
        ),
    ],
    changed="cloud-init is shown in full, with empty values for the missing ones; a dump leaves it out",
)
BSS_BOOT_BY_MAC = Row(
    "boot parameters by MAC",
    "bss",
    st.fixed_dictionaries({"macs": st.lists(MACS, min_size=1, max_size=5, unique=True), "params": TEXT.filter(bool)}),
    lambda thing: ("PUT", "/boot/v1/bootparameters", thing),
    [
        ReadBack(
            get(lambda thing: f"/boot/v1/bootparameters?name={thing['macs'][0]}"),
            lambda body, _: [(record["hosts"], record["params"]) for record in body],
            lambda thing: [([thing["macs"][0]], thing["params"])],
        ),
        ReadBack(
            get(lambda _: "/boot/v1/bootparameters"),
            lambda body, thing: sorted(
                record["hosts"][0]
                for record in body
                if record.get("params") == thing["params"] and record.get("hosts", [""])[0] in thing["macs"]
            ),
            lambda thing: sorted(thing["macs"]),
        ),
    ],
)

_TRANSITION = st.fixed_dictionaries(
    {
        "operation": st.sampled_from(["on", "off", "soft-off", "soft-restart", "hard-restart", "init", "force-off"]),
        "location": st.lists(st.sampled_from(NODES), min_size=1, max_size=8, unique=True).map(
            lambda xnames: [{"xname": xname} for xname in xnames]
        ),
    },
    optional={"taskDeadlineMinutes": st.integers(1, 10_000)},
)
_WORDS = {word.lower(): word for word in ("On", "Off", "Soft-Off", "Soft-Restart", "Hard-Restart", "Init", "Force-Off")}


def _transition(thing: dict[str, Any]) -> dict[str, Any]:
    return {"operation": _WORDS[thing["operation"]]}


PCS_TRANSITION = Row(
    "transition",
    "pcs",
    _TRANSITION,
    lambda thing: ("POST", "/v1/transitions", thing),
    [
        ReadBack(
            lambda _, answer: ("GET", f"/v1/transitions/{answer['transitionID']}", None),
            lambda body, thing: {name: body[name] for name in _transition(thing)},
            _transition,
        ),
        ReadBack(
            lambda _, answer: ("GET", f"/v1/transitions/{answer['transitionID']}", None),
            lambda body, thing: {task["xname"] for task in body["tasks"]}.issuperset(
                record["xname"] for record in thing["location"]
            ),
            lambda _: True,
        ),
        ReadBack(
            get(lambda _: "/v1/transitions"),
            lambda body, _: max(body["transitions"], key=lambda record: str(record["createTime"]))["operation"],
            lambda thing: _transition(thing)["operation"],
        ),
    ],
    changed="operations are spelled with capitals; no reply has the deadline (internal/model/transitions.go)",
    wait=2.0,
)
_CONTROL = "Node Power Limit"
PCS_CAP = Row(
    "power cap",
    "pcs",
    st.dictionaries(st.sampled_from([0, 1]), st.integers(600, 900), min_size=1),
    lambda caps: (
        "PATCH",
        "/v1/power-cap",
        {
            "components": [
                {"xname": NODES[place], "controls": [{"name": _CONTROL, "value": watts}]}
                for place, watts in caps.items()
            ]
        },
    ),
    [
        ReadBack(
            lambda _, answer: ("GET", f"/v1/power-cap/{answer['taskID']}", None),
            lambda body, _: (
                body["type"],
                body["taskStatus"],
                sorted(record["xname"] for record in body["components"]),
            ),
            lambda caps: ("patch", "completed", sorted(NODES[place] for place in caps)),
        ),
        ReadBack(
            lambda caps, _: ("POST", "/capmc/v1/get_power_cap", {"nids": [_FIRST_NID + place for place in caps]}),
            lambda body, _: {record["nid"] - _FIRST_NID: record["controls"][0]["val"] for record in body["nids"]},
            lambda caps: caps,
            "capmc",
        ),
    ],
    wait=60.0,
)

_NUMBERS = st.integers(1, 10_000).map(str)
HBTD_PARAMS = Row(
    "parameters",
    "hbtd",
    st.fixed_dictionaries({"Debug": st.integers(0, 9).map(str), "Warntime": _NUMBERS}).map(
        lambda thing: thing | {"Errtime": str(int(thing["Warntime"]) * 2)}
    ),
    lambda thing: ("PATCH", "/hmi/v1/params", thing),
    [
        ReadBack(
            get(lambda _: "/hmi/v1/params"),
            lambda body, thing: {name: body[name] for name in thing},
            lambda thing: thing,
        )
    ],
)

_SERVERS = st.fixed_dictionaries(
    {
        "NTPServerInfo": st.fixed_dictionaries(
            {"NTPServers": st.lists(LABELS, min_size=1, max_size=5), "Port": st.integers(1, 65535)}
        ),
        "SyslogServerInfo": st.fixed_dictionaries(
            {
                "SyslogServers": st.lists(LABELS, min_size=1, max_size=5),
                "Transport": st.sampled_from(["tcp", "udp"]),
                "Port": st.integers(1, 65535),
            }
        ),
        "SSHKey": TEXT.filter(bool),
        "SSHConsoleKey": TEXT.filter(bool),
    }
)


def _switched_on(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value | {"ProtocolEnabled": True} if isinstance(value, dict) else value for name, value in params.items()
    }


SCSD_CONFIGURATION = Row(
    "configuration",
    "scsd",
    _SERVERS,
    lambda params: ("POST", "/v1/bmc/loadcfg", {"Targets": [BMC], "Params": params}),
    [
        ReadBack(
            lambda params, _: ("POST", "/v1/bmc/dumpcfg", {"Targets": [BMC], "Params": list(params)}),
            lambda body, _: body["Targets"][0]["Params"],
            _switched_on,
        ),
        ReadBack(
            get(lambda params: f"/v1/bmc/cfg/{BMC}?params={quote(' '.join(params))}"),
            lambda body, _: body["Params"],
            _switched_on,
        ),
    ],
    changed="a server that is set is switched on",
)

_IMAGE = st.fixed_dictionaries(
    {
        "deviceType": st.just("nodeBMC"),
        "manufacturer": SHORT.filter(bool),
        "models": st.lists(TEXT, min_size=1, max_size=8),
        "target": SHORT.filter(bool),
        "tags": st.lists(LABELS, min_size=1, max_size=5),
        "firmwareVersion": SHORT.filter(bool),
        "semanticFirmwareVersion": st.tuples(*[st.integers(0, 10**6)] * 3).map(lambda parts: ".".join(map(str, parts))),
        "s3URL": LABELS.map(lambda name: f"s3://fw/{name}"),
    },
    optional={
        "needManualReboot": st.just(True),
        "waitTimeBeforeManualRebootSeconds": st.integers(1, 2**31 - 1),
        "waitTimeAfterRebootSeconds": st.integers(1, 2**31 - 1),
        "softwareIds": st.lists(TEXT, min_size=1, max_size=5),
        "allowableDeviceStates": st.lists(st.sampled_from(["On", "Off"]), min_size=1, max_size=2),
    },
)


def _image(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in ("imageID", "createTime")}


FAS_IMAGE = Row(
    "image",
    "fas",
    _IMAGE,
    lambda thing: ("POST", "/images", thing),
    [
        ReadBack(
            lambda _, answer: ("GET", f"/images/{answer['imageID']}", None),
            lambda body, _: _image(body),
            lambda thing: thing,
        ),
        ReadBack(
            get(lambda _: "/images"),
            lambda body, thing: thing in [_image(record) for record in body["images"]],
            lambda _: True,
        ),
    ],
)
_SNAPSHOT = st.fixed_dictionaries(
    {
        "name": LABELS,
        "stateComponentFilter": st.fixed_dictionaries({"xnames": st.lists(st.just(BMC), min_size=1, max_size=1)}),
        "targetFilter": st.fixed_dictionaries({"targets": st.just(["BMC"])}),
    },
    optional={"inventoryHardwareFilter": st.just({"manufacturer": "cray"})},
)
FAS_SNAPSHOT = Row(
    "snapshot",
    "fas",
    _SNAPSHOT,
    lambda thing: ("POST", "/snapshots", thing),
    [
        ReadBack(
            get(lambda thing: f"/snapshots/{thing['name']}"),
            lambda body, thing: {name: body["parameters"][name] for name in thing},
            lambda thing: thing,
        ),
        ReadBack(
            get(lambda _: "/snapshots"),
            lambda body, thing: _only(body["snapshots"], "name", thing)["uniqueDeviceCount"],
            lambda _: 1,
        ),
    ],
    lambda thing: [("DELETE", f"/snapshots/{thing['name']}", None)],
    wait=10.0,
)

ROWS = (
    SLS_HARDWARE,
    SLS_NETWORK,
    SLS_STATE,
    BSS_BOOT,
    BSS_BOOT_BY_MAC,
    PCS_TRANSITION,
    PCS_CAP,
    HBTD_PARAMS,
    SCSD_CONFIGURATION,
    FAS_IMAGE,
    FAS_SNAPSHOT,
)
