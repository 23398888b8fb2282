"""Records that are put into a machine before it is examined, so that no collection is empty."""

from __future__ import annotations

from collections.abc import Callable

from conformance import seed_records_fabric, seed_records_software
from conformance.seeding import SeededNames
from conformance.seeding import put as _put
from csm_emulator.site import Site

NODE, OTHER, LOCKED, BMC = "x1000c0s0b0n0", "x1000c0s1b0n0", "x1000c0s1b0n1", "x1000c0s0b0"
STORAGE_GROUP = "x1000c0s0b0n0g0"
NID_MAP = {"ID": "x1000c0s7b0n0", "NID": 4000, "Role": "Compute"}
SUBSCRIPTION = {"Subscriber": "s@x3000c0s1b0n0", "States": ["On", "Off"], "Url": "http://127.0.0.1:9/scn"}
HARDWARE = {
    "ID": NODE,
    "Type": "Node",
    "Ordinal": 0,
    "Status": "Populated",
    "HWInventoryByLocationType": "HWInvByLocNode",
    "NodeLocationInfo": {"Id": "Node0", "Name": "Node 0", "Description": "", "HostName": ""},
    "PopulatedFRU": {
        "FRUID": "Node.HPE.1.2",
        "Type": "Node",
        "Subtype": "",
        "HWInventoryByFRUType": "HWInvByFRUNode",
        "NodeFRUInfo": {"Manufacturer": "HPE", "Model": "M", "PartNumber": "1", "SerialNumber": "2"},
    },
}
"""A new node in the place of the old one, whose FRU is in no place afterwards."""
IMAGE = {
    "deviceType": "nodeBMC",
    "manufacturer": "cray",
    "models": ["WNC"],
    "target": "BMC",
    "tags": ["default"],
    "firmwareVersion": "nc.9",
    "semanticFirmwareVersion": "v9.1",
    "s3URL": "s3://fw/x",
}
ACTION = {
    "stateComponentFilter": {"xnames": [BMC]},
    "targetFilter": {"targets": ["BMC"]},
    "command": {"overrideDryrun": True, "description": "new firmware"},
}


def seed(site: Site, service: str) -> dict[str, list[str]]:
    """Creates the records of the service; the names that it gave them, by parameter in small letters."""
    names: dict[str, list[str]] = {}
    for name, value in _SEEDERS.get(service, _nothing)(site):
        names.setdefault(name.lower(), []).append(value)
    return names


def _nothing(_: Site) -> SeededNames:
    yield from ()


def _smd(site: Site) -> SeededNames:
    _put(site, "smd", "POST /hsm/v2/partitions", {"name": "p1", "members": {"ids": [NODE, OTHER]}})
    _put(site, "smd", "POST /hsm/v2/Defaults/NodeMaps", {"NodeMaps": [NID_MAP]})
    _put(site, "smd", "POST /hsm/v2/sysinfo/powermaps", [{"id": NODE, "poweredBy": ["x3000m0p0v1"]}])
    yield "/id", str(_put(site, "smd", "POST /hsm/v2/Subscriptions/SCN", SUBSCRIPTION)["ID"])
    yield "/id", "0"
    reservations = {"ComponentIDs": [OTHER], "ReservationDuration": 15, "ProcessingModel": "flexible"}
    reservation = _put(site, "smd", "POST /hsm/v2/locks/service/reservations", reservations)["Success"][0]
    yield "DeputyKey", reservation["DeputyKey"]
    yield "ReservationKey", reservation["ReservationKey"]
    _put(site, "smd", "POST /hsm/v2/locks/lock", {"ComponentIDs": [LOCKED], "ProcessingModel": "rigid"})
    yield "fruid", _put(site, "smd", f"GET /hsm/v2/Inventory/Hardware/{LOCKED}", None)["PopulatedFRU"]["FRUID"]
    yield "fruid", _put(site, "smd", f"GET /hsm/v2/Inventory/Hardware/{NODE}", None)["PopulatedFRU"]["FRUID"]
    _put(site, "smd", "POST /hsm/v2/Inventory/Hardware", {"Hardware": [HARDWARE]})


def _bss(site: Site) -> SeededNames:
    boot = {"kernel": "s3://boot-images/k", "initrd": "s3://boot-images/i", "params": "quiet", "hosts": [NODE]}
    _put(site, "bss", "PUT /boot/v1/bootparameters", boot)
    yield from ()


def _pcs(site: Site) -> SeededNames:
    order = {"operation": "soft-off", "location": [{"xname": NODE}]}
    yield "transitionID", _put(site, "pcs", "POST /v1/transitions", order)["transitionID"]
    yield "taskID", _put(site, "pcs", "POST /v1/power-cap/snapshot", {"xnames": [NODE]})["taskID"]
    site.step(60.0)


def _fas(site: Site) -> SeededNames:
    yield "imageID", _put(site, "fas", "POST /images", IMAGE)["imageID"]
    _put(site, "fas", "POST /snapshots", {"name": "before"})
    site.step(10.0)
    action = _put(site, "fas", "POST /actions", ACTION)["actionID"]
    yield "actionID", action
    site.step(900.0)
    yield "loaderRunID", _put(site, "fas", "POST /loader/nexus", None)["loaderRunID"]
    site.step(600.0)
    details = _put(site, "fas", f"GET /actions/{action}/operations", None)["operationDetails"]
    for group in details.values():
        yield from (("operationID", key["operationID"]) for key in group["operationKeys"])


_SEEDERS: dict[str, Callable[[Site], SeededNames]] = {
    "smd": _smd,
    "bss": _bss,
    "pcs": _pcs,
    "fas": _fas,
    **seed_records_software.SEEDERS,
    **seed_records_fabric.SEEDERS,
}
