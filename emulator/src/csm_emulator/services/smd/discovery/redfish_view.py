"""The records that SMD stores of a controller's Redfish resources."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from csm_emulator.context import Context
from csm_emulator.machine.controllers import CONTROLLERS
from csm_emulator.machine.parts import Nic, NodeModel, Part
from csm_emulator.machine.power import RESETS
from csm_emulator.machine.power_caps import NODE_LIMIT, PowerControl, controls_of
from csm_emulator.records import Json
from csm_emulator.services.smd.discovery.redfish_paths import ROOT, path, redfish_id, redfish_resource

VERSION = "1.7.0"
SERVICES = {
    "AccountService": "AccountService",
    "SessionService": "SessionService",
    "EventService": "EventService",
    "TaskService": "TaskService",
    "UpdateService": "UpdateService",
}
"""Redfish type → last segment of its path."""
_KINDS = {
    "Chassis": ("ComponentEndpointChassis", "RedfishChassisInfo"),
    "ComputerSystem": ("ComponentEndpointComputerSystem", "RedfishSystemInfo"),
    "Manager": ("ComponentEndpointManager", "RedfishManagerInfo"),
    "PowerDistribution": ("ComponentEndpointPowerDistribution", "RedfishPDUInfo"),
    "Outlet": ("ComponentEndpointOutlet", "RedfishOutletInfo"),
}
_CHASSIS_IN_RACKS = {"GIGABYTE": "Self", "Intel Corporation": "Baseboard"}
"""Manufacturer (other than HPE) → the chassis with the power readings of a server."""
_NIC_NAMES = {"NMN": "ManagementEthernet", "HMN": "eth0", "HSN": "HPCNet"}


def attempt_time(timestamp: float) -> str:
    """The time with six decimals, unlike SMD's other times."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def in_redfish(part: Part) -> bool:
    """Whether Redfish has a resource for the part."""
    return redfish_resource(part) is not None


def nic_of(context: Context, xname: str) -> Nic | None:
    return next(iter(context.machine.nics(xname)), None)


def new_endpoint(context: Context, part: Part) -> Json:
    """The endpoint as MEDS or REDS creates it, before discovery."""
    nic = nic_of(context, part.xname)
    record: dict[str, Json] = {
        "ID": part.xname,
        "Type": part.type,
        "Hostname": part.xname,
        "Domain": "",
        "FQDN": part.xname,
        "Enabled": True,
        "User": "root",
        "Password": "",
    }
    if nic and nic.mac:
        # MEDS writes colons and capital letters, hms-discovery neither; HPE's manual shows both.
        in_rack = part.hardware_class == "River"
        record["MACAddr"] = nic.mac.lower().replace(":", "") if in_rack else nic.mac.upper()
    if nic and nic.address:
        record["IPAddress"] = nic.address
    return {**record, "RediscoverOnUpdate": True, "DiscoveryInfo": {"LastDiscoveryStatus": "NotYetQueried"}}


def discovered(context: Context, endpoint: Json, now: float) -> Json:
    """The endpoint after discovery."""
    info = {
        "LastDiscoveryAttempt": attempt_time(now),
        "LastDiscoveryStatus": "DiscoverOK",
        "RedfishVersion": VERSION,
    }
    changed: dict[str, Json] = {}
    for key, value in endpoint.items():
        if key == "UUID":
            continue
        changed[key] = value
        if key == "Enabled":
            changed["UUID"] = context.random.uuid("redfish", endpoint["ID"])
    return {**changed, "DiscoveryInfo": info}


def component_endpoint(context: Context, part: Part, fqdn: str = "") -> Json:
    """``fqdn`` is that of the Redfish endpoint; by default its xname."""
    resource = redfish_resource(part)
    if resource is None:
        raise KeyError(part.xname)
    kind, info_key = _KINDS[resource.kind]
    nics = context.machine.nics(part.xname)
    endpoint = fqdn or part.controller
    record: dict[str, Json] = {
        "ID": part.xname,
        "Type": part.type,
        "RedfishType": resource.kind,
        "RedfishSubtype": resource.subtype,
    }
    if nics:
        record["MACAddr"] = nics[0].mac.lower()
    if part.type in CONTROLLERS or part.type == "Node":
        record["UUID"] = context.random.uuid("redfish", part.xname)
    return {
        **record,
        "OdataID": path(part),
        "RedfishEndpointID": part.controller,
        "Enabled": True,
        "RedfishEndpointFQDN": endpoint,
        "RedfishURL": f"{endpoint}{path(part)}",
        "ComponentEndpointType": kind,
        info_key: _info(context, part, resource.kind),
    }


def _info(context: Context, part: Part, kind: str) -> Json:
    info: dict[str, Json] = {"Name": redfish_id(part)}
    resets = RESETS.get(part.type, ())
    if kind == "Outlet":
        target = f"{path(part)}/Actions/Outlet.PowerControl"
        info["Actions"] = {
            "#Outlet.PowerControl": {"PowerState@Redfish.AllowableValues": list(resets), "target": target}
        }
    elif resets:
        info["Actions"] = {f"#{kind}.Reset": _reset(part, kind, resets)}
    nics = context.machine.nics(part.xname)
    if nics and kind in ("ComputerSystem", "Manager"):
        info["EthernetNICInfo"] = [_nic(part, nic, place) for place, nic in enumerate(nics)]
    if kind == "ComputerSystem":
        info |= _power_capping(part)
    return info


def _reset(part: Part, kind: str, resets: tuple[str, ...]) -> Json:
    return {
        "ResetType@Redfish.AllowableValues": list(resets),
        "@Redfish.ActionInfo": f"{path(part)}/ResetActionInfo",
        "target": f"{path(part)}/Actions/{kind}.Reset",
    }


def _nic(part: Part, nic: Nic, place: int) -> Json:
    name = f"{_NIC_NAMES.get(nic.network, 'NIC')}{place - 1 if nic.network == 'HSN' else ''}"
    return {
        "RedfishId": name,
        "@odata.id": f"{path(part)}/EthernetInterfaces/{name}",
        "Description": {"NMN": "Node Maintenance Network"}.get(nic.network, name),
        "InterfaceEnabled": True,
        "MACAddress": nic.mac.lower(),
        "PermanentMACAddress": nic.mac.lower(),
    }


def _power_capping(part: Part) -> Mapping[str, Json]:
    """Liquid-cooled nodes have Redfish's newer Controls, one resource each; rack servers the older PowerControl."""
    if part.model is None:
        return {}
    if part.hardware_class != "River":
        chassis = f"{ROOT}/Chassis/{redfish_id(part)}"
        return {
            "PowerURL": f"{chassis}/Power",
            "Controls": [_control(chassis, control) for control in controls_of(part)],
        }
    return _power_control(part.model, controls_of(part)[0])


def _control(chassis: str, control: PowerControl) -> Json:
    """The control as discovery reads it: without a power cap."""
    low, high = control.limits
    identity = control.name.replace(" ", "")
    return {
        "URL": f"{chassis}/Controls/{identity}",
        "Control": {
            "ControlDelaySeconds": 6,
            "ControlMode": "Disabled",
            "ControlType": "Power",
            "Id": identity,
            "Name": control.name,
            "PhysicalContext": control.context,
            "SetPoint": 0,
            "SetPointUnits": "",
            "SettingRangeMax": high,
            "SettingRangeMin": low,
            "Status": {"Health": "OK"},
        },
    }


def _power_control(model: NodeModel, control: PowerControl) -> Mapping[str, Json]:
    low, high = control.limits
    url = f"{ROOT}/Chassis/{_CHASSIS_IN_RACKS.get(model.board.manufacturer, '1')}/Power"
    power_control: dict[str, Json] = {"@odata.id": f"{url}#/PowerControl/0", "MemberId": "0"}
    if control.name != NODE_LIMIT:
        power_control["Name"] = control.name
    if high:
        power_control["PowerCapacityWatts"] = high
    if any(fitting.fru.kind == "NodeAccel" for fitting in model.fittings):
        # Apollo 6500 has a separate service for limits, with another URL to set them.
        url = f"{url}/AccPowerService/PowerLimit"
        target = f"{url}/Actions/HpeServerAccPowerLimit.ConfigurePowerLimit"
        limits = {"PowerLimit": {"Min": low, "Max": high}, "PowerRegulationEnabled": True}
        power_control["Name"] = "PowerLimit Resource for AccPowerService"
        power_control["OEM"] = {"HPE": {**limits, "Status": "OK", "Target": target}}
    return {"PowerURL": url, "PowerControl": [power_control]}


def service_endpoint(context: Context, service: str, xname: str, fqdn: str = "") -> Json:
    service_path = f"{ROOT}/{SERVICES[service]}"
    return {
        "RedfishEndpointID": xname,
        "RedfishType": service,
        "UUID": context.random.uuid("redfish", xname),
        "OdataID": service_path,
        "RedfishEndpointFQDN": fqdn or xname,
        "RedfishURL": f"{fqdn or xname}{service_path}",
        "ServiceInfo": _service_info(service, service_path),
    }


def _service_info(service: str, service_path: str) -> Json:
    members = {"AccountService": "Accounts", "SessionService": "Sessions", "EventService": "Subscriptions"}
    info: dict[str, Json] = {
        "@odata.context": f"{ROOT}/$metadata#{service}.{service}",
        "@odata.id": service_path,
        "@odata.type": f"#{service}.v1_0_0.{service}",
        "Id": service,
        "Name": service,
        "Status": {"Health": "OK", "State": "Enabled"},
        "ServiceEnabled": True,
    }
    if service in members:
        info[members[service]] = {"@odata.id": f"{service_path}/{members[service]}"}
    if service == "UpdateService":
        info["FirmwareInventory"] = {"@odata.id": f"{service_path}/FirmwareInventory"}
        info["Actions"] = {"#UpdateService.SimpleUpdate": {"target": f"{service_path}/Actions/SimpleUpdate"}}
    return info
